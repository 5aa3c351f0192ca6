//! The reader: bytes to tree in one pass, bounded in size and depth, strict in grammar.

use super::error::{JsonError, Reason};
use super::number::{self, Number};
use super::value::{Json, Object};

/// The most bytes of one message.
pub(crate) const MESSAGE_MAX: usize = 16 * 1024 * 1024;

/// How much is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Most bytes.
    pub(crate) bytes: usize,
    /// Deepest nesting: `[[]]` has depth 2. Never more than 512, as trees are walked on the stack.
    pub(crate) depth: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bytes: MESSAGE_MAX,
            depth: 128,
        }
    }
}

/// A tree, and what was mended on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// The tree.
    pub(crate) json: Json,
    /// How many lone surrogate escapes (`\ud800` without its partner) became U+FFFD.
    pub(crate) repaired: usize,
}

/// Reads one JSON value within the bounds of a message.
///
/// # Errors
/// Where and why the bytes are refused.
pub(crate) fn read(bytes: &[u8]) -> Result<Parsed, JsonError> {
    read_within(bytes, Bounds::default())
}

/// Reads one JSON value.
///
/// # Errors
/// Where and why the bytes are refused.
pub(crate) fn read_within(bytes: &[u8], bounds: Bounds) -> Result<Parsed, JsonError> {
    if bytes.len() > bounds.bytes {
        return Err(JsonError {
            offset: bounds.bytes,
            reason: Reason::Size(bounds.bytes),
        });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError {
        offset: error.valid_up_to(),
        reason: Reason::Utf8,
    })?;
    let mut reader = Reader {
        text,
        bytes,
        at: 0,
        depth_left: bounds.depth.min(DEPTH_CEILING),
        depth_most: bounds.depth.min(DEPTH_CEILING),
        keys: Vec::new(),
        repaired: 0,
    };
    reader.space();
    let json = reader.value()?;
    reader.space();
    if reader.at < bytes.len() {
        return Err(reader.error(Reason::Trailing));
    }
    Ok(Parsed {
        json,
        repaired: reader.repaired,
    })
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth_left: usize,
    depth_most: usize,
    // Where the keys of the open objects stand, for the message about a repeated one.
    keys: Vec<usize>,
    repaired: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, reason: Reason) -> JsonError {
        JsonError {
            offset: self.at,
            reason,
        }
    }

    fn syntax(&self, expected: &'static str) -> JsonError {
        let ended = self.at >= self.bytes.len();
        self.error(if ended {
            Reason::End
        } else {
            Reason::Syntax(expected)
        })
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json, JsonError> {
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.syntax("a value is expected here")),
        }
    }

    fn word(&mut self, word: &'static str, json: Json) -> Result<Json, JsonError> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.syntax("only true, false and null may stand without quotes"));
            }
            self.at += 1;
        }
        Ok(json)
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = number::scan(rest.as_bytes()).map_err(|(offset, expected)| {
            self.at += offset;
            self.syntax(expected)
        })?;
        self.at += length;
        let text = rest.get(..length).unwrap_or_default();
        Ok(Json::Number(Number::from_scanned(text)))
    }

    fn nested(
        &mut self,
        inside: fn(&mut Self) -> Result<Json, JsonError>,
    ) -> Result<Json, JsonError> {
        if self.depth_left == 0 {
            return Err(self.error(Reason::Depth(self.depth_most)));
        }
        self.at += 1;
        self.depth_left -= 1;
        self.space();
        let json = inside(self)?;
        self.depth_left += 1;
        Ok(json)
    }

    fn array(&mut self) -> Result<Json, JsonError> {
        let mut elements = Vec::new();
        if self.ends(b']') {
            return Ok(Json::Array(elements));
        }
        loop {
            elements.push(self.value()?);
            self.space();
            if self.ends(b']') {
                return Ok(Json::Array(elements));
            }
            self.comma("`,` or `]` is expected here")?;
        }
    }

    fn object(&mut self) -> Result<Json, JsonError> {
        let mut members = Vec::new();
        let first_key = self.keys.len();
        if self.ends(b'}') {
            return Ok(Json::Object(Object::default()));
        }
        loop {
            self.keys.push(self.at);
            if self.peek() != Some(b'"') {
                return Err(self.syntax("a key in quotes is expected here"));
            }
            let key = self.string()?;
            self.space();
            if !self.ends(b':') {
                return Err(self.syntax("`:` is expected here"));
            }
            self.space();
            members.push((key, self.value()?));
            self.space();
            if self.ends(b'}') {
                break;
            }
            self.comma("`,` or `}` is expected here")?;
        }
        if let Some(at) = repeated(&members) {
            self.at = self.keys.get(first_key + at).copied().unwrap_or(self.at);
            let key = members.into_iter().nth(at).map(|(key, _)| key);
            return Err(self.error(Reason::Duplicate(key.unwrap_or_default())));
        }
        self.keys.truncate(first_key);
        Ok(Json::Object(Object::from_unique(members)))
    }

    /// Steps over a byte if it is next.
    fn ends(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn comma(&mut self, expected: &'static str) -> Result<(), JsonError> {
        if !self.ends(b',') {
            return Err(self.syntax(expected));
        }
        self.space();
        Ok(())
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        let plain = self.plain();
        if self.ends(b'"') {
            return Ok(plain.to_owned());
        }
        let mut text = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                _ => return Err(self.syntax("a control character must be escaped in a string")),
            }
            text.push_str(self.plain());
        }
    }

    /// Steps over the letters up to the next quote, backslash or control character.
    fn plain(&mut self) -> &'a str {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        self.at += plain_length(rest);
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let Some(letter) = self.peek() else {
            return Err(self.error(Reason::End));
        };
        let plain = match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.syntax("no such escape in a JSON string")),
        };
        self.at += 1;
        Ok(plain)
    }

    /// `\uXXXX`, with its partner if it is the first half of a surrogate pair; at the `u`.
    fn unicode(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let unit = self.hex()?;
        if let Some(whole) = char::from_u32(unit) {
            return Ok(whole);
        }
        let partner = self.bytes.get(self.at..self.at + 2) == Some(b"\\u".as_slice());
        if unit < 0xDC00 && partner {
            let back = self.at;
            self.at += 2;
            let low = self.hex()?;
            if (0xDC00..0xE000).contains(&low) {
                let point = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        self.repaired += 1;
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.syntax("four hexadecimal digits are expected here"));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }
}

