//! From a tool's own JSON schema to the types of its arguments. A type need not say all that the schema
//! says: a call whose arguments do not fit is refused, so whatever is read here is safe. What no type of
//! Cedar holds is left out, with the reason.

use serde_json::{Map, Value as Json};

use super::input::{Input, InputField, InputKind};

/// Records and lists in each other, at most.
const DEEPEST: usize = 8;
/// Parts of one schema that are looked at, references followed.
const MOST_PARTS: usize = 1_000;

/// Reads the input schema of a tool.
///
/// # Errors
/// When it is not the schema of an object.
pub(super) fn input_of(schema: &Json) -> Result<Input, String> {
    let mut reader = Reader {
        root: schema,
        parts: 0,
    };
    match reader.read(schema, Way::default()).kind {
        InputKind::Record { attributes } => Ok(attributes),
        // Without properties of its own a tool takes no arguments.
        _ if is_bare(schema) => Ok(Input::new()),
        InputKind::Omitted { why } => Err(format!("its arguments cannot be typed: {why}")),
        _ => Err("its input schema is not that of an object".to_owned()),
    }
}

fn is_bare(schema: &Json) -> bool {
    schema.get("type").and_then(Json::as_str) == Some("object")
        && !schema.get("properties").is_some_and(has_members)
        && SEVERAL.iter().all(|word| schema.get(word).is_none())
}

fn has_members(of: &Json) -> bool {
    of.as_object().is_some_and(|members| !members.is_empty())
}

/// Words that combine several schemas.
const SEVERAL: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// What a part of a schema says.
struct Read {
    kind: InputKind,
    nullable: bool,
}

impl Read {
    fn of(kind: InputKind) -> Self {
        Self {
            kind,
            nullable: false,
        }
    }

    fn omitted(why: impl Into<String>) -> Self {
        Self::of(InputKind::omitted(why))
    }
}

/// How a part was come to.
#[derive(Clone, Default)]
struct Way<'a> {
    depth: usize,
    /// The references on the way; the whole schema is the first.
    refs: Vec<&'a str>,
}

impl<'a> Way<'a> {
    fn deeper(&self) -> Self {
        Self {
            depth: self.depth + 1,
            refs: self.refs.clone(),
        }
    }

    fn through(&self, reference: &'a str) -> Self {
        let mut way = self.clone();
        way.refs.push(reference);
        way
    }
}

struct Reader<'a> {
    root: &'a Json,
    parts: usize,
}

impl<'a> Reader<'a> {
    fn read(&mut self, schema: &'a Json, way: Way<'a>) -> Read {
        self.parts += 1;
        if self.parts > MOST_PARTS {
            return Read::omitted(format!("the schema has more than {MOST_PARTS} parts"));
        }
        if way.depth > DEEPEST {
            return Read::omitted(format!("it is nested deeper than {DEEPEST} levels"));
        }
        let members = match schema {
            Json::Bool(true) => return Read::omitted(ANYTHING),
            Json::Bool(false) => return Read::omitted("nothing fits its schema"),
            Json::Object(members) => members,
            _ => return Read::omitted("its schema is none"),
        };
        if let Some(reference) = members.get("$ref") {
            return self.reference(reference, members, &way);
        }
        if members.contains_key("$dynamicRef") || members.contains_key("$recursiveRef") {
            return Read::omitted("its reference is only known with the value");
        }
        let mut read = match types(members) {
            Types::None => self.untyped(members, &way),
            Types::One(name) => self.named(name, members, &way),
            Types::Several => Read::omitted(SEVERAL_TYPES),
            Types::NullAlone => Read::omitted("it is always null"),
        };
        read.nullable |= takes_null(members);
        read
    }

    fn reference(
        &mut self,
        reference: &'a Json,
        members: &'a Map<String, Json>,
        way: &Way<'a>,
    ) -> Read {
        if members.keys().any(|word| SHAPING.contains(&word.as_str())) {
            return Read::omitted("its reference has other rules beside it");
        }
        let Some(reference) = reference.as_str() else {
            return Read::omitted("its reference is none");
        };
        let Some(pointer) = reference.strip_prefix('#') else {
            return Read::omitted("it refers to another document");
        };
        if pointer.is_empty() || way.refs.contains(&reference) {
            return Read::omitted("it refers to itself");
        }
        match self.root.pointer(pointer) {
            Some(target) => self.read(target, way.through(reference)),
            None => Read::omitted("it refers to what the schema does not hold"),
        }
    }

    /// A schema without `type`.
    fn untyped(&mut self, members: &'a Map<String, Json>, way: &Way<'a>) -> Read {
        if members.get("properties").is_some_and(Json::is_object) {
            return Read::of(self.object(members, way));
        }
        if members.contains_key("items") {
            return Read::of(self.list(members, way));
        }
        if let Some(value) = members.get("const") {
            return of_values(std::slice::from_ref(value));
        }
        if let Some(values) = members.get("enum").and_then(Json::as_array) {
            return of_values(values);
        }
        let several = SEVERAL.into_iter().find_map(|word| {
            let parts = members.get(word)?.as_array()?;
            Some((word, parts))
        });
        match several {
            Some(("allOf", parts)) => match parts.as_slice() {
                [one] => self.read(one, way.clone()),
                _ => Read::omitted("it has to fit several schemas at once"),
            },
            Some((_, parts)) => self.one_of(parts, way),
            None => Read::omitted(ANYTHING),
        }
    }

