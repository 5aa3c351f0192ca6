//! Answers the proxy of one sandbox: each connection is decided and on record before it is made, and
//! what became of it is recorded with the bytes that passed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};

use crate::address::{Locality, Reach, Target};
use crate::audit::{EventKind, Outcome};
use crate::clean;
use crate::decision::{Asking, Decision, DecisionPoint, Denial, DenialKind};
use crate::request::{Agent, Answer, ConnectHost, HostRule, Run};
use crate::sandbox::egress::{
    Carries, EgressEvent, End, Gate, Judging, Refusal, Terms, Traffic, Verdict, Wanted,
};
use crate::transport::Holds;

use super::super::present;
use super::outlet::Tenant;
use super::refused::{Refusals, RefusedHost};
use super::turns::{MyTurn, Turns};

/// What is said once the proxy of a sandbox is gone.
const LOST: &str = "its way out has ended; start it anew";

/// Connections that were refused before they were decided: so many go on record.
const NOTED_MAX: u64 = 200;

/// Answers the proxy of one sandbox.
#[derive(Debug)]
pub(super) struct Doorman {
    point: Arc<DecisionPoint>,
    agent: Agent,
    /// The circumstances; time and attendance are those of each request.
    run: Run,
    tenant: Tenant,
    turns: Turns,
    /// One stands while a person is asked.
    holds: Holds,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Connections that were permitted, by the proxy's number.
    permitted: BTreeMap<u64, Permitted>,
    refusals: Refusals,
    noted: u64,
}

/// A connection that may be made.
#[derive(Clone, Copy, Debug)]
struct Permitted {
    /// The record of its decision.
    seq: u64,
    answer: Answer,
    begun: Instant,
}

impl Doorman {
    pub(super) fn new(
        point: Arc<DecisionPoint>,
        (agent, run): (Agent, Run),
        tenant: Tenant,
    ) -> Self {
        Self {
            point,
            agent,
            run,
            tenant,
            turns: Turns::default(),
            holds: Holds::default(),
            known: Mutex::default(),
        }
    }

    /// What stands while a person is asked about a host.
    pub(super) fn holds(&self) -> Holds {
        self.holds.clone()
    }

    /// How many connections were refused so far.
    pub(super) fn mark(&self) -> u64 {
        self.lock().refusals.count()
    }

    /// The hosts that were refused after a mark.
    pub(super) fn refused_since(&self, mark: u64) -> Vec<RefusedHost> {
        self.lock().refusals.since(mark)
    }

    /// Whether a connection that stands would be allowed under the policies in force now.
    pub(super) fn still_allows(&self, wanted: &Wanted) -> bool {
        let Some(permitted) = self.lock().permitted.get(&wanted.id).copied() else {
            return false;
        };
        let action = self.action(&wanted.target);
        let run = self.run();
        let asking = Asking {
            agent: &self.agent,
            run: &run,
        };
        self.point.allows(asking, &action, permitted.answer)
    }

    fn run(&self) -> Run {
        Run {
            now_ms: self.point.now_ms(),
            attended: self.point.attended(),
            ..self.run.clone()
        }
    }

    fn rule(&self, target: &Target) -> Option<&HostRule> {
        let covers = |rule: &&HostRule| rule.covers(&target.host, target.port);
        self.tenant.hosts.iter().find(covers)
    }

    fn action(&self, target: &Target) -> ConnectHost {
        let listed = self.rule(target).is_some();
        ConnectHost {
            confinee: self.tenant.confinee.clone(),
            host: target.host.clone(),
            port: target.port,
            listed,
            covered: if listed {
                self.tenant.answer
            } else {
                Answer::None
            },
        }
    }

