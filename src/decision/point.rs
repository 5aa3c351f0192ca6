//! The one place where requests are decided.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::audit::{AuditError, AuditSink, EventKind, OutcomeKind, Receipt};
use crate::policy::{PolicyOutcome, PolicySet, Verdict};
use crate::request::{
    Action, Agent, Answer, Approver, Asked, Entry, Key, Ledger, LedgerError, Query, Question,
    Reply, Run,
};

use super::denial::{Denial, DenialKind};
use super::error::DecisionError;
use super::permit::Permit;
use super::question;
use super::record::{self, Answered};
use super::run_log::{RunLog, Unwritten};
use super::shadow::Shadow;

/// The outcome of a decision. Exhaustive on purpose.
#[must_use]
#[derive(Debug)]
pub enum Decision<A: Action> {
    /// It may be done: spend the permit.
    Allow(Permit<A>),
    /// It may not.
    Deny(Denial),
}

/// Who asks, and in which circumstances.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) agent: &'a Agent,
    pub(crate) run: &'a Run,
}

/// Reads the clock, in milliseconds since the Unix epoch.
pub(crate) type Clock = fn() -> i64;
/// Makes an unguessable id.
pub(crate) type Ids = fn() -> std::io::Result<String>;

/// The mint of permits: policy store, people, pins and answers, and the audit log.
pub(crate) struct DecisionPoint {
    store: RwLock<PolicySet>,
    /// Judged beside the store, and put on record where it differs.
    shadow: Shadow,
    log: RunLog,
    ledger: Arc<dyn Ledger>,
    approver: Arc<dyn Approver>,
    /// Woken when an answer was kept, so that questions it covers are withdrawn.
    answered: Notify,
    ids: Ids,
    /// How long a lasting answer holds.
    kept_for: Duration,
}

/// How long a lasting answer holds, unless it is set.
const KEPT_FOR: Duration = Duration::from_secs(180 * 24 * 60 * 60);

impl fmt::Debug for DecisionPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionPoint")
            .field("store", &self.store().digest())
            .finish_non_exhaustive()
    }
}

/// What a person said, or the entry that made asking needless.
enum Heard {
    Reply(Option<Reply>),
    OnFile(Entry),
}

impl DecisionPoint {
    pub(crate) fn new(
        store: PolicySet,
        audit: Arc<dyn AuditSink>,
        ledger: Arc<dyn Ledger>,
        approver: Arc<dyn Approver>,
        (clock, ids, run_id): (Clock, Ids, String),
    ) -> Self {
        Self {
            store: RwLock::new(store),
            shadow: Shadow::default(),
            log: RunLog::new(audit, clock, run_id),
            ledger,
            approver,
            answered: Notify::new(),
            ids,
            kept_for: KEPT_FOR,
        }
    }

    /// The same, with lasting answers that end after this time.
    pub(crate) fn keeping_for(mut self, time: Duration) -> Self {
        self.kept_for = time;
        self
    }

    /// The store in shadow: it decides nothing, and where it would decide otherwise is recorded.
    pub(crate) fn shadow(&self) -> &Shadow {
        &self.shadow
    }

    /// The policy store in force.
    pub(crate) fn store(&self) -> PolicySet {
        self.store
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Puts another policy store in force.
    pub(crate) fn replace_store(&self, store: PolicySet) {
        *self.store.write().unwrap_or_else(PoisonError::into_inner) = store;
    }

    /// Pins and answers.
    pub(crate) fn ledger(&self) -> &dyn Ledger {
        self.ledger.as_ref()
    }

    /// Whether somebody can be asked now.
    pub(crate) fn attended(&self) -> bool {
        self.approver.attended()
    }

    /// Now, in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.log.now_ms()
    }

    /// Writes one record.
    pub(crate) fn note(&self, kind: EventKind) -> Result<Receipt, AuditError> {
        self.log.note(kind)
    }

    /// The records that could not be written.
    pub(crate) fn unwritten(&self) -> Unwritten {
        self.log.unwritten()
    }

    /// Puts the end of this run on record, and waits until the log is on the disk.
    pub(crate) fn end(&self, why: &str) -> Result<(), AuditError> {
        self.log.end(why)
    }