    /// One of several: typed when all of them but `null` are of one type.
    fn one_of(&mut self, parts: &'a [Json], way: &Way<'a>) -> Read {
        let is_null = |part: &&Json| {
            let null = Json::from("null");
            part.get("type") == Some(&null) || part.get("const") == Some(&Json::Null)
        };
        let nullable = parts.iter().any(|part| is_null(&part));
        let rest = parts.iter().filter(|part| !is_null(part));
        let mut all: Vec<Read> = rest.map(|part| self.read(part, way.clone())).collect();
        let nullable = nullable || all.iter().any(|read| read.nullable);
        let Some(first) = all.pop() else {
            return Read::omitted("it is always null");
        };
        let alike = all.iter().all(|other| other.kind == first.kind);
        let numbers = is_number(&first.kind) && all.iter().all(|other| is_number(&other.kind));
        let kind = if alike {
            first.kind
        } else if numbers {
            InputKind::Decimal
        } else {
            InputKind::omitted(SEVERAL_TYPES)
        };
        Read { kind, nullable }
    }

    fn named(&mut self, name: &str, members: &'a Map<String, Json>, way: &Way<'a>) -> Read {
        Read::of(match name {
            "string" => InputKind::String,
            "integer" => InputKind::Long,
            "number" => InputKind::Decimal,
            "boolean" => InputKind::Bool,
            "array" => self.list(members, way),
            "object" => self.object(members, way),
            _ => InputKind::omitted("its type is none that JSON has"),
        })
    }

    fn list(&mut self, members: &'a Map<String, Json>, way: &Way<'a>) -> InputKind {
        let items = match members.get("items") {
            _ if members.contains_key("prefixItems") => None,
            Some(Json::Array(_)) => None,
            Some(items) => Some(items),
            None => return InputKind::omitted("its items may be anything"),
        };
        let Some(items) = items else {
            return InputKind::omitted("each of its items is of a type of its own");
        };
        let read = self.read(items, way.deeper());
        match read.kind {
            InputKind::Omitted { why } => InputKind::omitted(format!("of its items: {why}")),
            _ if read.nullable => InputKind::omitted("its items may be null"),
            element => InputKind::Set {
                element: Box::new(element),
            },
        }
    }

    fn object(&mut self, members: &'a Map<String, Json>, way: &Way<'a>) -> InputKind {
        let properties = members.get("properties").and_then(Json::as_object);
        let closed = members.get("additionalProperties") == Some(&Json::Bool(false));
        if !closed && properties.is_none_or(Map::is_empty) {
            return InputKind::omitted("the names of its members are not known");
        }
        let required = members.get("required").and_then(Json::as_array);
        let required: Vec<&str> = required
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let mut attributes = Input::new();
        for (name, schema) in properties.into_iter().flatten() {
            // What may never be given is not among what may be given.
            if *schema == Json::Bool(false) {
                continue;
            }
            let read = self.read(schema, way.deeper());
            let field = InputField {
                kind: read.kind,
                optional: !required.contains(&name.as_str()),
                nullable: read.nullable,
            };
            attributes.insert(name.clone(), field);
        }
        for name in required {
            let anything = || InputField {
                kind: InputKind::omitted(ANYTHING),
                optional: false,
                nullable: true,
            };
            attributes.entry(name.to_owned()).or_insert_with(anything);
        }
        InputKind::Record { attributes }
    }
}

const ANYTHING: &str = "it may be anything";
const SEVERAL_TYPES: &str = "it may be of several types";

/// Words that shape a value, and do not only describe it.
const SHAPING: &[&str] = &[
    "type",
    "properties",
    "items",
    "prefixItems",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
];

fn is_number(kind: &InputKind) -> bool {
    matches!(kind, InputKind::Long | InputKind::Decimal)
}

enum Types<'a> {
    None,
    One(&'a str),
    Several,
    NullAlone,
}

/// The types that a schema names, without `null`.
fn types(members: &Map<String, Json>) -> Types<'_> {
    let named: Vec<&str> = match members.get("type") {
        None => return Types::None,
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        Some(_) => return Types::Several,
    };
    let rest: Vec<&str> = named.into_iter().filter(|name| *name != "null").collect();
    match rest.as_slice() {
        [] => Types::NullAlone,
        [one] => Types::One(one),
        ["integer", "number"] | ["number", "integer"] => Types::One("number"),
        _ => Types::Several,
    }
}

/// Whether `null` is among what a schema names.
fn takes_null(members: &Map<String, Json>) -> bool {
    let named = |word: &str, null: &Json| match members.get(word) {
        Some(Json::Array(several)) => several.contains(null),
        _ => false,
    };
    named("type", &Json::from("null"))
        || named("enum", &Json::Null)
        || members.get("nullable") == Some(&Json::Bool(true))
}

/// The type of values that a schema lists.
fn of_values(values: &[Json]) -> Read {
    let mut values = values.iter().filter(|value| !value.is_null());
    let kind = |value: &Json| match value {
        Json::String(_) => InputKind::String,
        Json::Bool(_) => InputKind::Bool,
        Json::Number(number) if number.is_i64() => InputKind::Long,
        _ => InputKind::omitted("its values are no plain words or numbers"),
    };
    let Some(first) = values.next().map(kind) else {
        return Read::omitted("it is always null");
    };
    let alike = values.all(|value| kind(value) == first);
    Read::of(if alike {
        first
    } else {
        InputKind::omitted(SEVERAL_TYPES)
    })
}

#[cfg(test)]
#[path = "tests/read.rs"]
mod tests;
