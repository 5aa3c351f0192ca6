//! URLs that have one meaning, and those that are refused for having two.

use proptest::prelude::*;

use crate::address::web_url::{UrlFault, WebUrl};

fn shown(url: Result<WebUrl, UrlFault>) -> Result<String, UrlFault> {
    url.map(|url| url.as_str().to_owned())
}

#[test]
fn redirects_are_read_like_urls() {
    let base = WebUrl::read("https://a.test/dir/page?q").unwrap();
    for (location, want) in [
        ("https://b.test/x", Ok("https://b.test/x")),
        ("/b", Ok("https://a.test/b")),
        ("b?c", Ok("https://a.test/dir/b?c")),
        ("?c", Ok("https://a.test/dir/page?c")),
        ("//b.test/x", Ok("https://b.test/x")),
        ("//127.1/", Ok("https://127.0.0.1/")),
        (
            "b?to=http://c.test/",
            Ok("https://a.test/dir/b?to=http://c.test/"),
        ),
        ("HTTP://B.test:80", Ok("http://b.test/")),
        ("file:///etc/passwd", Err(UrlFault::Scheme)),
        ("data:text/html,x", Err(UrlFault::Scheme)),
        ("https:b", Err(UrlFault::Form)),
        ("//user@b.test/", Err(UrlFault::UserInfo)),
        ("//@b.test/", Err(UrlFault::UserInfo)),
        ("\\\\b.test/", Err(UrlFault::Backslash)),
        ("/\\b.test/", Err(UrlFault::Backslash)),
        ("/b\r\nSet-Cookie: x", Err(UrlFault::Control)),
        ("/b c", Err(UrlFault::Whitespace)),
    ] {
        let want = want.map(str::to_owned);
        assert_eq!(shown(base.joined(location)), want, "{location:?}");
    }
}

proptest! {
    /// A URL is a fixed point, and has no host but the one that it shows.
    #[test]
    fn canonical_is_canonical(text in "https?:[/\\\\]{0,3}[a-z0-9.@:%\\[\\]-]{0,30}[/?#\\\\]?[ -~]{0,20}|\\PC{0,40}") {
        let Ok(url) = WebUrl::read(&text) else { return Ok(()) };
        let again = WebUrl::read(url.as_str());
        prop_assert_eq!(again.as_ref(), Ok(&url));
        let parsed = url::Url::parse(url.as_str()).unwrap();
        let host = parsed.host_str().unwrap().trim_matches(['[', ']']);
        prop_assert_eq!(host, url.target().host.as_str());
        prop_assert_eq!(parsed.port_or_known_default(), Some(url.target().port));
        prop_assert!(parsed.username().is_empty() && parsed.password().is_none());
    }

    /// A redirect never panics, and leads to a URL that could have been typed.
    #[test]
    fn redirects_are_urls(location in "[a-z/.:@\\\\?#%]{0,24}|\\PC{0,30}") {
        let base = WebUrl::read("https://a.test/dir/page").unwrap();
        if let Ok(url) = base.joined(&location) {
            prop_assert_eq!(WebUrl::read(url.as_str()), Ok(url));
        }
    }
}
