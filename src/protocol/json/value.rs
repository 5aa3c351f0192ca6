//! The JSON tree itself and how to look into it.

use super::number::Number;

/// A JSON value, exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

/// The members of an object, in the order they were written, each key once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Object(Vec<(String, Json)>);

impl Json {
    /// An object of these members; of a key that comes twice the last value stays.
    pub(crate) fn object<K: Into<String>>(members: impl IntoIterator<Item = (K, Json)>) -> Self {
        let mut object = Object::default();
        for (key, value) in members {
            object.insert(key, value);
        }
        Self::Object(object)
    }

    /// A string, when it is one.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A truth value, when it is one.
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// A number, when it is one.
    pub(crate) fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// An array's elements, when it is one.
    pub(crate) fn as_array(&self) -> Option<&[Json]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// An object's members, when it is one.
    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// An object's members to change, when it is one.
    pub(crate) fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The member of an object; nothing for all other values.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.as_object().and_then(|object| object.get(key))
    }

    /// What kind of value it is, for error texts.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

impl Object {
    /// Members that are already known to have each key once.
    pub(super) fn from_unique(members: Vec<(String, Json)>) -> Self {
        Self(members)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// The value of a key, to change.
    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Json> {
        self.0.iter_mut().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// Sets a key: in its place when it is there, else at the end.
    pub(crate) fn insert(&mut self, key: impl Into<String>, value: Json) {
        let key = key.into();
        match self.get_mut(&key) {
            Some(place) => *place = value,
            None => self.0.push((key, value)),
        }
    }

    /// Takes a key out; the order of the others stays.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Json> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// Keys and values in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Keys and values in order, values to change.
    pub(crate) fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Json)> {
        self.0.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Object {
    type Item = (String, Json);
    type IntoIter = std::vec::IntoIter<(String, Json)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Json {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Json {
    fn from(whole: i64) -> Self {
        Self::Number(whole.into())
    }
}

impl From<u64> for Json {
    fn from(whole: u64) -> Self {
        Self::Number(whole.into())
    }
}

impl From<Number> for Json {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<Object> for Json {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<Json>> for Json {
    fn from(elements: Vec<Json>) -> Self {
        Self::Array(elements)
    }
}
