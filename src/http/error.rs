//! Why there is no answer over HTTP. Never holds a path, a query or a field: these may be secrets.

use std::error::Error;
use std::fmt;

use crate::address::Unreachable;
use crate::clean;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HttpError {
    /// It leads where it may not.
    Unreachable(Unreachable),
    /// It leads to this machine's own address on the network.
    OwnAddress,
    /// The name leads nowhere.
    Lookup(&'static str),
    /// It is spoken to over TLS only.
    Plain,
    /// The client was made for another host.
    OtherHost,
    /// Another address answered than was judged.
    OtherEnd,
    /// No connection, with the reason.
    Connect(String),
    /// No answer, or none that can be read.
    Broken(String),
    /// It took too long.
    Late,
    /// The answer is larger than this.
    TooLarge(u64),
    /// The answer is compressed, which was not asked for.
    Coded,
    /// A field of the request cannot be sent.
    Field(&'static str),
    /// The certificates that are to be believed are none.
    Certificates(String),
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => why.fmt(f),
            Self::OwnAddress => f.write_str("it leads to an address of this machine"),
            Self::Lookup(why) => f.write_str(why),
            Self::Plain => f.write_str("http without TLS is spoken to this machine only"),
            Self::OtherHost => f.write_str("it leads to another host than was judged"),
            Self::OtherEnd => f.write_str("another address answered than was judged"),
            Self::Connect(why) => write!(f, "no connection: {why}"),
            Self::Broken(why) => f.write_str(why),
            Self::Late => f.write_str("it took too long"),
            Self::TooLarge(most) => write!(f, "the answer has more than {most} bytes"),
            Self::Coded => f.write_str("the answer is compressed, which was not asked for"),
            Self::Field(what) => write!(f, "{what} cannot be sent in a field"),
            Self::Certificates(why) => f.write_str(why),
        }
    }
}

impl Error for HttpError {}

impl From<Unreachable> for HttpError {
    fn from(why: Unreachable) -> Self {
        Self::Unreachable(why)
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        let error = error.without_url();
        if error.is_timeout() && !error.is_connect() {
            return Self::Late;
        }
        let connect = error.is_connect();
        let why = innermost(&error);
        if connect {
            return Self::Connect(why);
        }
        Self::Broken(format!("the answer broke off: {why}"))
    }
}

/// The innermost reason, which says most: the outer ones are "error sending request" and the like.
fn innermost(error: &dyn Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    clean::line(&inner.to_string(), 300)
}
