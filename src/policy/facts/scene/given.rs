//! The words of a told request. A word that nothing reads is a mistake and is said.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value as Json};

/// What is wrong with a told request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct SceneError(pub(super) String);

impl SceneError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for SceneError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SceneError {}

/// An object of words.
pub(super) struct Given<'a> {
    words: &'a Map<String, Json>,
    read: RefCell<BTreeSet<String>>,
}

impl<'a> Given<'a> {
    pub(super) fn new(words: &'a Map<String, Json>) -> Self {
        Self {
            words,
            read: RefCell::default(),
        }
    }

    /// The object that stands under a word, or says the name alone: `"github"` is
    /// `{"name": "github"}`.
    pub(super) fn named(&self, word: &str) -> Result<Map<String, Json>, SceneError> {
        match self.get(word) {
            None => Ok(Map::new()),
            Some(Json::Object(words)) => Ok(words.clone()),
            Some(name @ Json::String(_)) => Ok(Map::from_iter([("name".to_owned(), name.clone())])),
            Some(other) => Err(wrong(word, "a name or an object", other)),
        }
    }

    pub(super) fn get(&self, word: &str) -> Option<&'a Json> {
        let found = self.words.get(word);
        if found.is_some() {
            self.read.borrow_mut().insert(word.to_owned());
        }
        found
    }

    /// A word, without taking it for read.
    pub(super) fn peek(&self, word: &str) -> Option<&'a Json> {
        self.words.get(word)
    }

    pub(super) fn text(&self, word: &str) -> Result<Option<&'a str>, SceneError> {
        let as_text = |value: &'a Json| value.as_str().ok_or_else(|| wrong(word, "a text", value));
        self.get(word).map(as_text).transpose()
    }

    pub(super) fn text_or(&self, word: &str, or: &str) -> Result<String, SceneError> {
        Ok(self.text(word)?.unwrap_or(or).to_owned())
    }

    pub(super) fn flag(&self, word: &str) -> Result<Option<bool>, SceneError> {
        let as_flag = |value: &Json| {
            value
                .as_bool()
                .ok_or_else(|| wrong(word, "true or false", value))
        };
        self.get(word).map(as_flag).transpose()
    }

    pub(super) fn number_or(&self, word: &str, or: u64) -> Result<u64, SceneError> {
        let as_number = |value: &Json| {
            value
                .as_u64()
                .ok_or_else(|| wrong(word, "a whole number", value))
        };
        self.get(word).map_or(Ok(or), as_number)
    }

    pub(super) fn texts(&self, word: &str) -> Result<Vec<String>, SceneError> {
        let Some(value) = self.get(word) else {
            return Ok(Vec::new());
        };
        let list = value
            .as_array()
            .ok_or_else(|| wrong(word, "a list of texts", value))?;
        let text = |item: &Json| {
            let text = item.as_str().map(str::to_owned);
            text.ok_or_else(|| wrong(word, "a list of texts", value))
        };
        list.iter().map(text).collect()
    }

    /// A word of a closed vocabulary, in the form that serde reads.
    pub(super) fn word_or<T: serde::de::DeserializeOwned>(
        &self,
        word: &str,
        or: T,
    ) -> Result<T, SceneError> {
        let Some(value) = self.get(word) else {
            return Ok(or);
        };
        serde_json::from_value(value.clone())
            .map_err(|error| SceneError::new(format!("`{word}`: {error}")))
    }

    /// Refuses words that nothing has read.
    pub(super) fn all_read(&self, of: &str, known: &[String]) -> Result<(), SceneError> {
        let read = self.read.borrow();
        let Some(unread) = self.words.keys().find(|word| !read.contains(*word)) else {
            return Ok(());
        };
        let near = known.iter().max_by_key(|name| alike(name, unread));
        let near = near.filter(|name| alike(name, unread) * 2 > unread.len());
        let hint = near.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        Err(SceneError::new(format!("{of} has no `{unread}`{hint}")))
    }
}

pub(super) fn wrong(word: &str, want: &str, is: &Json) -> SceneError {
    SceneError::new(format!("`{word}` is {want}, not `{is}`"))
}

/// How many letters two words share, in order.
fn alike(one: &str, two: &str) -> usize {
    let (mut rest, mut shared) = (two, 0);
    for c in one.chars() {
        if let Some((_, after)) = rest.split_once(c) {
            rest = after;
            shared += 1;
        }
    }
    shared
}