/// The index of the second of two members with the same key.
fn repeated(members: &[(String, Json)]) -> Option<usize> {
    if members.len() <= FEW {
        return members.iter().enumerate().find_map(|(at, (key, _))| {
            let earlier = members.iter().take(at);
            earlier.map(|(k, _)| k).any(|k| k == key).then_some(at)
        });
    }
    let mut order: Vec<(&str, usize)> = members
        .iter()
        .enumerate()
        .map(|(at, (key, _))| (key.as_str(), at))
        .collect();
    order.sort_unstable();
    let pairs = order.iter().zip(order.iter().skip(1));
    pairs
        .filter(|((before, _), (after, _))| before == after)
        .map(|(_, (_, at))| *at)
        .min()
}

/// How many bytes from the start are neither a quote, a backslash nor a control character.
pub(super) fn plain_length(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let whole = words.iter().take_while(|word| all_plain(**word)).count() * 8;
    let rest = bytes.get(whole..).unwrap_or_default();
    let plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
    whole + rest.iter().take_while(plain).count()
}

/// Eight bytes at a time. The test may call a word with a plain byte suspicious, never the reverse.
fn all_plain(word: [u8; 8]) -> bool {
    let word = u64::from_ne_bytes(word);
    let each = |byte: u8| u64::from_ne_bytes([byte; 8]);
    let zero = |x: u64| x.wrapping_sub(each(0x01)) & !x;
    let quote = zero(word ^ each(b'"'));
    let slash = zero(word ^ each(b'\\'));
    let control = word.wrapping_sub(each(0x20)) & !word;
    (quote | slash | control) & each(0x80) == 0
}

/// Up to this many members are compared pair by pair, which is faster than sorting.
const FEW: usize = 16;

/// No tree is deeper, whatever is asked for: dropping and walking a tree use the stack.
const DEPTH_CEILING: usize = 512;
