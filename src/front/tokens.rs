//! Bearer tokens: who may speak, and in whose name. The file has a line for each: a name, a space, the
//! token.

use std::fmt;

use crate::digest::Digest;

/// In whose name requests of a token are decided: the token's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Principal(String);

impl Principal {
    /// The name of whoever started the gateway, where no token is asked for.
    pub(crate) fn named(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The name.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The tokens that open the door. Only their digests are kept.
#[derive(Clone)]
pub(crate) struct Tokens(Vec<(Principal, Digest)>);

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

impl Tokens {
    /// Reads a token file.
    ///
    /// # Errors
    /// Line and reason, never the token.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let mut found: Vec<(Principal, Digest)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (name, token) = one(line).map_err(|why| format!("line {number}: {why}"))?;
            if found.iter().any(|(other, _)| *other == name) {
                return Err(format!("line {number}: the name stands there twice"));
            }
            found.push((name, digest(token)));
        }
        match found.len() {
            0 => Err("it holds no token: write a line `NAME TOKEN`".to_owned()),
            1..=MOST => Ok(Self(found)),
            _ => Err(format!("it holds more than {MOST} tokens")),
        }
    }

    /// Whose token this is. Takes the same time for each wrong one: all are compared, by digests.
    pub(super) fn owner(&self, shown: &str) -> Option<&Principal> {
        let shown = digest(shown);
        let mut owner = None;
        for (name, kept) in &self.0 {
            let pairs = kept.as_bytes().iter().zip(shown.as_bytes());
            let differs = pairs.fold(0_u8, |sum, (a, b)| sum | (a ^ b));
            if differs == 0 {
                owner = Some(name);
            }
        }
        owner
    }
}

/// A fresh token: 256 random bits in hexadecimal digits.
///
/// # Errors
/// The system gives no random numbers.
pub(crate) fn new_token() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(Digest::from_bytes(bytes).to_string())
}

fn one(line: &str) -> Result<(Principal, &str), &'static str> {
    let mut words = line.split_ascii_whitespace();
    let (Some(name), Some(token), None) = (words.next(), words.next(), words.next()) else {
        return Err("a line is a name, a space and a token");
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.@".contains(&b);
    if name.len() > 64 || !name.bytes().all(plain) {
        return Err("a name has at most 64 letters, digits, `-`, `_`, `.` and `@`");
    }
    // RFC 6750, section 2.1.
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    if !(32..=512).contains(&token.len()) || !token.bytes().all(fits) {
        return Err("a token has 32 to 512 letters, digits and `-._~+/=`");
    }
    Ok((Principal::named(name), token))
}

fn digest(token: &str) -> Digest {
    Digest::of_fields("bearer-token/1", [token])
}

const MOST: usize = 1_000;
