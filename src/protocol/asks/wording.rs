//! Whether a form seems to ask for a credential or a payment card. A guard rail against careless
//! servers and no boundary: whoever wants a secret can ask for it in other words.

use crate::clean;

/// Phrases, in words as `words` makes them.
const PHRASES: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pass word",
    "pass phrase",
    "pin code",
    "your pin",
    "api key",
    "api token",
    "api secret",
    "secret key",
    "client secret",
    "private key",
    "access key",
    "access token",
    "auth token",
    "bearer token",
    "refresh token",
    "session token",
    "personal access token",
    "security token",
    "ssh key",
    "credential",
    "credentials",
    "one time code",
    "verification code",
    "security code",
    "authentication code",
    "recovery code",
    "backup code",
    "otp",
    "2fa code",
    "seed phrase",
    "recovery phrase",
    "mnemonic",
    "credit card",
    "debit card",
    "card number",
    "cvv",
    "cvc",
    "social security",
    "ssn",
    "passwort",
    "kennwort",
    "mot de passe",
    "contrasena",
    "contraseña",
    "senha",
    "wachtwoord",
    "пароль",
    "密码",
    "密碼",
    "パスワード",
];

/// Words that are found also where letters are parted or digits stand for them: `p a s s w 0 r d`.
const SQUEEZED: &[&str] = &["password", "passphrase", "privatekey", "creditcard"];

/// Whether a text speaks of a credential.
pub(super) fn speaks_of_secrets(text: &str) -> bool {
    // As it looks, so that letters of other scripts and undrawn characters hide nothing; and as it
    // stands, for words of other scripts.
    let parted = parted(text);
    let texts = [clean::folded(&parted), parted.to_lowercase()];
    texts.iter().any(|text| says(text))
}

fn says(text: &str) -> bool {
    let letters = |c: char| if c.is_alphanumeric() { c } else { ' ' };
    let words: Vec<String> = text
        .chars()
        .map(letters)
        .collect::<String>()
        .split_whitespace()
        .map(str::to_owned)
        .collect();
    let squeezed = clean::skeleton(&words.concat());
    let words = format!(" {} ", words.join(" "));
    let found = |phrase: &&str| {
        // Scripts without blanks between words.
        let unspaced = phrase.chars().all(|c| u32::from(c) > 0x3000);
        words.contains(&format!(" {phrase} ")) || (unspaced && words.contains(*phrase))
    };
    PHRASES.iter().any(found)
        || SQUEEZED
            .iter()
            .any(|word| squeezed.contains(&clean::skeleton(word)))
}

/// A blank before each hump: `accessToken` is two words.
fn parted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            out.push(' ');
        }
        out.push(c);
        before = c;
    }
    out
}
