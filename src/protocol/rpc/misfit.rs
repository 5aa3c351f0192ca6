//! A line that is no message: what is wrong with it, and whether it is answered or set aside.

use std::fmt;

use crate::protocol::json::{JsonError, read};

use super::error::{INVALID_REQUEST, PARSE_ERROR, RpcError};
use super::id::Id;
use super::message::{Message, Response, anonymous_error_line};
use super::salvage::salvage;

/// A line that is no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// What is wrong.
    pub(crate) fault: Fault,
    /// The id that it carries, if one can be read.
    pub(crate) id: Option<Id>,
    /// Whether it was meant as an answer: then nobody answers it.
    pub(crate) answers: bool,
    /// Whether it names a method.
    pub(crate) calls: bool,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Not JSON, or not the JSON that Creance takes.
    Unreadable(JsonError),
    /// More bytes than a message may have.
    TooLong(usize),
    /// A batch, which revision 2025-06-18 removed.
    Batch,
    /// Not an object.
    Kind(&'static str),
    /// `jsonrpc` is not `"2.0"`.
    Version,
    /// `id` is neither a string nor a whole number.
    Id,
    /// `method` is not a string.
    Method,
    /// `params` is not an object.
    Params(&'static str),
    /// Two of `method`, `result` and `error`.
    Both,
    /// None of `method`, `result` and `error`.
    Neither,
    /// `error` is not an object with a code and a message.
    Error,
}

impl Misfit {
    /// A misfit that nothing more is known about.
    pub(super) fn unknown(fault: Fault) -> Self {
        Self {
            fault,
            id: None,
            answers: false,
            calls: false,
        }
    }

    /// A misfit of bytes that could not be read: what can be found in them anyway.
    pub(crate) fn of_bytes(fault: Fault, bytes: &[u8]) -> Self {
        let found = salvage(bytes);
        Self {
            fault,
            answers: found.answers && !found.calls,
            calls: found.calls,
            id: found.id,
        }
    }

    /// The line to answer it with, or nothing when it must be set aside.
    pub(crate) fn reply(&self) -> Option<String> {
        let notification = self.calls && self.id.is_none() && !matches!(self.fault, Fault::Id);
        if self.answers || notification {
            return None;
        }
        let code = match self.fault {
            Fault::Unreadable(_) => PARSE_ERROR,
            _ => INVALID_REQUEST,
        };
        let error = RpcError::new(code, self.fault.to_string());
        Some(match &self.id {
            Some(id) => Message::from(Response::err(id.clone(), error)).to_line(),
            None => anonymous_error_line(error),
        })
    }
}

impl Message {
    /// Reads one line. The count says how many lone surrogates were mended.
    ///
    /// # Errors
    /// Why the line is no message, and what to do about it.
    pub(crate) fn read(line: &[u8]) -> Result<(Self, usize), Misfit> {
        let parsed = read(line).map_err(|e| Misfit::of_bytes(Fault::Unreadable(e), line))?;
        Ok((Self::from_json(parsed.json)?, parsed.repaired))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::TooLong(most) => write!(f, "the message is larger than {most} bytes"),
            Self::Batch => f.write_str("batches are not taken: send one message a line"),
            Self::Kind(kind) => write!(f, "a message is an object, this is {kind}"),
            Self::Version => f.write_str("`jsonrpc` must be \"2.0\""),
            Self::Id => f.write_str("`id` must be a string or a whole number"),
            Self::Method => f.write_str("`method` must be a string"),
            Self::Params(kind) => write!(f, "`params` must be an object, this is {kind}"),
            Self::Both => f.write_str("only one of `method`, `result` and `error` may be there"),
            Self::Neither => f.write_str("one of `method`, `result` and `error` must be there"),
            Self::Error => f.write_str("`error` must have a number `code` and a text `message`"),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for Misfit {}
