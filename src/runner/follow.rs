//! Follows the policy folders while something runs: a change comes into force when all of it can be
//! used; until then the last good policies stay, and that is said.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::json;
use tokio::runtime::Handle;
use tokio::task;
use tokio::time::{Instant, sleep};

use crate::audit::EventKind;
use crate::clean;
use crate::digest::Digest;
use crate::disk::{Folders, PolicyFolder, look_at_policies};
use crate::enforce::Line;

use super::bundle_info::{BundleLost, BundleState};
use super::organisation::{self, Found};
use super::policies::Policies;
use super::workspace::Workspace;

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Other policies are in force.
    Replaced,
    /// The files mean what is in force.
    Same,
    /// They cannot be used: the last good policies stay in force.
    Refused,
    /// All but the organisation's newer bundle is in force: the last good one goes on.
    Kept,
}

/// The folders as they were when the policies in force were read.
#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) folders: Vec<PolicyFolder>,
    pub(super) seen: Digest,
    /// The organisation's folder, which pins its bundle.
    pub(super) org: Option<PathBuf>,
    pub(super) own: Folders,
}

/// How often the organisation's bundle is looked at.
const BUNDLE_REST: Duration = Duration::from_secs(30);

impl Followed {
    /// The policies as they are now.
    pub(super) fn read(&self) -> Policies {
        Policies::read(&self.folders, self.bundle())
    }

    fn bundle(&self) -> Result<Option<Found>, String> {
        let org = self.org.as_deref();
        org.map_or(Ok(None), |org| organisation::bundle(org, &self.own))
    }

    /// The bundle that is believed now.
    fn bundle_now(&self) -> BundleState {
        let found = self.bundle().map_err(|_| BundleLost)?;
        Ok(found.map_or((None, None), |found| {
            (Some(found.bundle.digest), found.notice)
        }))
    }
}

impl Workspace {
    /// Follows the policy folders as long as the line is in use; `heard` is told what became of
    /// each change. Without a runtime nothing is followed.
    pub(super) fn follow_policies(&self, line: &Arc<Line>, heard: impl Fn(News) + Send + 'static) {
        if let Ok(runtime) = Handle::try_current() {
            if let Some(why) = self.policies.bundle_kept() {
                heard(kept(line, why));
            }
            let followed = (self.followed.clone(), self.policies.bundle_state());
            runtime.spawn(follow(Arc::downgrade(line), followed, heard));
        }
    }
}

async fn follow(
    line: Weak<Line>,
    (mut followed, mut bundle): (Followed, BundleState),
    heard: impl Fn(News),
) {
    // A change is read once two looks agree: an editor or a copy may be in the middle of it.
    let mut before = followed.seen;
    let mut looked = Instant::now();
    loop {
        let mut changed = false;
        if looked.elapsed() >= BUNDLE_REST && followed.org.is_some() {
            looked = Instant::now();
            let asked = followed.clone();
            let Ok(now) = task::spawn_blocking(move || asked.bundle_now()).await else {
                return;
            };
            changed = now != bundle;
        }
        let folders = followed.folders.clone();
        let Ok(look) = task::spawn_blocking(move || look_at_policies(&folders)).await else {
            return;
        };
        if changed || (look.seen != followed.seen && look.seen == before) {
            followed.seen = look.seen;
            let asked = followed.clone();
            let Ok(policies) = task::spawn_blocking(move || asked.read()).await else {
                return;
            };
            let had = std::mem::replace(&mut bundle, policies.bundle_state());
            let Some(line) = line.upgrade() else { return };
            heard(take_bundle(&line, &policies, (&had, &bundle)));
        }
        before = look.seen;
        sleep(look.rest).await;
        if line.strong_count() == 0 {
            return;
        }
    }
}

/// Puts the policies in force, and says it when the bundle that lies there is not among them.
fn take_bundle(line: &Line, policies: &Policies, (had, has): (&BundleState, &BundleState)) -> News {
    match (take(line, policies), policies.bundle_kept()) {
        (News::Replaced | News::Same, Some(why)) if had != has => kept(line, why),
        (News::Replaced | News::Same, Some(_)) => News::Kept,
        (news, _) => news,
    }
}

/// The last good bundle goes on.
fn kept(line: &Line, why: &str) -> News {
    let why = clean::line(why, 2_000);
    note(line, "bundle-refused", &json!({ "why": why }));
    News::Kept
}

/// Puts the policies in force, when they can be.
fn take(line: &Line, policies: &Policies) -> News {
    for notice in &policies.notices {
        tracing::warn!("{notice}");
    }
    if let Err(error) = policies.checked() {
        let why = clean::line(&error.to_string(), 2_000);
        tracing::warn!(
            "the policy files changed and cannot be used; the last good ones stay in force"
        );
        note(line, "policies-refused", &json!({ "why": why }));
        // What an organisation forbade is not known any more: as at a start, nothing is permitted.
        if policies.bundle_state().is_err() {
            line.point.replace_store(policies.store.clone());
        }
        return News::Refused;
    }
    line.point.shadow().replace(policies.shadow.clone());
    let (from, to) = (line.point.store().digest(), policies.store.digest());
    if from == to {
        return News::Same;
    }
    note(
        line,
        "policies-replaced",
        &json!({ "from": from, "to": to }),
    );
    line.point.replace_store(policies.store.clone());
    line.outlets.cut();
    tracing::info!("the policies changed: those of the files are in force now");
    News::Replaced
}

/// A record that cannot be written keeps nothing from coming into force: with such a log nothing is
/// permitted anyway, and the new policies may be stricter.
fn note(line: &Line, name: &str, details: &serde_json::Value) {
    let (name, details) = (name.to_owned(), details.clone());
    if let Err(error) = line.point.note(EventKind::Note { name, details }) {
        tracing::warn!("{error}");
    }
}
