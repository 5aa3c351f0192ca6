//! JSON-RPC 2.0 messages: requests, notifications, responses, and what is none of them with what
//! to do about it.

mod error;
mod id;
mod message;
mod misfit;
mod salvage;

pub(crate) use error::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RpcError};
pub(crate) use id::Id;
pub(crate) use message::{Message, Notification, Request, Response, anonymous_error_line};
pub(crate) use misfit::{Fault, Misfit};
pub(crate) use salvage::salvage;

#[cfg(test)]
mod tests;
