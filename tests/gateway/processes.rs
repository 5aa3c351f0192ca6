//! The processes below one process, as `/proc` shows them.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// One process: its id may be used again later, its start not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) parent: i32,
    started: u64,
    pub(crate) command: String,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // A process that is dead and not yet waited for is gone.
        (!["Z", "X"].contains(fields.first()?)).then(|| Self {
            pid,
            parent: fields[1].parse().unwrap(),
            started: fields[19].parse().unwrap(),
            command: String::from_utf8_lossy(&command).replace('\0', " "),
        })
    }

    fn lives(&self) -> bool {
        Self::read(self.pid).is_some_and(|now| now.started == self.started)
    }

    pub(crate) fn kill(&self) {
        send(self.pid, rustix::process::Signal::KILL);
    }
}

pub(crate) fn send(pid: i32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // It may be gone already: then there is nothing to kill.
    let _gone = rustix::process::kill_process(pid, signal);
}

fn all() -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
        .collect()
}

/// Everything below a process, parents before children.
pub(crate) fn below(pid: i32) -> Vec<Process> {
    let all = all();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        for process in all.iter().filter(|process| process.parent == parent) {
            parents.push(process.pid);
            found.push(process.clone());
        }
    }
    found
}

/// Processes of this user that have a stage's folder in their environment.
pub(crate) fn of_stage(root: &Path) -> Vec<Process> {
    let needle = root.to_str().unwrap().as_bytes();
    let holds = |process: &Process| {
        let environment = fs::read(format!("/proc/{}/environ", process.pid)).unwrap_or_default();
        environment.windows(needle.len()).any(|part| part == needle)
    };
    all().into_iter().filter(holds).collect()
}

/// Waits until these are gone, and says how long it took and what is left.
pub(crate) fn wait_gone(processes: &[Process], limit: Duration) -> (Duration, Vec<Process>) {
    let begun = Instant::now();
    loop {
        let left: HashSet<&Process> = processes.iter().filter(|p| p.lives()).collect();
        if left.is_empty() || begun.elapsed() > limit {
            return (begun.elapsed(), left.into_iter().cloned().collect());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
