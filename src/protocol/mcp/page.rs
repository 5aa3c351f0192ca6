//! Lists that come in pages: tools, prompts, resources and their templates.

use std::collections::HashSet;
use std::fmt;

use crate::protocol::json::{Json, MESSAGE_MAX};

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Listing {
    /// Tools.
    Tools,
    /// Prompts.
    Prompts,
    /// Resources.
    Resources,
    /// Templates of resources.
    Templates,
}

/// A page: raw items and the way to the next page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The items, as they came.
    pub(crate) items: Vec<Json>,
    /// The cursor of the next page.
    pub(crate) next: Option<String>,
}

/// The result is no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageError {
    /// The member of this name is not an array.
    Items(&'static str),
    /// `nextCursor` is not a string.
    Cursor,
}

impl Listing {
    /// The request.
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// The member of the result that holds the items.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// The member of an item that names it.
    pub(crate) fn name_key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// The capability of a server that offers it.
    pub(crate) fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// In words, for people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resource templates",
        }
    }
}

impl Page {
    /// Reads a result.
    ///
    /// # Errors
    /// What is no page.
    pub(crate) fn from_result(listing: Listing, result: Json) -> Result<Self, PageError> {
        let key = listing.key();
        let Json::Object(mut result) = result else {
            return Err(PageError::Items(key));
        };
        let Some(Json::Array(items)) = result.remove(key) else {
            return Err(PageError::Items(key));
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
        match self {
            Self::Items(key) => write!(f, "`{key}` is not an array"),
            Self::Cursor => f.write_str("`nextCursor` is not a string"),
        }
    }
}

impl std::error::Error for PageError {}

/// The pages of one list, gathered within hard bounds: over one of them the server is refused.
#[derive(Debug)]
pub(crate) struct Pages {
    listing: Listing,
    items: Vec<Json>,
    names: HashSet<String>,
    cursors: HashSet<String>,
    pages: usize,
    bytes: usize,
}

impl Pages {
    /// None yet.
    pub(crate) fn new(listing: Listing) -> Self {
        Self {
            listing,
            items: Vec::new(),
            names: HashSet::new(),
            cursors: HashSet::new(),
            pages: 0,
            bytes: 0,
        }
    }

    /// Adds a page; the cursor of the next. Items without a name, and those whose name came before,
    /// are set aside.
    ///
    /// # Errors
    /// The bound that is broken, in words.
    pub(crate) fn add(&mut self, page: Page) -> Result<Option<String>, String> {
        let words = self.listing.words();
        self.pages += 1;
        if self.pages > PAGES_MAX {
            return Err(format!(
                "its list of {words} has more than {PAGES_MAX} pages"
            ));
        }
        if self.items.len() + page.items.len() > ITEMS_MAX {
            return Err(format!("it lists more than {ITEMS_MAX} {words}"));
        }
        for item in page.items {
            self.bytes += item.to_string().len();
            if self.bytes > MESSAGE_MAX {
                return Err(format!(
                    "its list of {words} is larger than {MESSAGE_MAX} bytes"
                ));
            }
            let name = item.get(self.listing.name_key()).and_then(Json::as_str);
            let name = name.filter(|name| !name.is_empty() && name.len() <= NAME_MAX);
            if name.is_some_and(|name| self.names.insert(name.to_owned())) {
                self.items.push(item);
            }
        }
        match page.next {
            Some(next) if !self.cursors.insert(next.clone()) => {
                Err(format!("its list of {words} leads back to an earlier page"))
            }
            next => Ok(next),
        }
    }

    /// The items of all pages.
    pub(crate) fn into_items(self) -> Vec<Json> {
        self.items
    }
}

const ITEMS_MAX: usize = 10_000;
const PAGES_MAX: usize = 100;
/// Longer names and addresses are set aside.
const NAME_MAX: usize = 4_096;
