//! Shapes by which issuers let their keys be known. Everything here reads ASCII at the start of a
//! text and says how many bytes belong to the secret.

/// One issuer's shape: a prefix, then at least so many characters of a set.
pub(super) struct Shape {
    pub(super) kind: &'static str,
    pub(super) prefix: &'static str,
    pub(super) set: fn(u8) -> bool,
    pub(super) min: usize,
    pub(super) max: usize,
}

const fn shape(kind: &'static str, prefix: &'static str, set: fn(u8) -> bool, min: usize) -> Shape {
    Shape {
        kind,
        prefix,
        set,
        min,
        max: usize::MAX,
    }
}

const fn exact(kind: &'static str, prefix: &'static str, set: fn(u8) -> bool, len: usize) -> Shape {
    Shape {
        kind,
        prefix,
        set,
        min: len,
        max: len,
    }
}

fn upper(b: u8) -> bool {
    b.is_ascii_uppercase() || b.is_ascii_digit()
}

fn alnum(b: u8) -> bool {
    b.is_ascii_alphanumeric()
}

/// The base64url alphabet.
fn url(b: u8) -> bool {
    alnum(b) || matches!(b, b'-' | b'_')
}

fn dotted(b: u8) -> bool {
    url(b) || b == b'.'
}

fn path(b: u8) -> bool {
    dotted(b) || b == b'/'
}

fn hex(b: u8) -> bool {
    b.is_ascii_hexdigit()
}

/// By first letter. A longer prefix stands before its own beginning.
pub(super) const SHAPES: &[Shape] = &[
    exact("aws-key", "AKIA", upper, 16),
    exact("aws-key", "ASIA", upper, 16),
    exact("aws-key", "ABIA", upper, 16),
    exact("aws-key", "ACCA", upper, 16),
    exact("google", "AIza", url, 35),
    shape("age", "AGE-SECRET-KEY-1", upper, 40),
    shape("google", "GOCSPX-", url, 20),
    shape("postman", "PMAK-", url, 40),
    shape("sendgrid", "SG.", dotted, 50),
    exact("twilio", "SK", hex, 32),
    shape("docker", "dckr_pat_", url, 20),
    shape("digitalocean", "dop_v1_", hex, 40),
    shape("digitalocean", "doo_v1_", hex, 40),
    shape("databricks", "dapi", hex, 32),
    shape("doppler", "dp.pt.", alnum, 30),
    shape("figma", "figd_", url, 30),
    shape("github", "github_pat_", url, 20),
    shape("github", "ghp_", alnum, 30),
    shape("github", "gho_", alnum, 30),
    shape("github", "ghu_", alnum, 30),
    shape("github", "ghs_", alnum, 30),
    shape("github", "ghr_", alnum, 30),
    shape("gitlab", "glpat-", dotted, 20),
    shape("gitlab", "gldt-", dotted, 20),
    shape("gitlab", "glrt-", dotted, 20),
    shape("gitlab", "glptt-", dotted, 20),
    shape("gitlab", "glcbt-", dotted, 20),
    shape("groq", "gsk_", alnum, 30),
    shape("slack", "hooks.slack.com/services/", path, 20),
    shape("huggingface", "hf_", alnum, 30),
    shape("vault", "hvs.", url, 20),
    shape("vault", "hvb.", url, 20),
    exact("mailgun", "key-", hex, 32),
    shape("linear", "lin_api_", alnum, 30),
    shape("npm", "npm_", alnum, 30),
    shape("notion", "ntn_", alnum, 30),
    shape("pypi", "pypi-", url, 40),
    shape("perplexity", "pplx-", alnum, 30),
    shape("stripe", "rk_live_", alnum, 16),
    shape("stripe", "rk_test_", alnum, 16),
    shape("replicate", "r8_", alnum, 30),
    shape("anthropic", "sk-ant-", url, 20),
    shape("api-key", "sk-", url, 20),
    shape("stripe", "sk_live_", alnum, 16),
    shape("stripe", "sk_test_", alnum, 16),
    shape("square", "sq0atp-", url, 20),
    shape("square", "sq0csp-", url, 20),
    shape("shopify", "shpat_", hex, 32),
    shape("shopify", "shpss_", hex, 32),
    shape("shopify", "shpca_", hex, 32),
    shape("tailscale", "tskey-", url, 20),
    shape("cloudflare", "v1.0-", url, 100),
    shape("stripe", "whsec_", alnum, 16),
    shape("slack", "xoxb-", url, 10),
    shape("slack", "xoxp-", url, 10),
    shape("slack", "xoxa-", url, 10),
    shape("slack", "xoxr-", url, 10),
    shape("slack", "xoxs-", url, 10),
    shape("slack", "xoxc-", url, 10),
    shape("slack", "xoxd-", url, 10),
    shape("slack", "xoxe", dotted, 20),
    shape("slack", "xapp-", url, 10),
    shape("xai", "xai-", alnum, 40),
    shape("google", "ya29.", dotted, 20),
];

