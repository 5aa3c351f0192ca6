//! The binary `creance`: sees only the public API.

mod cli;

fn main() {}
