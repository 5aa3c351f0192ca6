//! Eight clients, and strangers.

mod clients;
mod strangers;
