//! Which names say that their value is a secret: keys of JSON, headers, parameters, variables.

/// Words that make a name secret wherever they stand in it.
const SECRET_WORDS: &[&str] = &[
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
    "token",
    "tokens",
    "credential",
    "credentials",
    "creds",
    "pin",
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
    "sid",
    "jwt",
    "bearer",
    "signature",
    "sig",
    "pat",
];

/// What makes a `key` a secret one: `api key`, `privateKey`, `X-Access-Key`.
const KEY_KINDS: &[&str] = &[
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
const HARMLESS_BESIDE: &[&str] = &[
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

/// The words of a name in small letters: `refreshToken`, `X-Api-Key`, `CLIENT_SECRET`, `APIKey`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let humps = before.is_lowercase() || before.is_ascii_digit();
        let acronym = before.is_uppercase() && chars.peek().is_some_and(|next| next.is_lowercase());
        if !c.is_alphanumeric() || (c.is_uppercase() && (humps || acronym)) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn has_key_kind(words: &[String]) -> bool {
    words.windows(2).any(|pair| {
        matches!(pair, [kind, key] if matches!(key.as_str(), "key" | "keys") && KEY_KINDS.contains(&kind.as_str()))
    })
}

/// Whether a key's value is a secret by its name. `tokenizer`, `monkey`, a plain `key`,
/// `max_tokens` and `next_page_token` are not.
pub(super) fn is_secret_key(name: &str) -> bool {
    let words = words(name);
    if has_key_kind(&words) {
        return true;
    }
    let harmless = words.iter().any(|w| HARMLESS_BESIDE.contains(&w.as_str()));
    words.iter().any(|word| {
        let mild = matches!(
            word.as_str(),
            "token" | "tokens" | "sid" | "sig" | "signature" | "pin" | "pat"
        );
        SECRET_WORDS.contains(&word.as_str()) && !(mild && harmless)
    })
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
