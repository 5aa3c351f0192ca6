//! The policy store from outside: facts, shipped policies, what is refused, public cases.

mod base;
mod fixtures;
