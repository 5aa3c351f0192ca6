//! An answer: its head, and its body as it comes in, with a limit of size and of time.

use std::time::Instant;

use reqwest::Response;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use tokio::time::timeout_at;

use super::error::HttpError;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
    deadline: Option<Instant>,
}

impl Answer {
    /// A compressed answer is refused: a few bytes of it can be any number, or none for ever.
    pub(super) fn new(response: Response, deadline: Option<Instant>) -> Result<Self, HttpError> {
        let codings = response.headers().get_all(CONTENT_ENCODING);
        let plain = |value: &reqwest::header::HeaderValue| value == "identity" || value.is_empty();
        if !codings.iter().all(plain) {
            return Err(HttpError::Coded);
        }
        Ok(Self { response, deadline })
    }

    /// Its status.
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// A field that stands there once and is text; one that stands there twice has no meaning.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.response.headers().get_all(name).iter();
        let first = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(first)
    }

    /// All values of a field.
    pub(crate) fn fields(&self, name: &str) -> Vec<String> {
        let values = self.response.headers().get_all(name).iter();
        let texts = values.filter_map(|value| value.to_str().ok());
        texts.map(str::to_owned).collect()
    }

    /// Its media type, without parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let whole = self.field(CONTENT_TYPE.as_str()).unwrap_or_default();
        let kind = whole.split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    }

    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, HttpError> {
        let next = self.response.chunk();
        let chunk = match self.deadline {
            Some(until) => timeout_at(until.into(), next)
                .await
                .map_err(|_| HttpError::Late)??,
            None => next.await?,
        };
        Ok(chunk.map(|bytes| bytes.to_vec()))
    }

    /// The whole body.
    pub(crate) async fn whole(mut self, max: u64) -> Result<Vec<u8>, HttpError> {
        let too_large = |bytes: u64| bytes > max;
        if self.response.content_length().is_some_and(too_large) {
            return Err(HttpError::TooLarge(max));
        }
        let mut body = Vec::new();
        while let Some(bytes) = self.next().await? {
            body.extend_from_slice(&bytes);
            if u64::try_from(body.len()).is_ok_and(too_large) {
                return Err(HttpError::TooLarge(max));
            }
        }
        Ok(body)
    }
}