    async fn decide(&self, wanted: &Wanted) -> Verdict {
        let action = self.action(&wanted.target);
        let run = self.run();
        let asking = Asking {
            agent: &self.agent,
            run: &run,
        };
        let turn = match self.turn(asking, &action, &wanted.target).await {
            Ok(turn) => turn,
            Err(why) => {
                self.note(Some(wanted), &why);
                return self.deny(&wanted.target, why);
            }
        };
        let mut hold = None;
        let decision = self
            .point
            .decide(asking, action, |asked| {
                hold = Some(self.holds.begin());
                present::connect(asked, &self.tenant.name)
            })
            .await;
        drop((turn, hold));
        let permit = match decision {
            Ok(Decision::Allow(permit)) => permit,
            Ok(Decision::Deny(denial)) => return self.denied(&wanted.target, &denial),
            Err(error) => return self.deny(&wanted.target, error.to_string()),
        };
        let answer = permit.answer();
        match self.point.redeem(permit) {
            Ok((action, seq)) => {
                self.permit(
                    wanted.id,
                    Permitted {
                        seq,
                        answer,
                        begun: Instant::now(),
                    },
                );
                Verdict::Allow(self.terms(&action, &wanted.target))
            }
            Err(denial) => self.denied(&wanted.target, &denial),
        }
    }

    /// Where a person would be asked: the turn to ask.
    async fn turn(
        &self,
        asking: Asking<'_>,
        action: &ConnectHost,
        target: &Target,
    ) -> Result<Option<MyTurn>, String> {
        let asks = self.point.would_ask(asking, action);
        if !asks.map_err(|error| error.to_string())? {
            return Ok(None);
        }
        let turn = self.turns.wait(target).await;
        turn.map(Some).map_err(str::to_owned)
    }

    /// What an allowed connection may be. An address of this machine or of a private network is
    /// reached only as the address that the entry names; so is a name that only a local resolver
    /// knows. A name of the public DNS never leads inside, whoever agreed to it: who owns the name
    /// would decide which machine it means.
    fn terms(&self, action: &ConnectHost, target: &Target) -> Terms {
        let named = action.listed && self.tenant.is_trusted;
        let exact = named && self.rule(target).is_some_and(HostRule::is_exact);
        let reach = match (exact, target.host.address()) {
            (false, _) => Reach::Public,
            (true, Some(_)) => Reach::Named,
            (true, None) => match target.host.locality() {
                Locality::Public => Reach::Public,
                Locality::Localhost => Reach::Loopback,
                Locality::SingleLabel | Locality::SpecialUse => Reach::Private,
            },
        };
        let raw = exact && self.rule(target).is_some_and(HostRule::carries_anything);
        Terms {
            reach,
            carries: if raw { Carries::Anything } else { Carries::Web },
        }
    }

    fn denied(&self, target: &Target, denial: &Denial) -> Verdict {
        self.turns.refused(target, denial.kind());
        let mut why = denial.reason();
        // A person's no needs no other reason.
        let policies = match denial.kind() {
            DenialKind::Refused => &[],
            _ => denial.policies(),
        };
        let policies = policies.iter().filter(|p| p.policy != "(engine)");
        for part in policies {
            // A repository's policies are its text, and this text reaches models.
            let named = if part.layer.speaks_to_models() {
                format!("{} ({})", part.policy, part.reason.trim_end_matches('.'))
            } else {
                "a policy of the project".to_owned()
            };
            why.push_str(&format!(": {named}"));
        }
        let way_out = self.tenant.way_out(target);
        let rest = match denial.kind() {
            DenialKind::Refused => denial.hint(),
            DenialKind::NobodyToAsk | DenialKind::NoAnswer => {
                format!("to allow it, answer with `creance approve`, {way_out}")
            }
            _ => format!("to allow it, {way_out}"),
        };
        self.deny(target, format!("{why}; {rest}"))
    }

    /// Says no, to the program and to the people who wonder.
    fn deny(&self, target: &Target, why: String) -> Verdict {
        self.tell(target, &why);
        Verdict::Deny {
            reason: clean::line(&clean::mask(&why), 900),
        }
    }

