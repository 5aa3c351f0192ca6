//! A folder of this machine as a URL.

use std::path::Path;

use url::Url;

/// `file:///home/u/project`; `None` for a relative path.
pub(crate) fn file_url(path: &Path) -> Option<String> {
    Url::from_file_path(path).ok().map(String::from)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn folders_are_urls() {
        for (path, want) in [
            ("/w/p", Some("file:///w/p")),
            ("/w/a b#c?d%é", Some("file:///w/a%20b%23c%3Fd%25%C3%A9")),
            ("w", None),
        ] {
            assert_eq!(file_url(Path::new(path)).as_deref(), want, "{path}");
        }
    }
}
