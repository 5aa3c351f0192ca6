//! Which log, and which of its records.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use creance::{
    AuditError, AuditLog, Error, ErrorKind, Filter, Follow, OutcomeKind, Record, Workspace,
};

use crate::cli::out;

/// Which log.
#[derive(Debug, Args)]
pub(crate) struct File {
    /// Another log than this user's
    #[arg(long, global = true, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl File {
    /// The log's file.
    pub(crate) fn path(&self) -> Result<PathBuf, Error> {
        match &self.file {
            Some(file) => Ok(file.clone()),
            None => Ok(Workspace::open()?.audit_log()),
        }
    }

    /// The same, when there is such a log: a name that is mistyped must not become one.
    pub(crate) fn existing(&self) -> Result<PathBuf, Error> {
        let path = self.path()?;
        let known =
            path.symlink_metadata().is_ok() || AuditLog::keys(&path).map_err(failed)?.id.is_some();
        if known {
            return Ok(path);
        }
        let what = if self.is_own() {
            "nothing is on record yet: the log is made with the first decision"
        } else {
            "there is no such audit log"
        };
        let text = format!("`{}`: {what}", path.display());
        Err(Error::message(ErrorKind::Audit, &text))
    }

    /// Whether it is this user's own.
    pub(crate) fn is_own(&self) -> bool {
        self.file.is_none()
    }
}

/// Which records.
#[derive(Debug, Args)]
pub(crate) struct Which {
    #[command(flatten)]
    pub(crate) file: File,
    /// Only the last N records
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Not older than this (`90s`, `2h`, `3d`, `2026-11-30`, `2026-11-30T12:00:00Z`)
    #[arg(long, value_name = "TIME")]
    since: Option<When>,
    /// Older than this
    #[arg(long, value_name = "TIME")]
    until: Option<When>,
    /// Only this action (`tool.call`, `tool.*`)
    #[arg(long)]
    action: Option<String>,
    /// Only this server (`user/files`)
    #[arg(long)]
    server: Option<String>,
    /// Only what this agent or server asked (`claude-code`, `agent/cli`)
    #[arg(long)]
    principal: Option<String>,
    /// Only decisions with this outcome
    #[arg(long, value_parser = ["allow", "deny"])]
    outcome: Option<String>,
    /// Only this run (its id, or the start of it)
    #[arg(long)]
    run: Option<String>,
}

impl Which {
    /// The same as a filter.
    pub(crate) fn filter(&self) -> Filter {
        Filter {
            since_ms: self.since.map(When::ms),
            until_ms: self.until.map(When::ms),
            action: self.action.clone(),
            server: self.server.clone(),
            principal: self.principal.clone(),
            outcome: self.outcome.as_deref().map(|word| match word {
                "allow" => OutcomeKind::Allow,
                _ => OutcomeKind::Deny,
            }),
            run: self.run.clone(),
            last: self.last,
        }
    }

    /// The records that are wanted; what is no record is said.
    pub(crate) fn records(&self) -> Result<Vec<Record>, Error> {
        self.picked(&self.filter())
    }

    fn picked(&self, filter: &Filter) -> Result<Vec<Record>, Error> {
        let (records, unread) = AuditLog::pick(self.file.existing()?, filter).map_err(failed)?;
        if unread > 0 {
            out::note(&format!(
                "{unread} lines are no records of this version; `creance audit verify` says more"
            ));
        }
        Ok(records)
    }

    /// Hands over the records that are wanted, and with `follow` those that are added, for ever.
    pub(crate) async fn each(
        &self,
        follow: Followed,
        mut take: impl FnMut(&Record),
    ) -> Result<(), Error> {
        if follow == Followed::No {
            self.records()?.iter().for_each(&mut take);
            return Ok(());
        }
        // The end comes first: what is added while the rest is read is then followed, and not lost.
        let path = self.file.existing()?;
        let newest = Filter {
            last: Some(1),
            ..Filter::default()
        };
        let (last, _) = AuditLog::pick(&path, &newest).map_err(failed)?;
        let end = last.last().map_or(0, |record| record.seq);
        let filter = Filter {
            last: None,
            ..self.filter()
        };
        let mut records = self.picked(&filter)?;
        records.retain(|record| record.seq <= end);
        // An outcome that is added goes with its decision, which may stand here.
        let mut picker = filter.picker();
        records.retain(|record| picker.wants(record));
        let shown = self.last.unwrap_or(records.len()).min(records.len());
        records
            .iter()
            .skip(records.len() - shown)
            .for_each(&mut take);
        drop(records);
        let mut follow = Follow::after(&path, end);
        loop {
            let added = follow.next_records().map_err(failed)?;
            (added.iter().filter(|record| picker.wants(record))).for_each(&mut take);
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// How often a followed log is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// Whether added records are waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    No,
    Yes,
}

impl From<bool> for Followed {
    fn from(follow: bool) -> Self {
        if follow { Self::Yes } else { Self::No }
    }
}

/// A time: so long ago, or a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Ago(Duration),
    At(SystemTime),
}

impl When {
    fn ms(self) -> i64 {
        let at = match self {
            Self::Ago(ago) => now().checked_sub(ago).unwrap_or(UNIX_EPOCH),
            Self::At(at) => at,
        };
        let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

#[expect(clippy::disallowed_methods, reason = "`--since` counts back from now")]
fn now() -> SystemTime {
    SystemTime::now()
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(ago) = humantime::parse_duration(text) {
            return Ok(Self::Ago(ago));
        }
        humantime::parse_rfc3339_weak(text)
            .or_else(|_| humantime::parse_rfc3339_weak(&format!("{text}T00:00:00")))
            .map(Self::At)
            .map_err(|_| {
                "a time is so long ago (`2h`, `3d`) or a date in UTC (`2026-11-30`, \
                 `2026-11-30T12:00:00Z`)"
                    .to_owned()
            })
    }
}

/// An error of the log as an error of the command.
pub(crate) fn failed(error: AuditError) -> Error {
    Error::message(ErrorKind::Audit, &error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_spans_or_dates() {
        let at = |seconds| When::At(UNIX_EPOCH + Duration::from_secs(seconds));
        let check = |text: &str, want: When| assert_eq!(text.parse(), Ok(want), "{text}");
        check("2h", When::Ago(Duration::from_secs(7200)));
        check("1970-01-02", at(86_400));
        check("1970-01-02T00:00:01Z", at(86_401));
        check("1970-01-02 00:00:01", at(86_401));
        assert!("yesterday".parse::<When>().unwrap_err().contains("3d"));
        assert_eq!(at(1).ms(), 1000);
        assert!(When::Ago(Duration::ZERO).ms() > 1_700_000_000_000);
    }
}
