//! What a request shows of who sends it, and what becomes of an answer that wants more: the seam of the
//! sign-in.

use std::fmt;
use std::pin::Pin;

/// A result to come.
pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Adds to each request what authorises it.
pub(crate) trait Authorise: fmt::Debug + Send + Sync + 'static {
    /// The fields of the next request, as a rule `Authorization`.
    ///
    /// # Errors
    /// Why there is none, in words for a person and without a secret.
    fn fields(&self) -> Later<'_, Result<Vec<(String, String)>, String>>;

    /// Told of an answer 401 or 403; what is to be done with the request.
    fn refused<'a>(&'a self, challenge: &'a Challenge) -> Later<'a, Next>;
}

/// An answer that wants a sign-in, or another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// 401 or 403.
    pub(crate) status: u16,
    /// The values of `WWW-Authenticate`. The server's text: clean it before anybody reads it.
    pub(crate) authenticate: Vec<String>,
}

/// What is done with a request that was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It is sent once more, with other fields.
    Again,
    /// It fails, and a person has to sign in.
    SignIn,
}

/// The fields of the configuration, or none: nothing can be done about a refusal.
#[derive(Clone, Default)]
pub(crate) struct StaticFields(Vec<(String, String)>);

impl StaticFields {
    /// Fields that are sent with each request.
    pub(crate) fn new(fields: Vec<(String, String)>) -> Self {
        Self(fields)
    }
}

/// Values may be secrets.
impl fmt::Debug for StaticFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|(name, _)| name);
        f.debug_set().entries(names).finish()
    }
}

impl Authorise for StaticFields {
    fn fields(&self) -> Later<'_, Result<Vec<(String, String)>, String>> {
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn refused<'a>(&'a self, _: &'a Challenge) -> Later<'a, Next> {
        Box::pin(async { Next::SignIn })
    }
}
