//! What a tree of processes uses, added up from the process table.

use std::fs;

use rustix::process::Pid;

/// Memory and CPU time of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Memory that belongs to its processes alone, in bytes. What is shared after a fork counts in
    /// each of them.
    pub(super) memory: u64,
    /// CPU time in ticks, with that of children that were waited for.
    pub(super) ticks: u64,
}

/// Processes that are looked at: more than any limit of processes lets live.
const PROCESSES_MAX: usize = 100_000;

/// What the processes below this one use.
pub(super) fn below(root: Pid) -> Usage {
    let mut all = Usage::default();
    for pid in tree(root) {
        all.memory = all.memory.saturating_add(own_memory(pid));
        let ticks = read(pid, "stat").and_then(|text| ticks(&text));
        all.ticks = all.ticks.saturating_add(ticks.unwrap_or(0));
    }
    all
}

/// The memory of the tree with shared pages counted once; dearer. A process whose pages the kernel
/// does not tell apart counts in full.
pub(super) fn exact_memory_below(root: Pid) -> u64 {
    tree(root)
        .into_iter()
        .map(exact_memory)
        .fold(0, u64::saturating_add)
}

fn exact_memory(pid: i32) -> u64 {
    let share = read(pid, "smaps_rollup").and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("Pss_Anon:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib.saturating_mul(1024))
    });
    share.unwrap_or_else(|| own_memory(pid))
}

fn own_memory(pid: i32) -> u64 {
    let page = u64::try_from(rustix::param::page_size()).unwrap_or(4096);
    let pages = read(pid, "statm").and_then(|text| own_pages(&text));
    pages.unwrap_or(0).saturating_mul(page)
}

/// Every process below `root`, itself included.
fn tree(root: Pid) -> Vec<i32> {
    let mut found = vec![root.as_raw_pid()];
    let mut at = 0;
    while let Some(pid) = found.get(at).copied() {
        at += 1;
        if found.len() < PROCESSES_MAX {
            found.extend(children(pid));
        }
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let mut all = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        all.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<i32>().ok()),
        );
    }
    all
}

fn read(pid: i32, file: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/{file}")).ok()
}

/// `statm`: size, resident, shared, … in pages.
fn own_pages(statm: &str) -> Option<u64> {
    let mut fields = statm.split_whitespace().skip(1).map(str::parse::<u64>);
    let resident = fields.next()?.ok()?;
    Some(resident.saturating_sub(fields.next()?.ok()?))
}

/// The four times of `stat`; the name before them may hold anything.
fn ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let times = rest.split_whitespace().skip(11).take(4);
    times.map(|time| time.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read() {
        assert_eq!(own_pages("1000 300 120 5 0 400 0\n"), Some(180));
        assert_eq!(own_pages("0 0 0 0 0 0 0"), Some(0));
        assert_eq!(own_pages(""), None);
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 1 2 3 4 10 20 30 40 20 0 1 0 5 6 7";
        assert_eq!(ticks(stat), Some(100));
        assert_eq!(ticks("7 (a"), None);
    }

    #[test]
    fn a_tree_is_added_up() {
        let own = below(rustix::process::getpid());
        assert!(own.memory > 0);
        assert!(exact_memory_below(rustix::process::getpid()) > 0);
    }
}
