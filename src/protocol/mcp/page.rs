//! One page of `tools/list`.

use std::fmt;

use crate::protocol::json::Json;

/// A page: raw items and the way to the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolsPage {
    /// The items, as they came.
    pub(crate) items: Vec<Json>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// The result is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageError {
    /// `tools` is not an array.
    Tools,
    /// `nextCursor` is not a string.
    Cursor,
}

impl ToolsPage {
    /// Reads a result.
    ///
    /// # Errors
    /// What is no page.
    pub(crate) fn from_result(result: Json) -> Result<Self, PageError> {
        let Json::Object(mut result) = result else {
            return Err(PageError::Tools);
        };
        let Some(Json::Array(items)) = result.remove("tools") else {
            return Err(PageError::Tools);
        };
        let next = match result.remove("nextCursor") {
            None | Some(Json::Null) => None,
            Some(Json::String(cursor)) => Some(cursor),
            Some(_) => return Err(PageError::Cursor),
        };
        Ok(Self { items, next })
    }
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tools => "`tools` is not an array",
            Self::Cursor => "`nextCursor` is not a string",
        })
    }
}

impl std::error::Error for PageError {}
