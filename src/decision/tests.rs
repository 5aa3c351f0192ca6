//! A permit stands on a record and on the store in force; neither may be missing.

use std::sync::{Arc, Mutex};

use super::{Asking, Decision, DecisionError, DecisionPoint, DenialKind};
use crate::audit::{AuditError, AuditSink, Event, Receipt};
use crate::policy::tests::base;
use crate::request::{Asked, CallTool, DenyAll, MemoryLedger};

/// A log that can be full.
#[derive(Debug, Default)]
struct Log {
    records: Mutex<u64>,
    full: bool,
}

impl AuditSink for Arc<Log> {
    fn append(&self, _event: &Event) -> Result<Receipt, AuditError> {
        if self.full {
            return Err(AuditError {
                what: "the disk is full".to_owned(),
                source: None,
            });
        }
        let mut records = self.records.lock().unwrap();
        *records += 1;
        Ok(Receipt { seq: *records })
    }
}

const ALLOW: &str =
    r#"@id("u") @reason("docs") permit (principal, action == Action::"tool.call", resource);"#;
const FORBID: &str =
    r#"@id("n") @reason("no more") forbid (principal, action == Action::"tool.call", resource);"#;

fn point(policy: &str, log: &Arc<Log>) -> DecisionPoint {
    DecisionPoint::new(
        base::user(policy),
        Arc::new(Arc::clone(log)),
        Arc::new(MemoryLedger::default()),
        Arc::new(DenyAll),
        (|| 0, || Ok("id".to_owned()), "run".to_owned()),
    )
}

async fn decide(point: &DecisionPoint) -> Result<Decision<CallTool>, DecisionError> {
    let mut request = base::call();
    let action = request.call().clone();
    let asking = Asking {
        agent: &request.agent,
        run: &request.run,
    };
    let nothing = |_: &CallTool| Asked {
        title: String::new(),
        details: Vec::new(),
        warnings: Vec::new(),
        complete: true,
    };
    point.decide(asking, action, nothing).await
}

#[tokio::test]
async fn no_permit_without_its_record() {
    let log = Arc::new(Log::default());
    let whole = point(ALLOW, &log);
    let Decision::Allow(permit) = decide(&whole).await.unwrap() else {
        panic!("the policy allows it");
    };
    let seq = permit.into_parts().1;
    assert!(seq > 0 && seq == *log.records.lock().unwrap());
    let full = Arc::new(Log {
        full: true,
        ..Log::default()
    });
    let decided = decide(&point(ALLOW, &full)).await;
    assert!(
        matches!(decided, Err(DecisionError::Audit(_))),
        "{decided:?}"
    );
    // A refusal that cannot be recorded is no decision either.
    let decided = decide(&point(FORBID, &full)).await;
    assert!(
        matches!(decided, Err(DecisionError::Audit(_))),
        "{decided:?}"
    );
}

/// A permit outlives a reload only if the new store would give it too.
#[tokio::test]
async fn a_reload_can_void_a_permit() {
    let log = Arc::new(Log::default());
    for (after, holds) in [
        (ALLOW.to_owned(), true),
        (format!("// moved\n{ALLOW}"), true),
        (format!("{ALLOW}\n{FORBID}"), false),
        (FORBID.to_owned(), false),
    ] {
        let point = point(ALLOW, &log);
        let Decision::Allow(permit) = decide(&point).await.unwrap() else {
            panic!("the policy allows it");
        };
        point.replace_store(base::user(&after));
        match point.redeem(permit) {
            Ok(_) => assert!(holds, "{after}"),
            Err(denial) => assert!(!holds && denial.kind() == DenialKind::Void, "{after}"),
        }
    }
}
