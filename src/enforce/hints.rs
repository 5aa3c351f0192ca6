//! From the last words of a server that failed to the grant that it may lack. A guess from error
//! texts, said as one: the sandbox itself does not report what it refused.

use std::path::Path;

use crate::config::ServerDefinition;
use crate::grant::Network;

/// What the words of an error speak of, with the key that grants it. The first that fits is named.
struct Sign {
    /// Of these, any one stands in a line.
    any: &'static [&'static str],
    /// And of these, where there are any.
    with: &'static [&'static str],
    lacks: fn(&ServerDefinition) -> bool,
    hint: &'static str,
}

const SIGNS: &[Sign] = &[
    Sign {
        any: &[
            "EPERM",
            "Operation not permitted",
            "operation not permitted",
        ],
        with: &[
            "listen", "connect", "socket", "bind", ".sock", ".pipe", "unix:",
        ],
        lacks: |server| server.sockets.is_none(),
        hint: "a sandbox makes no Unix sockets: `\"unixSockets\": true` allows its own, a list names others",
    },
    Sign {
        any: &[
            "ENOTFOUND",
            "EAI_AGAIN",
            "ENETUNREACH",
            "ENOTCACHED",
            "Network is unreachable",
            "network is unreachable",
            "name resolution",
            "Name or service not known",
            "No address associated with hostname",
            "resolve host",
            "dns error",
            "no such host",
        ],
        with: &[],
        lacks: |server| server.network == Network::None,
        hint: "it has no network: `\"network\"` grants one",
    },
    Sign {
        any: &["EROFS", "Read-only file system", "read-only file system"],
        with: &[],
        lacks: |_| true,
        hint: "it writes in the project and its private folders alone: `\"writePaths\"` grants more",
    },
    Sign {
        any: &["EBUSY", "Device or resource busy"],
        with: &[
            ".git",
            ".vscode",
            ".claude",
            ".cursor",
            ".idea",
            ".npmrc",
            ".mcp.json",
        ],
        lacks: |_| true,
        hint: "files that make tools run code are guarded: named in `\"writePaths\"`, they are asked about",
    },
    Sign {
        any: &["ptrace"],
        with: &[],
        lacks: |_| true,
        hint: "no debugger or tracer works in a sandbox, and nothing grants it",
    },
];

const READ: &str = "it does not see the home folder: `\"readPaths\"` grants what it needs there";

/// What a server that failed with these words may lack, in one sentence.
pub(crate) fn hint(
    server: &ServerDefinition,
    home: Option<&Path>,
    words: &str,
) -> Option<&'static str> {
    let speaks =
        |line: &str, of: &[&str]| of.is_empty() || of.iter().any(|sign| line.contains(sign));
    let fits = |sign: &&Sign| {
        (sign.lacks)(server)
            && words
                .lines()
                .any(|line| speaks(line, sign.any) && speaks(line, sign.with))
    };
    let home = home.and_then(Path::to_str).filter(|home| home.len() > 1);
    let unseen = |line: &str| {
        let absent = [
            "ENOENT",
            "EACCES",
            "No such file",
            "Permission denied",
            "Cannot find module",
        ];
        speaks(line, &absent) && home.is_some_and(|home| line.contains(home))
    };
    let named = SIGNS.iter().find(fits).map(|sign| sign.hint);
    named.or_else(|| words.lines().any(unseen).then_some(READ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Origin, Text};
    use crate::request::{ServerId, Source};

    #[test]
    fn last_words_name_the_grant_that_is_lacking() {
        let id = ServerId::new(Source::User, "x");
        let origin = Origin::of_file(std::path::PathBuf::from("f"));
        let plain = ServerDefinition::new(id, origin, Text::plain("x"));
        let mut all = plain.clone();
        (all.network, all.sockets) = (Network::Whole, Some(Vec::new()));
        // (the words, what a server without grants may lack, and one with network and sockets)
        for (words, want, with_all) in [
            ("npm error code ENOTCACHED", Some("network"), None),
            ("Error: getaddrinfo ENOTFOUND a.test", Some("network"), None),
            (
                "fatal: Could not resolve host: a.test",
                Some("network"),
                None,
            ),
            (
                "dial tcp: lookup a.test: no such host",
                Some("network"),
                None,
            ),
            (
                "Error: listen EPERM: operation not permitted /tmp/x.pipe",
                Some("unixSockets"),
                None,
            ),
            ("EPERM: operation not permitted, chown 'a'", None, None),
            (
                "OSError: [Errno 30] Read-only file system: '/x'",
                Some("writePaths"),
                Some("writePaths"),
            ),
            (
                "error: could not write config file .git/config: Device or resource busy",
                Some("writePaths"),
                Some("writePaths"),
            ),
            (
                "strace: ptrace: Operation not permitted",
                Some("debugger"),
                Some("debugger"),
            ),
            (
                "Error: ENOENT: no such file, open '/home/u/x'",
                Some("readPaths"),
                Some("readPaths"),
            ),
            ("Error: ENOENT: no such file, open '/srv/x'", None, None),
            ("ready\n/home/u/p: 3 files", None, None),
            ("", None, None),
        ] {
            for (server, want) in [(&plain, want), (&all, with_all)] {
                let said = hint(server, Some(Path::new("/home/u")), words);
                let fits = match want {
                    Some(want) => said.is_some_and(|said| said.contains(want)),
                    None => said.is_none(),
                };
                assert!(fits, "{words}: {said:?}, not {want:?}");
            }
        }
    }
}