/// Where the shapes with this first letter stand.
#[expect(
    clippy::indexing_slicing,
    reason = "runs when it is compiled: a panic is an error there"
)]
const BY_LETTER: [(u8, u8); 128] = {
    let mut places = [(0, 0); 128];
    let mut at = 0;
    while at < SHAPES.len() {
        let letter = SHAPES[at].prefix.as_bytes()[0] as usize;
        let (first, after) = &mut places[letter];
        if *after == 0 {
            *first = at as u8;
        } else {
            assert!(*after == at as u8, "shapes stand by their first letter");
        }
        *after = at as u8 + 1;
        at += 1;
    }
    places
};

/// The length of the shortest key.
#[expect(
    clippy::indexing_slicing,
    reason = "runs when it is compiled: a panic is an error there"
)]
pub(super) const KEY_MIN: usize = {
    let mut least = WEB_TOKEN_MIN;
    let mut at = 0;
    while at < SHAPES.len() {
        let len = SHAPES[at].prefix.len() + SHAPES[at].min;
        if len < least {
            least = len;
        }
        at += 1;
    }
    least
};

/// Whether a text holds no secret by its length: it is shorter than every key and every card number,
/// and has none of what stands in a value with a name, a password in an address, or a mask. Most
/// strings of a record are like that.
pub(super) fn is_too_short(text: &str) -> bool {
    text.len() < SHORTEST && !text.bytes().any(|b| matches!(b, b':' | b'=' | b' ' | b'['))
}

/// The shortest secret that no other sign tells: a card number has thirteen digits.
const SHORTEST: usize = if KEY_MIN < 13 { KEY_MIN } else { 13 };

fn by_letter(first: u8) -> &'static [Shape] {
    let place = BY_LETTER.get(usize::from(first)).copied();
    let (from, to) = place.unwrap_or_default();
    SHAPES
        .get(usize::from(from)..usize::from(to))
        .unwrap_or_default()
}

/// The secret at the start of `text`: its kind and its length in bytes.
pub(super) fn issued(text: &str) -> Option<(&'static str, usize)> {
    let bytes = text.as_bytes();
    let shapes = by_letter(*bytes.first()?);
    let long = |bytes: &[u8]| {
        bytes
            .get(..KEY_MIN)
            .is_some_and(|head| head.iter().all(|b| path(*b)))
    };
    if (shapes.is_empty() && !bytes.starts_with(b"eyJ")) || !long(bytes) {
        return None;
    }
    shapes
        .iter()
        .find_map(|shape| {
            let tail = bytes.strip_prefix(shape.prefix.as_bytes())?;
            let most = shape.max.saturating_add(1);
            let run = tail
                .iter()
                .take(most)
                .take_while(|b| (shape.set)(**b))
                .count();
            let fits = (shape.min..=shape.max).contains(&run);
            fits.then_some((shape.kind, shape.prefix.len() + run))
        })
        .or_else(|| web_token(text))
}

/// Header, point and payload of the shortest web token.
const WEB_TOKEN_MIN: usize = HEADER_MIN + 1 + PAYLOAD_MIN;
const HEADER_MIN: usize = 8;
const PAYLOAD_MIN: usize = 4;

