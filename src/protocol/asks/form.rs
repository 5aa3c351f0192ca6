//! `elicitation/create` in form mode: what a server wants a person to fill in.

use crate::clean;
use crate::digest::Digest;
use crate::protocol::json::{Json, Object};
use crate::protocol::schema::Schema;

use super::refused::Refused;
use super::shape;
use super::voice::quoted;
use super::wording::speaks_of_secrets;

/// The longest message, in bytes.
pub(super) const MESSAGE_MAX: usize = 4 * 1024;

/// A form that may be put to a person.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// The server's words, as they came.
    message: String,
    /// Flat, its shown words cleaned.
    schema: Object,
    /// All other members.
    rest: Object,
    digest: Digest,
}

/// What a person made of a form or a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Accept,
    Decline,
    Cancel,
}

impl Reply {
    /// The word on the wire.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Decline => "decline",
            Self::Cancel => "cancel",
        }
    }

    /// What a client answered.
    pub(crate) fn read(result: &Json) -> Result<Self, Refused> {
        match result.get("action").and_then(Json::as_str) {
            Some("accept") => Ok(Self::Accept),
            Some("decline") => Ok(Self::Decline),
            Some("cancel") => Ok(Self::Cancel),
            _ => Err(Refused::new("the client's answer has no usable `action`")),
        }
    }

    /// The answer without a client's.
    pub(crate) fn to_result(self) -> Json {
        Json::object([("action", Json::from(self.word()))])
    }
}

/// Takes the message out of parameters.
pub(super) fn message(params: &mut Object) -> Result<String, Refused> {
    let Some(Json::String(message)) = params.remove("message") else {
        return Err(Refused::new("`message` must be a string"));
    };
    if message.len() > MESSAGE_MAX {
        let size = message.len();
        let why = format!("the message has {size} bytes, at most {MESSAGE_MAX}");
        return Err(Refused::new(why));
    }
    Ok(message)
}

impl Form {
    /// Reads the parameters of `elicitation/create` in form mode.
    ///
    /// # Errors
    /// Why it is no form that can be shown.
    pub(crate) fn read(mut params: Object) -> Result<Self, Refused> {
        let digest = Digest::of(Json::Object(params.clone()).to_string());
        let message = message(&mut params)?;
        let Some(Json::Object(schema)) = params.remove("requestedSchema") else {
            return Err(Refused::new("`requestedSchema` must be an object"));
        };
        let schema = shape::flat(schema)?;
        // Tasks of a client's are not offered.
        params.remove("task");
        Ok(Self {
            message,
            schema,
            rest: params,
            digest,
        })
    }

    /// The names of its fields.
    pub(crate) fn fields(&self) -> Vec<String> {
        self.properties().map(|(name, _)| name.to_owned()).collect()
    }

    fn properties(&self) -> impl Iterator<Item = (&str, &Json)> {
        let properties = self.schema.get("properties").and_then(Json::as_object);
        properties.into_iter().flat_map(Object::iter)
    }

    /// What of it seems to ask for a credential, where something does.
    pub(crate) fn asks_for_a_secret(&self) -> Option<String> {
        let root = Json::Object(self.schema.clone());
        if speaks_of_secrets(&self.message) || is_wording(&root) {
            return Some("its words".to_owned());
        }
        let mut fields = self.properties();
        let found = fields.find(|(name, field)| is_secret(name, field));
        found.map(|(name, _)| format!("the field `{name}`"))
    }

    /// What "the same form" means.
    pub(crate) fn digest(&self) -> Digest {
        self.digest
    }

    /// The server's words, for the record.
    pub(crate) fn message(&self) -> String {
        clean::person(&self.message).text
    }

    /// The parameters for the client: the words named as the server's.
    pub(crate) fn shown(&self, server: &str) -> Object {
        let what = "asks you to fill in this form";
        let mut params = self.rest.clone();
        params.insert("message", quoted(server, what, &[], &self.message).into());
        params.insert("requestedSchema", self.schema.clone().into());
        params
    }

    /// Checks what a client answered.
    ///
    /// # Errors
    /// Why it is no answer to this form; without a value of it.
    pub(crate) fn check(&self, result: &Json) -> Result<Reply, Refused> {
        let reply = Reply::read(result)?;
        if reply != Reply::Accept {
            return Ok(reply);
        }
        let Some(Json::Object(content)) = result.get("content") else {
            return Err(Refused::new("the client's answer has no `content`"));
        };
        let known = |name: &str| self.properties().any(|(field, _)| field == name);
        if content.iter().any(|(name, _)| !known(name)) {
            let why = "the client's answer has a field that the form does not have";
            return Err(Refused::new(why));
        }
        let schema = Schema::compile(&Json::Object(self.schema.clone()));
        let fit = schema.check(&Json::Object(content.clone()));
        match fit.is_valid() {
            true => Ok(reply),
            false => Err(Refused::new("the client's answer does not fit the form")),
        }
    }
}

fn is_wording(schema: &Json) -> bool {
    let words = ["title", "description"];
    let text = |key: &&str| schema.get(key).and_then(Json::as_str);
    words.iter().filter_map(text).any(speaks_of_secrets)
}

/// By its name, its words, or what it says about itself.
fn is_secret(name: &str, field: &Json) -> bool {
    let password = field.get("format").and_then(Json::as_str);
    let password = password.is_some_and(|format| format.eq_ignore_ascii_case("password"));
    let write_only = field.get("writeOnly").and_then(Json::as_bool) == Some(true);
    // A truth holds no secret: "Rotate the password?"
    let holds = field.get("type").and_then(Json::as_str) != Some("boolean");
    let title = field
        .get("title")
        .and_then(Json::as_str)
        .unwrap_or_default();
    let named = [name, title].iter().any(|name| clean::is_secret_key(name));
    password || write_only || (holds && (named || speaks_of_secrets(name) || is_wording(field)))
}
