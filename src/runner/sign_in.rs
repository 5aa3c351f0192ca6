//! Signing in to remote servers, and out.

use std::sync::Arc;

use crate::disk::{Keep, Vault};
use crate::enforce::sign_in::{self, Cause, NotSignedIn, Remote, SignIns};
use crate::enforce::{Line, remote};
use crate::request::{Approver, Trigger};
use crate::signin::SystemBrowser;

use super::error::{Error, ErrorKind};
use super::workspace::Workspace;

impl Workspace {
    /// Signs in to a remote server: its sign-in page opens in the browser, once policy and a person
    /// agree. `show` is told the page's address. Returns the scopes that were granted.
    ///
    /// # Errors
    /// When the server is none of these, somebody says no, or the sign-in fails.
    pub async fn sign_in(
        &self,
        name: &str,
        approver: Arc<dyn Approver>,
        show: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Vec<String>, Error> {
        let session = self.line(approver, Trigger::Person)?;
        let remote = self.signs_in_to(&session, name)?;
        let (agent, run) = (self.cli_agent(), session.run());
        let granted = sign_in::sign_in(
            (&*session.point, session.asking(&agent, &run)),
            &remote,
            Cause::default(),
            (&session.sign_ins, show),
        )
        .await;
        session
            .point
            .end("the sign-in is over")
            .map_err(|e| Error::caused(ErrorKind::Audit, e.to_string(), e))?;
        granted.map_err(Into::into)
    }

    /// Signs out of a remote server: its tokens are forgotten. Whether somebody was signed in.
    ///
    /// # Errors
    /// When the server is none of these, or what is kept cannot be removed.
    pub async fn sign_out(&self, name: &str) -> Result<bool, Error> {
        let line = self.line(Arc::new(crate::request::DenyAll), Trigger::Person)?;
        let remote = self.signs_in_to(&line, name)?;
        let gone = sign_in::sign_out(&line.point, &remote, &line.sign_ins.vault).await;
        gone.map_err(Into::into)
    }

    pub(super) fn sign_ins(&self) -> SignIns {
        let keep = if self.apart {
            Keep::Files
        } else {
            Keep::System
        };
        SignIns {
            vault: Vault::new(self.folders.sign_ins(), keep),
            browser: Arc::new(SystemBrowser),
        }
    }

    fn signs_in_to(&self, line: &Line, name: &str) -> Result<Remote, Error> {
        let definition = self.definition(name)?;
        let Some(remote) = &definition.remote else {
            let text = format!(
                "{} is no remote server: nobody signs in to it",
                definition.id
            );
            return Err(Error::new(ErrorKind::Usage, text));
        };
        let prepared = remote::prepare(line, (definition, remote), Vec::new())?;
        Ok(Remote::new(prepared.action.server, remote))
    }
}

impl From<NotSignedIn> for Error {
    fn from(why: NotSignedIn) -> Self {
        match why {
            NotSignedIn::Denied(denial) => Self::from(denial),
            NotSignedIn::Decision(error) => Self::from(error),
            NotSignedIn::Trouble(trouble) => {
                Self::caused(ErrorKind::Server, trouble.to_string(), trouble)
            }
        }
    }
}
