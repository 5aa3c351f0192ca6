//! The records of one run: each carries the run's id, and an orderly end is on record.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::audit::{AuditError, AuditSink, Event, EventKind, Receipt};

use super::point::Clock;

/// The note that ends a run: without it, nobody knows whether the run goes on or was killed.
const STOP: &str = "run-stop";

/// Writes the records of one run. Dropping it ends the run, if it was not ended before.
pub(super) struct RunLog {
    sink: Arc<dyn AuditSink>,
    clock: Clock,
    run: String,
    /// Whether something is on record that wants an end.
    open: AtomicBool,
    unwritten: Mutex<Unwritten>,
}

/// Records that could not be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unwritten {
    /// How many there were in this run.
    pub(crate) count: u64,
    /// Why the last one was not written; `None` once one was again.
    pub(crate) why: Option<String>,
}

impl RunLog {
    pub(super) fn new(sink: Arc<dyn AuditSink>, clock: Clock, run: String) -> Self {
        Self {
            sink,
            clock,
            run,
            open: AtomicBool::new(false),
            unwritten: Mutex::default(),
        }
    }

    /// Now, in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> i64 {
        (self.clock)()
    }

    /// Writes one record.
    pub(super) fn note(&self, kind: EventKind) -> Result<Receipt, AuditError> {
        let written = self.sink.append(&Event {
            at_ms: self.now_ms(),
            run: self.run.clone(),
            kind,
        });
        self.keep_count(written.as_ref().err());
        let receipt = written?;
        self.open.store(true, Ordering::SeqCst);
        Ok(receipt)
    }

    /// The records that could not be written.
    pub(super) fn unwritten(&self) -> Unwritten {
        self.lock_unwritten().clone()
    }

    /// Counts what could not be written; each change of that is said once.
    fn keep_count(&self, error: Option<&AuditError>) {
        let mut unwritten = self.lock_unwritten();
        unwritten.count += u64::from(error.is_some());
        let why = error.map(ToString::to_string);
        let before = std::mem::replace(&mut unwritten.why, why);
        match (&before, &unwritten.why) {
            (None, Some(why)) => tracing::error!("nothing is done without its audit record: {why}"),
            (Some(_), None) => tracing::warn!("the audit log can be written again"),
            _ => {}
        }
    }

    fn lock_unwritten(&self) -> MutexGuard<'_, Unwritten> {
        self.unwritten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the end of the run on record, once, and waits until the log is on the disk.
    pub(super) fn end(&self, why: &str) -> Result<(), AuditError> {
        if self.open.swap(false, Ordering::SeqCst) {
            self.sink.append(&Event {
                at_ms: self.now_ms(),
                run: self.run.clone(),
                kind: EventKind::Note {
                    name: STOP.to_owned(),
                    details: details(why),
                },
            })?;
        }
        self.sink.flush()
    }
}

fn details(why: &str) -> Value {
    json!({ "why": why })
}

impl Drop for RunLog {
    fn drop(&mut self) {
        if !*self.open.get_mut() {
            return;
        }
        if let Err(error) = self.end("done") {
            tracing::error!("the end of the run is not on record: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Names(Mutex<Vec<String>>);

    impl AuditSink for Names {
        fn append(&self, event: &Event) -> Result<Receipt, AuditError> {
            let mut names = self.0.lock().unwrap();
            if let EventKind::Note { name, details } = &event.kind {
                names.push(format!("{} {name} {details}", event.run));
            }
            Ok(Receipt {
                seq: names.len() as u64,
            })
        }

        fn flush(&self) -> Result<(), AuditError> {
            self.0.lock().unwrap().push("flush".to_owned());
            Ok(())
        }
    }

    fn check(act: impl FnOnce(RunLog), want: &[&str]) {
        let sink = Arc::new(Names::default());
        act(RunLog::new(
            Arc::clone(&sink) as Arc<dyn AuditSink>,
            || 7,
            "r".to_owned(),
        ));
        assert_eq!(*sink.0.lock().unwrap(), want);
    }

    fn note(log: &RunLog) {
        let (name, details) = ("x".to_owned(), Value::Null);
        log.note(EventKind::Note { name, details }).unwrap();
    }

    #[test]
    fn a_run_that_wrote_something_ends_once() {
        check(drop, &[]);
        check(
            |log| note(&log),
            &["r x null", r#"r run-stop {"why":"done"}"#, "flush"],
        );
        check(
            |log| {
                note(&log);
                log.end("signal").unwrap();
            },
            &["r x null", r#"r run-stop {"why":"signal"}"#, "flush"],
        );
        check(
            |log| {
                note(&log);
                log.end("early").unwrap();
                note(&log);
            },
            &[
                "r x null",
                r#"r run-stop {"why":"early"}"#,
                "flush",
                "r x null",
                r#"r run-stop {"why":"done"}"#,
                "flush",
            ],
        );
    }
}
