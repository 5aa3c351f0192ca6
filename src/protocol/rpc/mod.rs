//! JSON-RPC 2.0 messages: requests, notifications, responses, and what is none of them with what
//! to do about it.

mod error;
mod id;
mod message;
mod misfit;
mod salvage;

#[cfg(feature = "http")]
pub(crate) use error::PARSE_ERROR;
pub(crate) use error::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError};
pub(crate) use id::Id;
#[cfg(feature = "http")]
pub(crate) use message::anonymous_error_line;
pub(crate) use message::{Message, Notification, Request, Response};
pub(crate) use misfit::{Fault, Misfit};
#[cfg(feature = "http")]
pub(crate) use salvage::salvage;

#[cfg(test)]
mod tests;
