//! What the gateway adds to a call: the same echo server asked directly and through `creance serve`,
//! in turns, decided by policy and recorded. Read the difference, not the times.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench starts programs and reports"
)]

use std::time::Duration;

#[expect(dead_code, reason = "shared with the bench of memory")]
mod gateway;

use gateway::{Client, Outcome, Stage};

const ROUNDS: usize = 3_000;
const WARM_UP: usize = 300;

struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        times.drain(..WARM_UP.min(times.len()));
        times.sort();
        Self(times)
    }

    fn at(&self, percent: usize) -> Duration {
        let found = self.0.get(self.0.len() * percent / 100);
        found.copied().unwrap_or_default()
    }
}

fn main() -> Outcome<()> {
    if gateway::serve_if_asked()? {
        return Ok(());
    }
    let stage = Stage::new(1)?;
    let mut through = Client::start(stage.creance(&["serve"]))?;
    let names = through.tools(1)?;
    let name = names.first().ok_or("no tool")?;
    let mut direct = Client::direct()?;
    for (what, text) in [
        ("20 bytes", "x".repeat(20)),
        ("10 kB", "line of text\n".repeat(800)),
    ] {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS + WARM_UP {
            one.push(direct.call(gateway::TOOL, &text)?);
            other.push(through.call(name, &text)?);
        }
        let (one, other) = (Times::new(one), Times::new(other));
        for percent in [50, 90, 99] {
            let (one, other) = (one.at(percent), other.at(percent));
            let added = other.saturating_sub(one);
            println!(
                "{what:<9} p{percent}  direct {one:>9.1?}  gateway {other:>9.1?}  added {added:>9.1?}"
            );
        }
    }
    Ok(())
}