    /// The verdict on a request without asking, recording or permitting anything: what dry runs,
    /// explanations and the real decision share.
    pub(crate) fn weigh<A: Action>(
        &self,
        asking: Asking<'_>,
        action: &A,
    ) -> Result<(Verdict, Answer), DecisionError> {
        let on_file = self.on_file(&action.keys(asking.agent), asking.run.now_ms)?;
        let on_file = on_file.map_or(Answer::None, |entry| entry.answer);
        let held = on_file.max(action.covered());
        let queries = action.queries(asking.agent, asking.run);
        Ok((self.store().evaluate_all(&queries, held), held))
    }

    /// Whether a person would be asked now.
    pub(crate) fn would_ask<A: Action>(
        &self,
        asking: Asking<'_>,
        action: &A,
    ) -> Result<bool, DecisionError> {
        let (verdict, _) = self.weigh(asking, action)?;
        let asks = matches!(verdict.outcome, PolicyOutcome::Ask(_));
        Ok(asks && self.approver.attended())
    }

    /// Whether what was permitted with this answer would be permitted with it now.
    pub(crate) fn allows<A: Action>(&self, asking: Asking<'_>, action: &A, held: Answer) -> bool {
        let judged = self.judge(asking, action, held);
        judged.verdict.outcome == PolicyOutcome::Allow
    }

    /// Why a request would be denied now, whatever anybody answers; `None` where it would be allowed
    /// or asked about, or cannot be judged.
    pub(crate) fn denied<A: Action>(&self, asking: Asking<'_>, action: &A) -> Option<String> {
        let (verdict, _) = self.weigh(asking, action).ok()?;
        let because = verdict.because.iter();
        let because: Vec<String> = because
            .map(|because| format!("{}: {}", because.policy, because.reason))
            .collect();
        (verdict.outcome == PolicyOutcome::Deny)
            .then(|| format!("denied by the policies in force: {}", because.join("; ")))
    }

    /// Decides a request: policy, then a person where policy says so, then the record, then the
    /// permit. `present` makes what the person sees; it is called only when somebody is asked.
    pub(crate) async fn decide<A: Action>(
        &self,
        asking: Asking<'_>,
        action: A,
        present: impl FnOnce(&A) -> Asked + Send,
    ) -> Result<Decision<A>, DecisionError> {
        let keys = action.keys(asking.agent);
        let on_file = self.on_file(&keys, asking.run.now_ms)?;
        let mut answered = Answered::held(on_file, action.covered());
        let mut judged = self.judge(asking, &action, answered.answer);
        if let PolicyOutcome::Ask(longest) = judged.verdict.outcome {
            if !self.approver.attended() {
                return self.deny(asking, &action, (judged, answered), DenialKind::NobodyToAsk);
            }
            let question = question::build(
                (self.ids)().map_err(DecisionError::Random)?,
                A::NAME,
                present(&action),
                (&judged.verdict, longest),
                (&keys, record::asker(asking.agent, asking.run)),
            );
            match self.hear(asking, &question, &keys).await? {
                Err(kind) => return self.deny(asking, &action, (judged, answered), kind),
                Ok(heard) => answered = heard,
            }
            // Judged again under the store now in force: it may have changed while a person thought.
            judged = self.judge(asking, &action, answered.answer);
        }
        if judged.verdict.outcome != PolicyOutcome::Allow {
            return self.deny(asking, &action, (judged, answered), DenialKind::Policy);
        }
        let held = answered.answer;
        let store = judged.store.digest();
        let receipt = self.write(asking, &action, (judged, answered), OutcomeKind::Allow)?;
        let circumstances = (asking.agent, asking.run);
        let proof = (store, receipt.seq);
        Ok(Decision::Allow(Permit::mint(
            action,
            circumstances,
            held,
            proof,
        )))
    }

    /// Takes a permit out of circulation and gives what it permits, unless a reload made it void.
    pub(crate) fn redeem<A: Action>(&self, permit: Permit<A>) -> Result<(A, u64), Denial> {
        let store = self.store();
        if store.digest() != permit.store() {
            let (agent, run) = permit.circumstances();
            let queries = permit.action().queries(agent, run);
            let verdict = store.evaluate_all(&queries, permit.answer());
            if verdict.outcome != PolicyOutcome::Allow {
                let resource = queries.first().map(record::resource).unwrap_or_default();
                return Err(Denial::new(
                    DenialKind::Void,
                    A::NAME,
                    resource,
                    verdict.because,
                ));
            }
        }
        Ok(permit.into_parts())
    }

