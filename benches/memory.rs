//! What the gateway keeps resident with ten idle servers: its own process, and the helpers that hold
//! the servers' sandboxes apart. Linux only.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench starts programs and reports"
)]

use std::path::Path;
use std::time::Duration;

#[expect(dead_code, reason = "shared with the bench of latency")]
mod gateway;

use gateway::{Client, Echo, Outcome, Peer, Stage};

/// Kilobytes of one field of `/proc/PID/smaps_rollup`; 0 where there is none.
fn field(process: &Path, name: &str) -> u64 {
    let text = std::fs::read_to_string(process.join("smaps_rollup")).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Resident, proportional and private memory in kB.
fn memory(process: &Path) -> [u64; 3] {
    let private = field(process, "Private_Clean:") + field(process, "Private_Dirty:");
    [field(process, "Rss:"), field(process, "Pss:"), private]
}

/// The children of a process: each thread has its own.
fn helpers(of: u32) -> Outcome<Vec<u32>> {
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{of}/task"))? {
        let text = std::fs::read_to_string(task?.path().join("children"))?;
        let pids = text.split_whitespace();
        found.extend(pids.filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Ok(found)
}

fn report(what: &str, [rss, pss, private]: [u64; 3]) {
    println!("{what:<28} rss {rss:>7} kB  pss {pss:>7} kB  private {private:>7} kB");
}

fn main() -> Outcome<()> {
    if gateway::serve_if_asked()? {
        return Ok(());
    }
    if !Path::new("/proc/self/smaps_rollup").exists() {
        println!("skipped: memory is read from /proc/PID/smaps_rollup, which is not there");
        return Ok(());
    }
    for count in [0, 1, 10] {
        let stage = Stage::new(count)?;
        let mut client = Client::start(stage.creance(&["serve"]))?;
        for name in client.tools(count)? {
            client.calls(
                &name,
                Echo {
                    text: "once",
                    times: 1,
                },
                1,
            )?;
        }
        std::thread::sleep(Duration::from_millis(500));
        let process = |pid: u32| format!("/proc/{pid}");
        let own = memory(Path::new(&process(client.pid())));
        report(&format!("gateway, {count} servers"), own);
        let mut all = [0; 3];
        let helpers = helpers(client.pid())?;
        for pid in &helpers {
            for (sum, one) in all.iter_mut().zip(memory(Path::new(&process(*pid)))) {
                *sum += one;
            }
        }
        report(&format!("  its {} helpers", helpers.len()), all);
    }
    Ok(())
}
