//! A server's whole list, gathered page by page within hard bounds.

use std::collections::HashSet;
use std::fmt;

use crate::digest::{Digest, DigestBuilder};
use crate::protocol::json::{Json, MESSAGE_MAX};

use super::offered::OfferedTool;

/// The most tools of one server that are listed to a client.
pub(crate) const LISTED_MAX: usize = 100;

/// Over one of these bounds the server is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListBounds {
    /// Most tools.
    pub(crate) tools: usize,
    /// Most pages.
    pub(crate) pages: usize,
    /// Most bytes of all items.
    pub(crate) bytes: usize,
}

impl Default for ListBounds {
    fn default() -> Self {
        Self {
            tools: 10_000,
            pages: 100,
            bytes: MESSAGE_MAX,
        }
    }
}

/// A list over a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListError {
    /// More tools than this.
    Tools(usize),
    /// More pages than this.
    Pages(usize),
    /// More bytes than this.
    Bytes(usize),
    /// A page names itself or an earlier page as the next.
    Circle,
}

/// All tools of one server, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolList {
    tools: Vec<OfferedTool>,
    names: HashSet<String>,
    bounds: ListBounds,
    pages: usize,
    bytes: usize,
}

impl ToolList {
    /// An empty list.
    pub(crate) fn new(bounds: ListBounds) -> Self {
        Self {
            bounds,
            ..Self::default()
        }
    }

    /// Adds the items of one page.
    ///
    /// # Errors
    /// The bound that they break.
    pub(crate) fn add_page(&mut self, items: Vec<Json>) -> Result<(), ListError> {
        self.pages += 1;
        if self.pages > self.bounds.pages {
            return Err(ListError::Pages(self.bounds.pages));
        }
        if self.tools.len() + items.len() > self.bounds.tools {
            return Err(ListError::Tools(self.bounds.tools));
        }
        for item in items {
            self.bytes += item.to_string().len();
            if self.bytes > self.bounds.bytes {
                return Err(ListError::Bytes(self.bounds.bytes));
            }
            self.add(OfferedTool::from_item(item));
        }
        Ok(())
    }

    fn add(&mut self, mut tool: OfferedTool) {
        let fresh = self.names.insert(tool.name.clone());
        if !fresh && tool.problem.is_none() {
            tool.problem = Some("a tool of this name stands earlier in the list".to_owned());
        }
        self.tools.push(tool);
    }

    /// All items, odd ones too, in the server's order.
    #[cfg(test)]
    pub(crate) fn tools(&self) -> &[OfferedTool] {
        &self.tools
    }

    /// The tools that can be offered.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &OfferedTool> {
        self.tools.iter().filter(|tool| tool.problem.is_none())
    }

    /// The odd items.
    pub(crate) fn set_aside(&self) -> impl Iterator<Item = &OfferedTool> {
        self.tools.iter().filter(|tool| tool.problem.is_some())
    }

    /// Digest of the whole list; the order of tools does not count.
    pub(crate) fn digest(&self) -> Digest {
        let mut all: Vec<(&str, Digest)> = self
            .tools
            .iter()
            .map(|tool| (tool.name.as_str(), tool.digest))
            .collect();
        all.sort_unstable();
        let mut builder = DigestBuilder::new("tool-list/1");
        for (name, digest) in all {
            builder.field(name).field(digest.as_bytes());
        }
        builder.finish()
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools(most) => write!(f, "it lists more than {most} tools"),
            Self::Pages(most) => write!(f, "its tool list has more than {most} pages"),
            Self::Bytes(most) => write!(f, "its tool list is larger than {most} bytes"),
            Self::Circle => f.write_str("its tool list leads back to an earlier page"),
        }
    }
}

impl std::error::Error for ListError {}
