//! Names and values of a query, decoded: `application/x-www-form-urlencoded`, no more.

/// The pairs of a query. What is no UTF-8 once decoded is no pair.
///
/// # Errors
/// When a name stands twice: nobody can say which one was meant.
pub(super) fn pairs(query: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (Some(name), Some(value)) = (decode(name), decode(value)) else {
            return Err("it is not encoded as a query is".to_owned());
        };
        if pairs.iter().any(|(known, _)| *known == name) {
            return Err("a name stands twice".to_owned());
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// The value of a name.
pub(super) fn value<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = pairs.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str())
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| {
                    char::from(byte)
                        .to_digit(16)
                        .and_then(|d| u8::try_from(d).ok())
                };
                let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                high * 16 + low
            }
            other => other,
        });
    }
    String::from_utf8(decoded).ok()
}
