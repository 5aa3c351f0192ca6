//! Fetches one file from one address that the organisation pinned. Knows neither policy nor bundles.

mod fetch;

pub(crate) use fetch::{Source, fetch};
