//! `organisation.json` in the organisation's folder, root's alone: where the bundle comes from and
//! which keys sign it. These lie on the machine; nothing in a bundle changes them.

use serde::Deserialize;

use crate::protocol::json;

/// Where an organisation's policies come from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Organisation {
    /// The bundle: a folder, a file, or an `https://` address of a file.
    pub(crate) bundle: String,
    /// Public keys in minisign's form; one of them has signed it.
    pub(crate) keys: Vec<String>,
    /// The name that the bundle must have.
    pub(crate) name: String,
    /// The lowest revision that is taken.
    #[serde(default)]
    pub(crate) minimum_revision: u64,
    /// Certificates (PEM) of the authority behind the address; those of the system otherwise.
    #[serde(default)]
    pub(crate) authority: Option<String>,
    /// How old a fetched bundle may be before the address is asked again, in minutes.
    #[serde(default = "an_hour")]
    pub(crate) refresh_minutes: u64,
}

fn an_hour() -> u64 {
    60
}

impl Organisation {
    /// Reads the file, strictly: a key that is mistyped must not be a rule that is not there.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let parsed = json::read(bytes).map_err(|error| error.to_string())?;
        let organisation: Self = serde_json::from_value(parsed.json.to_value().value)
            .map_err(|error| error.to_string())?;
        organisation.check()?;
        Ok(organisation)
    }

    /// Whether the bundle is fetched.
    pub(crate) fn is_remote(&self) -> bool {
        self.bundle.contains("://")
    }

    fn check(&self) -> Result<(), String> {
        if self.keys.is_empty() {
            return Err("`keys` is empty: name the key that signs the bundle (`RW…`)".to_owned());
        }
        if self.name.is_empty() {
            return Err("`name` is empty: it is the name in the bundle's manifest".to_owned());
        }
        if self.is_remote() && !self.bundle.starts_with("https://") {
            return Err("`bundle` is a path or an https:// address".to_owned());
        }
        let absolute = |path: &str| std::path::Path::new(path).is_absolute();
        if !self.is_remote() && !absolute(&self.bundle) {
            return Err("`bundle` is an absolute path".to_owned());
        }
        match &self.authority {
            Some(path) if !absolute(path) => Err("`authority` is an absolute path".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_strictly() {
        let check = |text: &str, want: Result<bool, &str>| {
            let read = Organisation::read(text.as_bytes());
            match (read, want) {
                (Ok(organisation), Ok(remote)) => assert_eq!(organisation.is_remote(), remote),
                (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
                (read, want) => panic!("{text}: {read:?}, not {want:?}"),
            }
        };
        check(
            r#"{"bundle": "/srv/acme", "keys": ["RW"], "name": "acme"}"#,
            Ok(false),
        );
        check(
            r#"{"bundle": "https://p.example/a", "keys": ["RW"], "name": "acme"}"#,
            Ok(true),
        );
        check(
            r#"{"bundle": "http://p.example/a", "keys": ["RW"], "name": "acme"}"#,
            Err("https"),
        );
        check(
            r#"{"bundle": "acme", "keys": ["RW"], "name": "acme"}"#,
            Err("absolute"),
        );
        check(
            r#"{"bundle": "/srv/acme", "keys": [], "name": "acme"}"#,
            Err("`keys` is empty"),
        );
        check(r#"{"bundle": "/srv/acme", "name": "acme"}"#, Err("keys"));
        check(
            r#"{"bundle": "/srv/acme", "keys": ["RW"], "name": "acme", "verify": false}"#,
            Err("verify"),
        );
        check(
            r#"{"bundle": "/a", "keys": ["RW"], "keys": [], "name": "acme"}"#,
            Err("twice"),
        );
    }
}
