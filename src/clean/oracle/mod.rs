//! The plain and slow way to find secrets: what the quick one is held against. Only what the quick
//! one does otherwise stands here.

mod find;
mod name;
mod tests;
mod value;
