//! What a sign-in sends goes through the guarded client, one look-up and one client for each request.

use std::time::{Duration, Instant};

use crate::address::{Reach, WebUrl};
use crate::http::{self, Ask, Client, Leads, Plain, Terms, Verb};
use crate::signin::{BODY_MAX, Method, Web, WebFuture, WebReply, WebRequest};

/// A sign-in server answers within this time.
const LIMIT: Duration = Duration::from_secs(30);

/// Sends what a sign-in sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignInWeb {
    leads: Leads,
    plain: Plain,
}

impl SignInWeb {
    /// Public addresses alone.
    pub(crate) fn public() -> Self {
        Self {
            leads: Leads::To(Reach::Public),
            plain: Plain::Never,
        }
    }

    /// This machine, too: for a server on it.
    pub(crate) fn this_machine() -> Self {
        Self {
            leads: Leads::To(Reach::Loopback),
            plain: Plain::ToThisMachine,
        }
    }

    async fn sent(self, request: WebRequest) -> Result<WebReply, String> {
        let said = |error: http::HttpError| error.to_string();
        let url = WebUrl::read(&request.url).map_err(|fault| fault.to_string())?;
        let until = Instant::now() + LIMIT;
        let addresses = http::look_up(url.target(), self.leads)
            .await
            .map_err(said)?;
        let terms = Terms {
            leads: self.leads,
            plain: self.plain,
            authority: None,
        };
        let client = Client::new(&url, addresses, &terms).map_err(said)?;
        let body = match request.method {
            Method::Get => None,
            Method::Post => {
                Some(String::from_utf8(request.body).map_err(|_| "the request is no text")?)
            }
        };
        let ask = Ask {
            verb: match request.method {
                Method::Get => Verb::Get,
                Method::Post => Verb::Post,
            },
            url,
            fields: request.headers,
            body,
            head: None,
            deadline: Some(until),
        };
        let answer = client.send(ask).await.map_err(said)?;
        let (status, challenges) = (answer.status(), answer.fields("www-authenticate"));
        let headers = challenges
            .into_iter()
            .map(|value| ("www-authenticate".to_owned(), value));
        Ok(WebReply {
            status,
            headers: headers.collect(),
            body: answer.whole(BODY_MAX).await.map_err(said)?,
        })
    }
}

impl Web for SignInWeb {
    fn send(&self, request: WebRequest) -> WebFuture<'_> {
        Box::pin(self.sent(request))
    }
}
