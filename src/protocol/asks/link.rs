//! `elicitation/create` in url mode: a page that a server wants a person to open.

use crate::address::{HostName, UrlFault, WebUrl};
use crate::digest::Digest;
use crate::protocol::json::{Json, Object};

use super::form::message;
use super::refused::Refused;
use super::voice::quoted;

/// The longest link, in bytes: a person must see all of it.
const URL_MAX: usize = 4 * 1024;
/// The longest id.
const ID_MAX: usize = 512;
/// The most links of one error.
const LINKS_MAX: usize = 8;

/// A link that may be put to a person.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    message: String,
    url: WebUrl,
    /// Canonical, with the fragment.
    text: String,
    /// As the server names it.
    id: String,
    rest: Object,
}

impl Link {
    /// Reads the parameters of `elicitation/create` in url mode.
    ///
    /// # Errors
    /// Why it is no link that can be shown.
    pub(crate) fn read(mut params: Object) -> Result<Self, Refused> {
        let message = message(&mut params)?;
        let Some(Json::String(written)) = params.remove("url") else {
            return Err(Refused::new("`url` must be a string"));
        };
        let Some(Json::String(id)) = params.remove("elicitationId") else {
            return Err(Refused::new("`elicitationId` must be a string"));
        };
        if id.is_empty() || id.len() > ID_MAX {
            return Err(Refused::new(format!(
                "`elicitationId` has 1 to {ID_MAX} bytes"
            )));
        }
        if written.len() > URL_MAX {
            return Err(Refused::new(format!("a link has at most {URL_MAX} bytes")));
        }
        let fault = |fault: UrlFault| Refused::new(fault.to_string());
        let url = WebUrl::read(&written).map_err(fault)?;
        let text = with_fragment(&url, &written)?;
        params.remove("mode");
        params.remove("task");
        Ok(Self {
            message,
            url,
            text,
            id,
            rest: params,
        })
    }

    /// The whole link.
    pub(crate) fn url(&self) -> &str {
        &self.text
    }

    /// Where it leads.
    pub(crate) fn host(&self) -> &HostName {
        &self.url.target().host
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.url.target().port
    }

    /// Whether it is fetched over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.text.starts_with("https:")
    }

    /// The server's words, as they came.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// As the server names it.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// What "the same link" means: ids are new each time.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of_fields("link/1", [self.text.as_str(), self.message.as_str()])
    }

    /// The parameters for the client, under another id: host and link are told by us, since a name can
    /// look like another.
    pub(crate) fn shown(&self, server: &str, id: &str) -> Object {
        let mut params = self.rest.clone();
        params.insert("mode", "url".into());
        params.insert("message", self.told(server).into());
        params.insert("url", self.text.as_str().into());
        params.insert("elicitationId", id.into());
        params
    }

    fn told(&self, server: &str) -> String {
        let host = self.host();
        let readable = host.in_other_letters();
        let mut facts = vec![("Host", host.as_str())];
        if let Some(readable) = &readable {
            facts.push(("In other letters", readable.as_str()));
        }
        facts.push(("Link", &self.text));
        quoted(server, "asks you to open a page", &facts, &self.message)
    }
}

/// The canonical text, with the fragment that a page may need: it never leads elsewhere.
fn with_fragment(url: &WebUrl, written: &str) -> Result<String, Refused> {
    let mut text = url.as_str().to_owned();
    if let Some((_, fragment)) = written.split_once('#') {
        if !fragment.chars().all(|c| c.is_ascii_graphic()) {
            return Err(Refused::new(
                "the link's fragment must be of plain characters",
            ));
        }
        text.push('#');
        text.push_str(fragment);
    }
    Ok(text)
}

/// The links of an error that says that pages must be opened first (`-32042`), each as it is read.
pub(crate) fn links_in(data: Option<&Json>) -> Vec<Result<Link, Refused>> {
    let links = data.and_then(|data| data.get("elicitations"));
    let links = links.and_then(Json::as_array).unwrap_or_default();
    let read = |link: &Json| match link {
        Json::Object(params) => Link::read(params.clone()),
        _ => Err(Refused::new("an elicitation must be an object")),
    };
    links.iter().take(LINKS_MAX).map(read).collect()
}
