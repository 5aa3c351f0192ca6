//! The process that holds the proxy is killed: what ran in the sandbox has no network from then on, and
//! ends.

use std::fs;

use crate::world::{POLICY, World, text};

/// Opens a connection that stays, then fetches and says that it lives, again and again; a child does
/// the same that left its parent.
const PROGRAM: &str = r#"
import os, sys, time, urllib.request
if os.fork() == 0:
    os.setsid()
held = urllib.request.urlopen("https://api.allowed.test/hold")
while True:
    try:
        urllib.request.urlopen("https://api.allowed.test/beat", timeout=5)
    except OSError:
        pass
    with open("beats", "a") as beats:
        beats.write("x")
    time.sleep(0.02)
"#;

/// Starts the run, kills its main process once all of it is at work, and says how it ended; then waits
/// for signs of life.
const SCRIPT: &str = r#"
words="$1"; folder="$2"; shift 2
"$@" &
pid=$!
tries=0
until [ "$(grep -c /hold "$folder/served")" = 2 ] && [ -s "$folder/home/project/beats" ]; do
    sleep 0.1
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { echo "it does not begin"; kill $pid; exit 1; }
done
kill -9 $pid
wait $pid
echo "$words $?"
sleep 1
count() { cat "$folder/packets" "$folder/home/project/beats" | wc -c; }
before=$(count)
sleep 1
echo "alive after: $(($(count) - before))"
"#;

pub(crate) fn the_proxy_dies() {
    let world = World::new(POLICY);
    fs::write(world.at("home/project/program.py"), PROGRAM).unwrap();
    let folder = world.at("").display().to_string();
    let run = world.words(
        &["--host", "api.allowed.test"],
        &["/usr/bin/python3", "program.py"],
    );
    let mut words = vec!["sh", "-c", SCRIPT, "sh", "ended with", &folder];
    words.extend(run.iter().map(String::as_str));
    let output = world.command(&words);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "ended with 137\nalive after: 0\n", "{err}");
    let beats = fs::read_to_string(world.at("home/project/beats")).unwrap();
    assert!(!beats.is_empty() && !world.arrived("packets").is_empty());
}
