//! The forms, and how a record is written in each.

use std::str::FromStr;

use serde_json::Value;

use crate::audit::json::write_line;
use crate::audit::record::Record;

use super::{cloudevents, csv, ocsf, otel};

/// A form for other systems. Each record becomes one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// OCSF 1.4: API Activity for decisions and outcomes, with the profile `security_control`; other
    /// records are base events.
    Ocsf,
    /// OpenTelemetry logs as OTLP/JSON, one request a line, as a collector's file receiver reads them.
    Otel,
    /// CloudEvents 1.0 in the JSON form.
    CloudEvents,
    /// RFC 4180, with a line of names first.
    Csv,
}

impl Format {
    /// Every form with its word on the command line.
    pub const ALL: [(&'static str, Self); 4] = [
        ("ocsf", Self::Ocsf),
        ("otel", Self::Otel),
        ("cloudevents", Self::CloudEvents),
        ("csv", Self::Csv),
    ];

    /// The line before all records, if the form has one; without a line end.
    #[must_use]
    pub fn head(self) -> Option<String> {
        (self == Self::Csv).then(csv::head)
    }

    /// A record as one line, without a line end.
    #[must_use]
    pub fn line(self, record: &Record) -> String {
        match self {
            Self::Ocsf => text(&ocsf::event(record)),
            Self::Otel => text(&otel::logs(record)),
            Self::CloudEvents => text(&cloudevents::event(record)),
            Self::Csv => csv::line(record),
        }
    }
}

/// One line in which no character hides, as in the log itself.
pub(super) fn text(value: &Value) -> String {
    let mut line = Vec::new();
    // Writing JSON values to memory does not fail.
    let _infallible = write_line(&mut line, value);
    String::from_utf8(line).unwrap_or_default()
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(word, _)| *word == text);
        found.map(|(_, format)| *format).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.iter().map(|(word, _)| *word).collect();
            format!("the formats are {}", words.join(", "))
        })
    }
}