    fn on_file(&self, keys: &[Key], now_ms: i64) -> Result<Option<Entry>, LedgerError> {
        self.ledger.answer(keys, now_ms)
    }

    fn judge<A: Action>(&self, asking: Asking<'_>, action: &A, held: Answer) -> Judged {
        let store = self.store();
        let begun = Instant::now();
        let queries = action.queries(asking.agent, asking.run);
        let verdict = store.evaluate_all(&queries, held);
        let judged_us = u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX);
        Judged {
            store,
            verdict,
            judged_us,
        }
    }

    /// Puts the question, unless an answer that covers it is given elsewhere in the meantime.
    async fn hear(
        &self,
        asking: Asking<'_>,
        question: &Question,
        keys: &[Key],
    ) -> Result<Result<Answered, DenialKind>, DecisionError> {
        let reply = match self.wait(asking, question, keys).await? {
            Heard::OnFile(entry) => {
                return Ok(Ok(Answered {
                    answer: entry.answer,
                    channel: Some(entry.channel),
                    asked: false,
                }));
            }
            Heard::Reply(None) => return Ok(Err(DenialKind::NoAnswer)),
            Heard::Reply(Some(reply)) => reply,
        };
        let answer = question::weigh(question, &reply);
        if answer == Answer::None {
            return Ok(Err(DenialKind::Refused));
        }
        if let Some(key) = keys.get(reply.scope)
            && let Some(entry) =
                question::entry(key, &reply, answer, (self.now_ms(), self.kept_for))
        {
            self.ledger.remember(entry)?;
            self.answered.notify_waiters();
        }
        Ok(Ok(Answered {
            answer,
            channel: Some(reply.channel.to_string()),
            asked: true,
        }))
    }

    async fn wait(
        &self,
        asking: Asking<'_>,
        question: &Question,
        keys: &[Key],
    ) -> Result<Heard, DecisionError> {
        let ask = self.approver.ask(question);
        tokio::pin!(ask);
        loop {
            let woken = self.answered.notified();
            tokio::select! {
                reply = &mut ask => return Ok(Heard::Reply(reply)),
                () = woken => {
                    let entry = self.on_file(keys, asking.run.now_ms)?;
                    if let Some(entry) = entry.filter(|entry| entry.answer >= question.longest) {
                        return Ok(Heard::OnFile(entry));
                    }
                }
            }
        }
    }

    fn deny<A: Action>(
        &self,
        asking: Asking<'_>,
        action: &A,
        (judged, answered): (Judged, Answered),
        kind: DenialKind,
    ) -> Result<Decision<A>, DecisionError> {
        let resource = action
            .queries(asking.agent, asking.run)
            .first()
            .map(record::resource)
            .unwrap_or_default();
        let mut judged = judged;
        if kind != DenialKind::Policy {
            judged.verdict.because.insert(0, kind.because());
        }
        let because = judged.verdict.because.clone();
        let stopped = judged.verdict.parts.iter();
        let stopped: Vec<String> = stopped
            .filter(|part| part.1 != PolicyOutcome::Allow)
            .map(|part| part.0.clone())
            .collect();
        let several = judged.verdict.parts.len() > 1;
        self.write(asking, action, (judged, answered), OutcomeKind::Deny)?;
        let denial = Denial::new(kind, A::NAME, resource, because);
        // A request of one part is named by its resource already.
        let parts = if several { stopped } else { Vec::new() };
        Ok(Decision::Deny(denial.with_parts(parts)))
    }

    fn write<A: Action>(
        &self,
        asking: Asking<'_>,
        action: &A,
        (judged, answered): (Judged, Answered),
        outcome: OutcomeKind,
    ) -> Result<Receipt, AuditError> {
        let queries: Vec<Query<'_>> = action.queries(asking.agent, asking.run);
        let of = (A::NAME, &judged.verdict);
        let differs = self.shadow.difference(&queries, answered.answer, of);
        let receipt = self.note(record::decision(
            &queries,
            A::NAME,
            (outcome, &judged.verdict),
            answered,
            (&judged.store, judged.judged_us),
        ))?;
        if let Some(differs) = differs {
            self.note(differs)?;
        }
        Ok(receipt)
    }
}

/// A verdict with the store that gave it.
struct Judged {
    store: PolicySet,
    verdict: Verdict,
    judged_us: u64,
}
