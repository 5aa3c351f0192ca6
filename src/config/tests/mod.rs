//! Tests of the configuration at its boundary.

mod command;
mod definition;
mod parse;
mod schema;
mod warnings;
