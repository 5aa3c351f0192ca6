//! How a remote server is signed in to, where the entry says more than its address: `oauth`.

use std::fmt;

use super::entry::Values;
use super::fields::{Field, Reader};
use super::problem::ConfigProblem;
use super::variables::Text;

const KEYS: &[&str] = &[
    "clientId",
    "clientSecret",
    "clientMetadataUrl",
    "redirectUri",
    "callbackPort",
    "scopes",
    "issuer",
];

const SCOPES_MAX: usize = 100;

/// How a remote server is signed in to.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct OAuth {
    /// The client that was registered by hand.
    pub(crate) client_id: Option<String>,
    /// Its secret.
    pub(crate) client_secret: Option<Text>,
    /// A document that describes the client.
    pub(crate) client_metadata_url: Option<String>,
    /// The callback that is registered.
    pub(crate) redirect_uri: Option<String>,
    /// The scopes to ask for in place of those that the server names.
    pub(crate) scopes: Vec<String>,
    /// The sign-in server, exactly as it names itself.
    pub(crate) issuer: Option<String>,
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("client_id", &self.client_id)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

/// Reads `oauth` of an entry.
pub(super) fn read<'a>(
    (reader, values): (&Reader<'a>, &Values<'a, '_>),
    field: &Field<'a>,
) -> Result<OAuth, ConfigProblem> {
    let members = reader.members(field)?;
    let find = |key: &str| members.iter().find(|m| m.key == key).map(|m| &m.field);
    if let Some(unknown) = members.iter().find(|m| !KEYS.contains(&m.key)) {
        return Err(reader.unknown(unknown, KEYS));
    }
    let text = |key: &str| -> Result<Option<String>, ConfigProblem> {
        let Some(field) = find(key) else {
            return Ok(None);
        };
        let text = reader.text(field)?;
        if text.is_empty() {
            return Err(reader.problem(field, "is empty"));
        }
        Ok(Some(text.to_owned()))
    };
    let port = find("callbackPort")
        .map(|field| reader.whole(field, "ports", 65_535))
        .transpose()?;
    let redirect_uri = match (text("redirectUri")?, port, find("callbackPort")) {
        (Some(_), Some(_), Some(field)) => {
            return Err(reader.problem(field, "stands beside `redirectUri`: write one of the two"));
        }
        (None, Some(port), _) => Some(format!("http://127.0.0.1:{port}/callback")),
        (redirect, ..) => redirect,
    };
    let oauth = OAuth {
        client_id: text("clientId")?,
        client_secret: find("clientSecret")
            .map(|field| values.text(field))
            .transpose()?,
        client_metadata_url: text("clientMetadataUrl")?,
        redirect_uri,
        scopes: find("scopes").map_or(Ok(Vec::new()), |field| scopes(reader, field))?,
        issuer: text("issuer")?,
    };
    match (&oauth.client_secret, &oauth.client_id, find("clientSecret")) {
        (Some(_), None, Some(field)) => Err(reader.problem(field, "stands without `clientId`")),
        _ => Ok(oauth),
    }
}

/// A list, or one text with blanks between.
fn scopes<'a>(reader: &Reader<'a>, field: &Field<'a>) -> Result<Vec<String>, ConfigProblem> {
    let items = match reader.text(field) {
        Ok(text) => text.split_ascii_whitespace().collect(),
        Err(_) => {
            let items = reader.list(field)?;
            let texts = items.iter().map(|item| reader.text(item));
            texts.collect::<Result<Vec<&str>, _>>()?
        }
    };
    // The characters of RFC 6749, 3.3.
    let fits = |scope: &&str| {
        let allowed = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
        !scope.is_empty() && scope.bytes().all(allowed)
    };
    if items.len() > SCOPES_MAX || !items.iter().all(fits) {
        return Err(reader.problem(field, "holds what is no scope"));
    }
    Ok(items.into_iter().map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use crate::config::parse;
    use crate::request::Source;

    use super::OAuth;

    fn read(oauth: &str) -> Result<OAuth, String> {
        let text = format!(
            r#"{{"mcpServers": {{"x": {{"url": "https://h.example/mcp", "oauth": {oauth}}}}}}}"#
        );
        let environment = BTreeMap::from([("KEY".to_owned(), "s3cr3t".to_owned())]);
        let parsed = parse(&text, Path::new("c.json"), Source::User, &environment);
        let server = parsed.servers.into_iter().next().unwrap();
        server
            .map(|server| server.remote.unwrap().oauth)
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn all_of_it_is_read() {
        let oauth = read(
            r#"{"clientId": "c", "clientSecret": "${KEY}", "callbackPort": 3118, "scopes": "a b", "issuer": "https://i.example"}"#,
        )
        .unwrap();
        assert_eq!(oauth.client_id.as_deref(), Some("c"));
        assert_eq!(oauth.client_secret.as_ref().unwrap().value, "s3cr3t");
        assert_eq!(
            oauth.redirect_uri.as_deref(),
            Some("http://127.0.0.1:3118/callback")
        );
        assert_eq!(oauth.scopes, ["a", "b"]);
        assert_eq!(oauth.issuer.as_deref(), Some("https://i.example"));
        assert!(!format!("{oauth:?}").contains("s3cr3t"));
        assert_eq!(read(r#"{"scopes": ["a"]}"#).unwrap().scopes, ["a"]);
        assert_eq!(read("{}").unwrap(), OAuth::default());
    }

    #[test]
    fn a_fault_names_its_field() {
        for (oauth, want) in [
            (r#"{"clientID": "c"}"#, "did you mean `clientId`?"),
            (
                r#"{"clientSecret": "${KEY}"}"#,
                "oauth.clientSecret stands without `clientId`",
            ),
            (
                r#"{"clientId": "c", "clientSecret": "${GONE}"}"#,
                "oauth.clientSecret needs GONE",
            ),
            (
                r#"{"callbackPort": 1, "redirectUri": "http://127.0.0.1/x"}"#,
                "stands beside `redirectUri`",
            ),
            (r#"{"callbackPort": 70000}"#, "oauth.callbackPort"),
            (r#"{"scopes": ["a b"]}"#, "holds what is no scope"),
            (r#"{"issuer": ""}"#, "oauth.issuer is empty"),
            (r#"[]"#, "must be an object"),
        ] {
            let said = read(oauth).unwrap_err();
            assert!(said.contains(want), "{oauth}: {said}");
        }
    }
}
