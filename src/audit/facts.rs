//! What a decision was judged by, as it goes on record. Parts that are the same from record to record
//! are shared: they are made, and masked, once.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// JSON of what a decision was judged by: a list with one member for each query. Equal and written
/// as the JSON that [`Facts::value`] gives.
#[derive(Clone, Debug)]
pub struct Facts(Form);

#[derive(Clone, Debug)]
enum Form {
    Whole(Value),
    Shared(Arc<Value>),
    Members(Vec<(&'static str, Facts)>),
    List(Vec<Facts>),
}

impl Facts {
    /// A value that other records hold, too.
    pub(crate) fn shared(value: Arc<Value>) -> Self {
        Self(Form::Shared(value))
    }

    /// An object, in this order.
    pub(crate) fn members(members: Vec<(&'static str, Self)>) -> Self {
        Self(Form::Members(members))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self(Form::List(items))
    }

    /// As one value.
    #[must_use]
    pub fn value(&self) -> Cow<'_, Value> {
        match &self.0 {
            Form::Whole(value) => Cow::Borrowed(value),
            Form::Shared(value) => Cow::Borrowed(value),
            Form::Members(members) => {
                let whole = |(name, part): &(&str, Self)| ((*name).to_owned(), part.owned());
                Cow::Owned(Value::Object(members.iter().map(whole).collect()))
            }
            Form::List(items) => Cow::Owned(Value::Array(items.iter().map(Self::owned).collect())),
        }
    }

    fn owned(&self) -> Value {
        self.value().into_owned()
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value().fmt(f)
    }
}

impl From<Value> for Facts {
    fn from(value: Value) -> Self {
        Self(Form::Whole(value))
    }
}

impl PartialEq for Facts {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Form::Whole(value) => value.serialize(serializer),
            Form::Shared(value) => value.serialize(serializer),
            Form::Members(members) => {
                serializer.collect_map(members.iter().map(|(name, part)| (name, part)))
            }
            Form::List(items) => serializer.collect_seq(items),
        }
    }
}

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_written_and_compared_as_one_value() {
        let parts = Facts::list(vec![Facts::members(vec![
            ("b", Facts::shared(Arc::new(json!({ "x": [1, null] })))),
            ("a", Facts::from(json!("é"))),
        ])]);
        let whole = json!([{ "b": { "x": [1, null] }, "a": "é" }]);
        assert_eq!(*parts.value(), whole);
        assert_eq!(serde_json::to_string(&parts).unwrap(), whole.to_string());
        assert_eq!(parts, Facts::from(whole.clone()));
        assert_ne!(parts, Facts::from(json!([])));
        let read: Facts = serde_json::from_value(whole).unwrap();
        assert_eq!(read, parts);
    }
}