    fn tell(&self, target: &Target, why: &str) {
        let new = self.lock().refusals.note(&target.to_string(), why);
        if new {
            let name = clean::line(&self.tenant.name, 200);
            let why = clean::line(&clean::mask(why), 600);
            tracing::warn!("{name} may not connect to {target}: {why}");
        }
    }

    fn permit(&self, id: u64, permitted: Permitted) {
        let before = self.lock().permitted.insert(id, permitted);
        if let Some(before) = before {
            // The policies changed before it was made, so it was judged once more.
            self.record(before, ("judged-again", false), json!({}));
        }
    }

    fn record(&self, permitted: Permitted, (result, ok): (&str, bool), details: Value) {
        let took_ms = u64::try_from(permitted.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = EventKind::Outcome(Outcome {
            of: permitted.seq,
            ok,
            result: result.to_owned(),
            details,
            took_ms,
        });
        // What cannot be written is counted and said by the log itself.
        let _ = self.point.note(outcome);
    }

    fn closed(&self, wanted: &Wanted, end: End, traffic: Traffic) {
        let Some(permitted) = self.lock().permitted.remove(&wanted.id) else {
            return;
        };
        let details = json!({
            "target": wanted.target.to_string(),
            "way": wanted.way.name(),
            "bytes_out": traffic.up,
            "bytes_in": traffic.down,
        });
        let ok = matches!(end, End::Done | End::Closed | End::Idle);
        self.record(permitted, (end.name(), ok), details);
    }

    fn refused(&self, wanted: Option<&Wanted>, refusal: &Refusal) {
        let permitted = wanted.and_then(|wanted| self.lock().permitted.remove(&wanted.id));
        let why = refusal.to_string();
        match (permitted, wanted) {
            (Some(permitted), Some(wanted)) => {
                let details = json!({"target": wanted.target.to_string(), "why": why});
                self.record(permitted, ("refused", false), details);
            }
            _ => self.note(wanted, &why),
        }
        if let Some(wanted) = wanted
            && !matches!(refusal, Refusal::Left | Refusal::Closed)
        {
            self.tell(&wanted.target, &why);
        }
    }

    /// The proxy is gone: nothing is let out any more, and whoever wonders is told so.
    fn lost(&self) {
        let name = clean::line(&self.tenant.name, 200);
        let standing = {
            let mut known = self.lock();
            known.refusals.lose(LOST);
            std::mem::take(&mut known.permitted)
        };
        for permitted in standing.into_values() {
            self.record(permitted, ("lost", false), json!({}));
        }
        tracing::error!("{name} has no network any more: {LOST}");
        let _ = self.point.note(EventKind::Note {
            name: "way-out-lost".to_owned(),
            details: json!({"by": self.tenant.name}),
        });
    }

    /// Puts on record what was refused without a decision.
    fn note(&self, wanted: Option<&Wanted>, why: &str) {
        let noted = {
            let mut known = self.lock();
            known.noted += 1;
            known.noted
        };
        if noted > NOTED_MAX {
            return;
        }
        let details = json!({
            "by": self.tenant.name,
            "target": wanted.map(|wanted| wanted.target.to_string()),
            "why": clean::mask(&clean::line(why, 500)),
            "last_noted": noted == NOTED_MAX,
        });
        let _ = self.point.note(EventKind::Note {
            name: "connection-refused".to_owned(),
            details,
        });
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate for Doorman {
    fn judge<'a>(&'a self, wanted: &'a Wanted) -> Judging<'a> {
        Box::pin(self.decide(wanted))
    }

    fn report(&self, event: EgressEvent) {
        match event {
            EgressEvent::Opened { .. } => {}
            EgressEvent::Closed {
                wanted,
                end,
                traffic,
            } => self.closed(&wanted, end, traffic),
            EgressEvent::Refused { wanted, refusal } => self.refused(wanted.as_ref(), &refusal),
            EgressEvent::Lost => self.lost(),
        }
    }
}
