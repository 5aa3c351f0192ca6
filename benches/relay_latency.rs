//! What the gateway adds to a call: the same echo server asked directly and through `creance serve`,
//! in turns, decided by policy and recorded; over pipes and over HTTP (on both sides of the gateway),
//! one call at a time and 32 at once, small and with a result of a mebibyte. Read the difference, not
//! the times.
#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench starts programs and reports"
)]

use std::time::Duration;

use serde_json::json;

#[expect(dead_code, reason = "shared with the bench of memory")]
mod gateway;

use gateway::http::{HttpClient, Server};
use gateway::{Client, Echo, Outcome, Peer, Stage};

struct Times(Vec<Duration>);

impl Times {
    fn new(mut times: Vec<Duration>) -> Self {
        let warm_up = times.len() / 10;
        times.drain(..warm_up);
        times.sort();
        Self(times)
    }

    fn at(&self, percent: usize) -> Duration {
        let found = self.0.get(self.0.len() * percent / 100);
        found.copied().unwrap_or_default()
    }
}

/// What is measured: a name, the call, how many at once, and how often.
struct Row<'a> {
    name: &'a str,
    echo: Echo<'a>,
    flight: usize,
    rounds: usize,
}

/// A time for each call, in turns.
fn measure(way: &str, row: &Row<'_>, direct: &mut dyn Peer, through: &mut dyn Peer) -> Outcome<()> {
    let names = through.tools(1)?;
    let name = names.first().ok_or("no tool")?;
    let calls = u32::try_from(row.flight)?;
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for _ in 0..row.rounds {
        one.push(direct.calls(gateway::TOOL, row.echo, row.flight)? / calls);
        other.push(through.calls(name, row.echo, row.flight)? / calls);
    }
    let (one, other) = (Times::new(one), Times::new(other));
    for percent in [50, 90, 99] {
        let (one, other) = (one.at(percent), other.at(percent));
        let added = other.saturating_sub(one);
        println!(
            "{way:<6} {:<16} p{percent}  direct {one:>9.1?}  gateway {other:>9.1?}  added {added:>9.1?}",
            row.name
        );
    }
    Ok(())
}

fn main() -> Outcome<()> {
    if gateway::serve_if_asked()? {
        return Ok(());
    }
    let small = "x".repeat(20);
    let page = "line of text\n".repeat(800);
    let row = |name, text, times, (flight, rounds)| Row {
        name,
        echo: Echo { text, times },
        flight,
        rounds,
    };
    let rows = [
        row("20 bytes", &small, 1, (1, 3_300)),
        row("10 kB", &page, 1, (1, 3_300)),
        row("20 bytes, 32 up", &small, 1, (32, 330)),
        row("1 MiB result", &page, 101, (1, 110)),
    ];

    let stage = Stage::new(1)?;
    let mut through = Client::start(stage.creance(&["serve"]))?;
    let mut direct = Client::direct()?;
    for row in &rows {
        measure("pipes", row, &mut direct, &mut through)?;
    }
    drop(through);

    let server = Server::start()?;
    let url = format!("http://{}/mcp", server.address);
    let stage = Stage::with([("far".to_owned(), json!({ "url": url }))].into_iter())?;
    let mut through = HttpClient::through(|args| stage.creance(args))?;
    let mut direct = HttpClient::direct(server.address)?;
    for row in &rows {
        measure("HTTP", row, &mut direct, &mut through)?;
    }
    Ok(())
}
