//! A request told in a few words, for tests of policies: the action, its resource, and whichever
//! facts matter. All others have the plainest value. Paths, hosts, servers, tools and arguments go
//! through the very functions that fill real requests; every word is checked against the schema.

mod context;
mod given;
mod resource;
mod set_up;
mod shape;
mod value;

pub(in crate::policy) use set_up::{Scene, answer, scene};
