//! Other clients' configuration files: where they lie, reading them, and putting the gateway into
//! one with a way back.

mod places;
mod read;
mod swap;

pub(crate) use places::{ClientFile, Homes, client_files, home_file};
pub(crate) use read::{ReadFile, named_file, read_file};
pub(crate) use swap::{Back, Exchange, exchange, roll_back};
