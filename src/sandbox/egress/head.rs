//! The head of an HTTP/1 message, read strictly (RFC 9112): what two readers could take for two
//! different messages is refused, so nothing can be smuggled past the one that judges.

/// Why a message is refused.
pub(super) type Misfit = &'static str;

/// Fields of one head.
const FIELDS_MAX: usize = 100;

/// The version of a message. Complete: nothing else is spoken here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// HTTP/1.0.
    One0,
    /// HTTP/1.1.
    One1,
}

impl Version {
    fn read(text: &str) -> Result<Self, Misfit> {
        match text {
            "HTTP/1.0" => Ok(Self::One0),
            "HTTP/1.1" => Ok(Self::One1),
            _ => Err("only HTTP/1.0 and HTTP/1.1 are spoken here"),
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::One0 => "HTTP/1.0",
            Self::One1 => "HTTP/1.1",
        }
    }
}

/// Where a head ends, once it is complete. `from` is how much was looked at before.
///
/// # Errors
/// A line that ends in one of CR and LF alone: some readers take it for the end of a line.
pub(super) fn end(bytes: &[u8], from: usize) -> Result<Option<usize>, Misfit> {
    let at = |n: usize| bytes.get(n).copied();
    for (n, byte) in bytes.iter().enumerate().skip(from.saturating_sub(3)) {
        let before = n.checked_sub(1).and_then(at);
        let lone = (*byte == b'\n' && before != Some(b'\r'))
            || (*byte == b'\r' && at(n + 1).is_some_and(|next| next != b'\n'));
        if lone {
            return Err("a line ends in a lone CR or LF");
        }
        if bytes
            .get(..=n)
            .is_some_and(|head| head.ends_with(b"\r\n\r\n"))
        {
            return Ok(Some(n + 1));
        }
    }
    Ok(None)
}

/// The fields of a head, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fields(Vec<(String, Vec<u8>)>);

impl Fields {
    fn read<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Self, Misfit> {
        let mut fields = Vec::new();
        for line in lines {
            if fields.len() == FIELDS_MAX {
                return Err("the head has more than 100 fields");
            }
            fields.push(field(line)?);
        }
        Ok(Self(fields))
    }

    /// The values of a field.
    pub(super) fn all<'a, 'n>(
        &'a self,
        name: &'n str,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        self.0
            .iter()
            .filter(move |field| field.0.eq_ignore_ascii_case(name))
            .map(|field| field.1.as_slice())
    }

    /// The value of a field that may stand once.
    pub(super) fn one<'a>(&'a self, name: &str) -> Result<Option<&'a str>, Misfit> {
        let mut values = self.all(name);
        let first = values.next();
        if values.next().is_some() {
            return Err("a field that may stand once stands twice");
        }
        match first.map(std::str::from_utf8) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text)),
            Some(Err(_)) => Err("a field that names a host or a length is not plain text"),
        }
    }

    /// The words of a list field, in lower case.
    pub(super) fn words(&self, name: &str) -> Vec<String> {
        self.all(name)
            .flat_map(|value| value.split(|b| *b == b','))
            .map(|word| String::from_utf8_lossy(word).trim().to_ascii_lowercase())
            .filter(|word| !word.is_empty())
            .collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_slice()))
    }
}

/// One field line: no blank before the colon, no folded line, no control character.
fn field(line: &[u8]) -> Result<(String, Vec<u8>), Misfit> {
    let colon = line.iter().position(|b| *b == b':');
    let (name, value) = colon
        .and_then(|at| Some((line.get(..at)?, line.get(at + 1..)?)))
        .ok_or("a field line has no colon")?;
    if name.is_empty() || !name.iter().all(|b| is_token(*b)) {
        return Err("a field name holds a blank or a character that no name has");
    }
    if value
        .iter()
        .any(|b| (*b < b' ' && *b != b'\t') || *b == 0x7f)
    {
        return Err("a field value holds a control character");
    }
    let name = String::from_utf8_lossy(name).into_owned();
    Ok((name, value.trim_ascii().to_vec()))
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The lines of a complete head, without the empty one.
fn lines(head: &[u8]) -> Result<(&str, impl Iterator<Item = &[u8]>), Misfit> {
    let whole = head.strip_suffix(b"\r\n\r\n").unwrap_or(head);
    let mut lines = whole
        .split(|b| *b == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    if !first.iter().all(|b| (b' '..0x7f).contains(b)) {
        return Err("the first line holds a control character or is not ASCII");
    }
    match std::str::from_utf8(first) {
        Ok(first) => Ok((first, lines)),
        Err(_) => Err("the first line is not ASCII"),
    }
}

/// A request's head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestHead {
    pub(super) method: String,
    /// The request target as it stands, visible ASCII without `#`.
    pub(super) target: String,
    pub(super) version: Version,
    pub(super) fields: Fields,
}

impl RequestHead {
    /// Reads a complete head.
    pub(super) fn read(head: &[u8]) -> Result<Self, Misfit> {
        let (first, rest) = lines(head)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err("the request line is not `METHOD TARGET VERSION`");
        };
        if method.is_empty() || method.len() > 32 || !method.bytes().all(is_token) {
            return Err("the method is none");
        }
        if target.is_empty() || target.contains('#') {
            return Err("the request target is empty or holds a fragment");
        }
        Ok(Self {
            method: method.to_owned(),
            target: target.to_owned(),
            version: Version::read(version)?,
            fields: Fields::read(rest)?,
        })
    }
}

/// The head of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnswerHead {
    pub(super) status: u16,
    /// The status line as it stands.
    pub(super) line: String,
    pub(super) fields: Fields,
}

impl AnswerHead {
    /// Reads a complete head.
    pub(super) fn read(head: &[u8]) -> Result<Self, Misfit> {
        let (line, rest) = lines(head)?;
        let mut words = line.splitn(3, ' ');
        let (version, status) = (words.next(), words.next());
        Version::read(version.unwrap_or_default())?;
        let status = status.unwrap_or_default();
        let digits = status.len() == 3 && status.bytes().all(|b| b.is_ascii_digit());
        match status.parse() {
            Ok(status) if digits => Ok(Self {
                status,
                line: line.to_owned(),
                fields: Fields::read(rest)?,
            }),
            _ => Err("the status line holds no status"),
        }
    }
}
