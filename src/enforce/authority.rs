//! The token of a remote server's requests; and, where another one is wanted, the sign-in that somebody is
//! asked about, once, while the refused request fails and says so.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;

use crate::decision::{Asking, DecisionPoint};
use crate::http::{Authorise, Challenge, Later, Next};
use crate::request::{Agent, Run};
use crate::signin::{Refusal, Tokens};

use super::sign_in::{Cause, Remote, SignIns, sign_in};

/// What authorises the requests to one remote server.
pub(crate) struct Authority {
    shared: Arc<Shared>,
    /// Fields of the configuration, which go out too.
    fields: Vec<(String, String)>,
    asked: Mutex<Asked>,
}

struct Shared {
    point: Arc<DecisionPoint>,
    agent: Agent,
    /// The circumstances; time and attendance are those of each request.
    run: Run,
    remote: Remote,
    tools: SignIns,
    tokens: Tokens,
}

/// What was asked about on this connection: nobody is asked twice, and one at a time.
#[derive(Default)]
struct Asked {
    sign_in: bool,
    more: BTreeSet<String>,
    asking: Option<JoinHandle<()>>,
}

impl Authority {
    pub(crate) fn new(
        (point, tools): (Arc<DecisionPoint>, SignIns),
        (agent, run): (Agent, Run),
        remote: Remote,
        fields: Vec<(String, String)>,
    ) -> Self {
        let tokens = remote.tokens(&tools.vault);
        Self {
            shared: Arc::new(Shared {
                point,
                agent,
                run,
                remote,
                tools,
                tokens,
            }),
            fields,
            asked: Mutex::default(),
        }
    }

    async fn next(&self, challenge: &Challenge) -> Next {
        let refused = self
            .shared
            .tokens
            .refused(challenge.status, &challenge.authenticate);
        match refused.await {
            Ok(Refusal::Again) => Next::Again,
            // Who has not signed in yet is asked when the server starts.
            Ok(Refusal::SignIn) if challenge.status == 401 && self.was_signed_in() => {
                self.ask(challenge, Vec::new());
                Next::SignIn
            }
            Ok(Refusal::SignIn) => Next::SignIn,
            Ok(Refusal::More(more)) => {
                self.ask(challenge, more);
                Next::SignIn
            }
            Err(error) => {
                tracing::warn!("{}: {error}", self.shared.remote.facts.id);
                Next::SignIn
            }
        }
    }

    fn was_signed_in(&self) -> bool {
        let remote = &self.shared.remote;
        let key = super::sign_in::key(&remote.facts.subject, &remote.url);
        self.shared.tools.vault.holds(&key)
    }

    /// Asks somebody to sign in again, or to agree to more; a no is a no for this connection, and so is a
    /// sign-in that did not satisfy the server.
    fn ask(&self, challenge: &Challenge, more: Vec<String>) {
        let mut asked = self.lock();
        let running = asked
            .asking
            .as_ref()
            .is_some_and(|asking| !asking.is_finished());
        let new = if more.is_empty() {
            !std::mem::replace(&mut asked.sign_in, true)
        } else {
            let before = asked.more.len();
            asked.more.extend(more.iter().cloned());
            asked.more.len() > before
        };
        if running || !new {
            return;
        }
        let cause = Cause {
            challenge: bearer(&challenge.authenticate),
            more,
        };
        let shared = Arc::clone(&self.shared);
        asked.asking = Some(tokio::spawn(async move { shared.sign_in(cause).await }));
    }

    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    async fn sign_in(&self, cause: Cause) {
        let id = self.remote.facts.id.to_string();
        let run = Run {
            now_ms: self.point.now_ms(),
            attended: self.point.attended(),
            ..self.run.clone()
        };
        let asking = Asking {
            agent: &self.agent,
            run: &run,
        };
        let show = |page: &str| {
            tracing::warn!("to sign in to {id}, open this page on this machine: {page}")
        };
        let done = sign_in(
            (&*self.point, asking),
            &self.remote,
            cause,
            (&self.tools, &show),
        )
        .await;
        match done {
            Ok(_) => self.tokens.forget(),
            Err(error) => tracing::warn!("{id}: not signed in: {error}"),
        }
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        if let Some(asking) = self.lock().asking.take() {
            asking.abort();
        }
    }
}

/// The challenge that says where the sign-in is.
pub(super) fn bearer(challenges: &[String]) -> Option<String> {
    let named = challenges
        .iter()
        .find(|text| text.contains("resource_metadata"));
    named.or(challenges.first()).cloned()
}

impl Authorise for Authority {
    fn fields(&self) -> Later<'_, Result<Vec<(String, String)>, String>> {
        Box::pin(async {
            let mut fields = self.fields.clone();
            // The end of a sign-in is said by the server's refusal, and somebody is asked then.
            let token = self.shared.tokens.token().await.unwrap_or_default();
            fields
                .extend(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))));
            Ok(fields)
        })
    }

    fn refused<'a>(&'a self, challenge: &'a Challenge) -> Later<'a, Next> {
        Box::pin(self.next(challenge))
    }
}

/// Fields may be secrets.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = &self.shared.remote.facts.id;
        f.debug_struct("Authority")
            .field("server", server)
            .finish_non_exhaustive()
    }
}
