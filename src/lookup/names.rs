//! What a name leads to without asking anybody: this machine's own list of hosts, and
//! `localhost`. Each address that comes of it is judged like any other.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The list of hosts, which its administrator writes.
const HOSTS: &str = "/etc/hosts";

/// Lists of names to block have some megabytes.
const HOSTS_MAX: u64 = 32 << 20;

/// The addresses of a name that need no question to a name server; none where it has to be asked.
///
/// # Errors
/// The list is there and cannot be read.
pub(super) fn at_hand(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut found = if cfg!(unix) {
        listed(&text()?, name)
    } else {
        Vec::new()
    };
    if found.is_empty() && is_localhost(name) {
        // No name server is asked about it (RFC 6761, 6.3).
        found = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    Ok(found)
}

fn text() -> io::Result<String> {
    let file = match File::open(HOSTS) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let read = file.take(HOSTS_MAX).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read < HOSTS_MAX) {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    Err(io::Error::other("the list of hosts is too long"))
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// The addresses that a list of hosts gives to a name, of all its lines. A line whose address is none
/// (one of a scope, `fe80::1%lo0`) is left out.
fn listed(text: &str, name: &str) -> Vec<IpAddr> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_ascii_whitespace();
        let address = words.next().and_then(|word| word.parse().ok());
        let (Some(address), true) = (address, words.any(|word| is_name(word, name))) else {
            continue;
        };
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found
}

/// Names are in their canonical form; a list may write them otherwise.
fn is_name(word: &str, name: &str) -> bool {
    let word = word.strip_suffix('.').unwrap_or(word);
    word.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
127.0.0.1\tlocalhost
::1 localhost ip6-localhost
# 10.0.0.1 off.test
10.0.0.2 git.corp.test git # the old one
10.0.0.3 Git.Corp.Test.
10.0.0.2 git.corp.test
fe80::1%lo0 scoped.test
nonsense git.corp.test
0.0.0.0 ads.test
\u{a0}10.0.0.4 odd.test";

    #[test]
    fn a_list_of_hosts_is_read_as_everywhere() {
        for (name, want) in [
            ("localhost", &["127.0.0.1", "::1"][..]),
            ("git", &["10.0.0.2"]),
            ("git.corp.test", &["10.0.0.2", "10.0.0.3"]),
            ("corp.test", &[]),
            ("test", &[]),
            ("off.test", &[]),
            ("the", &[]),
            ("scoped.test", &[]),
            ("ads.test", &["0.0.0.0"]),
            ("odd.test", &[]),
            ("", &[]),
        ] {
            let want: Vec<IpAddr> = want.iter().map(|text| text.parse().unwrap()).collect();
            assert_eq!(listed(TEXT, name), want, "{name}");
        }
        assert!(listed("", "localhost").is_empty());
    }

    /// `localhost` leads here, whatever else the machine knows.
    #[test]
    fn localhost_needs_no_name_server() {
        for name in ["localhost", "app.localhost"] {
            let found = at_hand(name).unwrap();
            assert!(!found.is_empty(), "{name}");
            assert!(found.iter().all(IpAddr::is_loopback), "{name}: {found:?}");
        }
        assert!(at_hand("nowhere.invalid").unwrap().is_empty());
    }
}
