//! From a query to what Cedar judges: principal, action, resource, context and entities. Every
//! entity that is named anywhere is put into the store, so that `in` is never false by ignorance.

mod args;
mod ask_back;
mod build;
mod host;
mod path;
mod question;
mod remote;
mod scene;
mod shape;
mod sign_in;
mod start;
mod steady;
mod typed;
mod who;

pub(super) use build::{FactError, Looks, Mentioned};
pub(super) use question::{
    Env, Judged, Terms, action_name, judged, named_resource, outlined, principal_name,
};
pub(super) use scene::{Scene, answer, scene};
pub(super) use steady::{Recent, Steady};
