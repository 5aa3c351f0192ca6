//! The binary `creance`: sees only the public API.

fn main() {}
