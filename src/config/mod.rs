//! Text to validated settings: server definitions, variables, warnings. Reads no file.
