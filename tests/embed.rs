//! What the README shows to programs that embed Creance is what the example does.
#![cfg(test)]

use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn the_readme_shows_the_example() {
    let (readme, example) = (read("README.md"), read("examples/embed.rs"));
    let embed = readme.split("\n## Embed it\n").nth(1).unwrap();
    let shown = embed.split("```rust\n").nth(1).unwrap();
    let shown = shown.split("```").next().unwrap();
    assert!(shown.contains("creance::helper::run_if_requested();"));
    assert!(
        example.contains(shown.trim_end()),
        "README.md, `Embed it`, and examples/embed.rs differ; README has:\n{shown}"
    );
}
