//! Which names say that their value is a secret: keys of JSON, headers, parameters, variables.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Words that make a name secret wherever they stand in it.
pub(super) const SECRET_WORDS: &[&str] = &[
    "authorization",
    "cookie",
    "cookies",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "creds",
    "otp",
    "mnemonic",
    "apikey",
    "apikeys",
    "apitoken",
    "privatekey",
    "accesskey",
    "secretkey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "bearertoken",
    "idtoken",
    "clientsecret",
    "authkey",
    "signingkey",
    "encryptionkey",
    "sessionid",
    "jwt",
    "bearer",
];

/// Words that do so unless a harmless one stands beside them.
pub(super) const MILD_WORDS: &[&str] =
    &["token", "tokens", "sid", "sig", "signature", "pin", "pat"];

/// What makes a `key` a secret one: `api key`, `privateKey`, `X-Access-Key`.
pub(super) const KEY_KINDS: &[&str] = &[
    "api",
    "private",
    "access",
    "secret",
    "auth",
    "signing",
    "encryption",
    "ssh",
    "master",
    "account",
    "license",
    "session",
    "service",
    "shared",
    "app",
    "application",
    "client",
    "storage",
    "deploy",
    "pgp",
    "gpg",
    "host",
    "subscription",
];

/// Words that make a number or a description of a `token` or `sid` what it is.
pub(super) const HARMLESS_BESIDE: &[&str] = &[
    "type",
    "url",
    "uri",
    "endpoint",
    "count",
    "counts",
    "limit",
    "budget",
    "length",
    "max",
    "min",
    "total",
    "prompt",
    "completion",
    "input",
    "output",
    "usage",
    "next",
    "page",
    "continuation",
    "sync",
    "expires",
    "expiry",
    "progress",
];

/// What one of [`KEY_KINDS`] makes secret.
const KEYS: &[&str] = &["key", "keys"];

/// A word of a name in small letters, as far as it may be one that is known.
#[derive(Default)]
struct Word {
    letters: [u8; LONGEST],
    len: usize,
}

/// Longer than every word that is known.
const LONGEST: usize = 16;

impl Word {
    fn push(&mut self, c: char) {
        if let Some(place) = self.letters.get_mut(self.len)
            && c.is_ascii()
        {
            *place = u8::try_from(c).unwrap_or_default().to_ascii_lowercase();
            self.len += 1;
            return;
        }
        for small in c.to_lowercase() {
            // A letter of another script is in no known word: it makes this one too long.
            let letter = u8::try_from(small).ok().filter(u8::is_ascii);
            match (self.letters.get_mut(self.len), letter) {
                (Some(place), Some(letter)) => {
                    *place = letter;
                    self.len += 1;
                }
                _ => self.len = LONGEST,
            }
        }
    }

    /// What it is known as; bits of [`SECRET`] and the like.
    fn known(&self) -> u8 {
        let letters = self.letters.get(..self.len).unwrap_or_default();
        if self.len >= LONGEST || !may_be_known(letters) {
            return 0;
        }
        let found = KNOWN.get(letters);
        found.copied().unwrap_or_default()
    }
}

/// Whether a known word is as long and begins with this letter. Most words of most names are passed
/// over here, for less than a look-up costs.
fn may_be_known(letters: &[u8]) -> bool {
    let of_length = FIRST_LETTERS.get(letters.len()).copied();
    let first = letters.first().map_or(0, |first| bit(*first));
    of_length.is_some_and(|known| known & first != 0)
}

/// A letter's bit in [`FIRST_LETTERS`]; none for what is no small letter.
const fn bit(letter: u8) -> u32 {
    match letter {
        b'a'..=b'z' => 1 << (letter - b'a'),
        _ => 0,
    }
}

/// The first letters of the known words of each length.
#[expect(
    clippy::indexing_slicing,
    reason = "runs when it is compiled: a panic is an error there"
)]
const FIRST_LETTERS: [u32; LONGEST] = {
    let mut letters = [0; LONGEST];
    let lists = [SECRET_WORDS, MILD_WORDS, HARMLESS_BESIDE, KEY_KINDS, KEYS];
    let mut list = 0;
    while list < lists.len() {
        let mut at = 0;
        while at < lists[list].len() {
            let word = lists[list][at].as_bytes();
            letters[word.len()] |= bit(word[0]);
            at += 1;
        }
        list += 1;
    }
    letters
};

/// Makes a name secret wherever it stands.
const SECRET: u8 = 1;
/// Does so unless something harmless stands beside it.
const MILD: u8 = 2;
/// See [`HARMLESS_BESIDE`].
const HARMLESS: u8 = 4;
/// See [`KEY_KINDS`].
const KIND: u8 = 8;
/// What one of these makes secret.
const KEY: u8 = 16;

/// All words that are known: every key of every record is looked up here.
static KNOWN: LazyLock<HashMap<&'static [u8], u8>> = LazyLock::new(|| {
    let mut known = HashMap::new();
    let lists = [
        (SECRET, SECRET_WORDS),
        (MILD, MILD_WORDS),
        (HARMLESS, HARMLESS_BESIDE),
        (KIND, KEY_KINDS),
        (KEY, KEYS),
    ];
    for (means, words) in lists {
        for word in words {
            *known.entry(word.as_bytes()).or_default() |= means;
        }
    }
    known
});

/// What the words of a name say together.
#[derive(Default)]
struct Weighed {
    secret: bool,
    /// Secret unless something harmless stands beside it.
    mild: bool,
    harmless: bool,
    /// The word before makes a `key` a secret one.
    kind: bool,
}

impl Weighed {
    fn add(&mut self, word: &Word) {
        if word.len == 0 {
            return;
        }
        let known = word.known();
        self.secret |= (self.kind && known & KEY != 0) || known & SECRET != 0;
        self.mild |= known & MILD != 0;
        self.harmless |= known & HARMLESS != 0;
        self.kind = known & KIND != 0;
    }
}

/// Whether a key's value is a secret by its name. `tokenizer`, `monkey`, a plain `key`,
/// `max_tokens` and `next_page_token` are not. Words are parted as in `refreshToken`, `X-Api-Key`,
/// `CLIENT_SECRET`, `APIKey`.
pub(crate) fn is_secret_key(name: &str) -> bool {
    let mut weighed = Weighed::default();
    let mut word = Word::default();
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let humps = before.is_lowercase() || before.is_ascii_digit();
        let acronym = before.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase());
        let part = !c.is_alphanumeric();
        if part || (c.is_uppercase() && (humps || acronym)) {
            weighed.add(&word);
            word = Word::default();
        }
        if !part {
            word.push(c);
        }
        before = c;
    }
    weighed.add(&word);
    weighed.secret || (weighed.mild && !weighed.harmless)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_every_style() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "Set-Cookie",
            "X-Api-Key",
            "apiKey",
            "api_key",
            "APIKey",
            "API_KEY",
            "apikey",
            "Password",
            "PASSPHRASE",
            "client_secret",
            "clientSecret",
            "refreshToken",
            "access_token",
            "AccessToken",
            "private_key",
            "SSHKey",
            "secretAccessKey",
            "token",
        ] {
            assert!(is_secret_key(name), "{name}");
        }
        for name in [
            "tokenizer",
            "monkey",
            "key",
            "keyboard",
            "primary_key",
            "public_key",
            "max_tokens",
            "maxTokens",
            "token_count",
            "token_type",
            "nextPageToken",
            "secretary",
            "author",
            "path",
            "url",
            "passenger",
            "",
        ] {
            assert!(!is_secret_key(name), "{name}");
        }
    }
}
