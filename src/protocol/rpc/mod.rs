//! JSON-RPC 2.0 messages: requests, notifications, responses, and what is none of them with what
//! to do about it.

mod error;
mod id;
mod message;
mod misfit;
mod salvage;

pub(crate) use error::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError};
pub(crate) use id::Id;
pub(crate) use message::{Message, Notification, Request, Response};
pub(crate) use misfit::{Fault, Misfit};

#[cfg(test)]
mod tests;