/// A JSON web token: header and payload are base64url of objects, hence `eyJ`.
pub(super) fn web_token(text: &str) -> Option<(&'static str, usize)> {
    text.strip_prefix("eyJ")?;
    // Headers are short; the bound keeps hostile runs of `eyJ` from being read once from each.
    let header = text.bytes().take(1024).take_while(|b| url(*b)).count();
    text.get(header..)?.strip_prefix('.')?;
    let len = text.bytes().take_while(|b| dotted(*b)).count();
    let mut parts = text.get(..len)?.split('.');
    let header = parts.next()?;
    let payload = parts.next()?;
    (header.len() >= HEADER_MIN && payload.len() >= PAYLOAD_MIN).then_some(("jwt", len))
}

/// The length of the private key block at the start of `text`; one without an end reaches to the
/// end of the text.
pub(super) fn private_key(text: &str) -> Option<usize> {
    let behind = text.strip_prefix("-----BEGIN ")?;
    let label = behind.get(..behind.find("-----")?)?;
    if label.len() > 64 || !label.contains("PRIVATE KEY") {
        return None;
    }
    let end = text.find("-----END ").and_then(|at| {
        let tail = text.get(at + "-----END ".len()..)?;
        Some(at + "-----END ".len() + tail.find("-----")? + "-----".len())
    });
    Some(end.unwrap_or(text.len()))
}

/// The length of the payment card number at the start of `text`: known issuer and length, groups
/// parted by single blanks or dashes, right check digit.
pub(super) fn card(text: &str) -> Option<usize> {
    let mut digits = [0_u32; 19];
    let mut count = 0;
    let mut len = 0;
    let mut parted = false;
    for (at, c) in text.char_indices().take(40) {
        match c.to_digit(10) {
            Some(digit) => {
                // One digit too many is no card's.
                *digits.get_mut(count)? = digit;
                count += 1;
                len = at + 1;
                parted = false;
            }
            None if matches!(c, ' ' | '-') && !parted && at > 0 => parted = true,
            None => break,
        }
    }
    let digits = digits.get(..count)?;
    let joined = text
        .get(len..)?
        .starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (!joined && is_issued(digits) && luhn(digits)).then_some(len)
}

fn is_issued(digits: &[u32]) -> bool {
    let head = digits.iter().take(4).fold(0, |n, d| n * 10 + d);
    match digits.len() {
        13 => head / 1000 == 4,
        14 => matches!(head / 100, 36 | 38 | 39) || matches!(head / 10, 300..=305),
        15 => matches!(head / 100, 34 | 37),
        16 => {
            head / 1000 == 4
                || matches!(head / 100, 51..=55 | 62 | 65 | 35)
                || matches!(head, 2221..=2720 | 6011 | 6440..=6499)
        }
        _ => false,
    }
}

fn luhn(digits: &[u32]) -> bool {
    let weigh = |(at, digit): (usize, &u32)| match at % 2 {
        0 => *digit,
        _ => digit * 2 / 10 + digit * 2 % 10,
    };
    digits.iter().rev().enumerate().map(weigh).sum::<u32>() % 10 == 0
}

/// Decodes base64 in either alphabet, with or without padding; text only.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    decode(text, |byte| bytes.push(byte))?;
    String::from_utf8(bytes).ok()
}

/// Whether what this base64 begins with can be the beginning of a text: a look at it that is cheap,
/// as most of what could be base64 is a hash or a name.
pub(super) fn is_text(base64: &str) -> bool {
    let mut bytes = [0; 12];
    let mut places = bytes.iter_mut();
    let head = base64.get(..16).filter(|head| !head.contains('='));
    let put = |byte| {
        if let Some(place) = places.next() {
            *place = byte;
        }
    };
    if head.and_then(|head| decode(head, put)).is_none() {
        return true;
    }
    // The last character may go on behind the head.
    std::str::from_utf8(&bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
}

fn decode(base64: &str, mut put: impl FnMut(u8)) -> Option<()> {
    let mut bits = 0_u32;
    let mut held = 0;
    for b in base64.trim_end_matches('=').bytes() {
        let value = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            put(u8::try_from((bits >> held) & 0xff).ok()?);
        }
    }
    Some(())
}
