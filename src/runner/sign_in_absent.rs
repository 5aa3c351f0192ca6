//! A build without remote servers signs in nowhere, and says so.

use std::sync::Arc;

use crate::request::Approver;

use super::error::{Error, ErrorKind};
use super::workspace::Workspace;

fn absent() -> Error {
    let text = "this build of Creance has no remote servers (the feature `http`)";
    Error::new(ErrorKind::Unsupported, text)
}

impl Workspace {
    /// Signs in to a remote server: not in this build.
    ///
    /// # Errors
    /// Always.
    pub async fn sign_in(
        &self,
        _name: &str,
        _approver: Arc<dyn Approver>,
        _show: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Vec<String>, Error> {
        Err(absent())
    }

    /// Signs out of a remote server: not in this build.
    ///
    /// # Errors
    /// Always.
    pub async fn sign_out(&self, _name: &str) -> Result<bool, Error> {
        Err(absent())
    }
}
