//! One tool in use, with its schemas compiled the first time they are needed.

use std::sync::OnceLock;

use crate::protocol::json::Json;
use crate::protocol::schema::{ResultCheck, Schema};
use crate::protocol::tools::OfferedTool;

use super::reply;

/// A tool in use.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) offered: OfferedTool,
    input: OnceLock<Schema>,
    output: OnceLock<Option<Schema>>,
}

impl Tool {
    /// A tool as offered.
    pub(crate) fn new(offered: OfferedTool) -> Self {
        Self {
            offered,
            input: OnceLock::new(),
            output: OnceLock::new(),
        }
    }

    /// Its true name.
    pub(crate) fn name(&self) -> &str {
        &self.offered.name
    }

    /// Whether arguments fit its input schema: a fact for policy.
    pub(crate) fn takes(&self, arguments: &Json) -> bool {
        let schema = || Schema::compile(self.offered.input_schema().unwrap_or(&Json::Null));
        self.input.get_or_init(schema).check(arguments).is_valid()
    }

    /// What the check of a cleaned result against its output schema says. The schema is the cleaned
    /// one too, which is what the client was given and checks against.
    pub(crate) fn check_result(&self, result: &Json) -> ResultCheck {
        let schema = || {
            let mut schema = self.offered.output_schema()?.clone();
            reply::clean_strings(&mut schema);
            Some(Schema::compile(&schema))
        };
        match self.output.get_or_init(schema) {
            Some(schema) => schema.check_result(result),
            None => ResultCheck::Pass,
        }
    }
}
