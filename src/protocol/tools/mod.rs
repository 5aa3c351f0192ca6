//! A server's tools: read from its list one by one, so that an odd one costs only itself, with
//! digests over their raw content that pins hold.

mod diff;
mod list;
mod offered;
mod params;

pub(crate) use diff::ToolsDiff;
pub(crate) use list::{LISTED_MAX, ListBounds, ListError, ToolList};
pub(crate) use offered::OfferedTool;
#[cfg(feature = "http")]
pub(crate) use params::ParamField;
pub(crate) use params::param_fields;

#[cfg(test)]
mod tests;
