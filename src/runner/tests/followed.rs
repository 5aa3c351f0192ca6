//! A bundle that is replaced while something runs: looked at every 30 seconds of a clock that stands
//! still until somebody waits for it.

use std::sync::{Arc, Weak};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Duration, Instant, timeout};

use super::bundles::{Machine, POLICY};
use super::server::Server;
use super::shipped_by_address;
use crate::audit::{EventKind, Filter};
use crate::disk::AuditLog;
use crate::enforce::Line;
use crate::request::{DenyAll, Trigger};
use crate::runner::follow::{Followed, News};
use crate::runner::{Workspace, WorkspaceOptions};
use crate::sandbox;

/// Something that runs on a machine with an organisation.
struct Running {
    line: Arc<Line>,
    news: UnboundedReceiver<News>,
    log: std::path::PathBuf,
    _home: tempfile::TempDir,
}

impl Running {
    fn on(machine: &Machine) -> Self {
        let home = tempfile::tempdir().unwrap();
        let cwd = home.path().join("work");
        std::fs::create_dir(&cwd).unwrap();
        let mut workspace =
            Workspace::open_with(&WorkspaceOptions::apart(home.path(), &cwd)).unwrap();
        workspace.followed = Followed {
            org: Some(machine.org()),
            own: machine.folders.clone(),
            ..workspace.followed
        };
        workspace.policies = workspace.followed.read();
        // Nothing is started here.
        workspace
            .machine
            .set(sandbox::Machine::only("none"))
            .unwrap();
        let line = workspace.line(Arc::new(DenyAll), Trigger::Agent).unwrap();
        let (line, (tell, news)) = (Arc::new(line), unbounded_channel());
        workspace.follow_policies(&line, move |heard| {
            let _ = tell.send(heard);
        });
        Self {
            line,
            news,
            log: workspace.audit_log(),
            _home: home,
        }
    }

    /// What becomes of the next change, within two looks.
    #[track_caller]
    fn hears(&mut self, want: News) -> impl Future<Output = ()> {
        let before = Instant::now();
        async move {
            let heard = timeout(Duration::from_secs(62), self.news.recv()).await;
            assert_eq!(heard, Ok(Some(want)));
            assert!(before.elapsed() <= Duration::from_secs(62));
        }
    }

    /// Nothing happens for five looks.
    async fn hears_nothing(&mut self) {
        let heard = timeout(Duration::from_secs(150), self.news.recv()).await;
        assert!(heard.is_err(), "{heard:?}");
    }

    /// The organisation's policies in force.
    fn policies(&self) -> Vec<String> {
        let all = self.line.point.store().list().into_iter();
        let ids = all.map(|policy| policy.id);
        ids.filter(|id| id.starts_with("org/")).collect()
    }

    /// The reasons on record why a bundle was not taken.
    fn refused(&self) -> Vec<String> {
        let (records, _) = AuditLog::pick(&self.log, &Filter::default()).unwrap();
        let notes = records
            .into_iter()
            .filter_map(|record| match record.event.kind {
                EventKind::Note { name, details } if name == "bundle-refused" => {
                    Some(details["why"].as_str().unwrap().to_owned())
                }
                _ => None,
            });
        notes.collect()
    }
}

/// A policy under another name.
fn named(id: &str) -> String {
    POLICY.replace("no-moves", id)
}

const ALWAYS: (&str, u64) = ("2026-01-01T00:00:00Z", 36_500);

/// The way from one bundle to another, whatever brings it: `ship` puts a revision in place.
async fn goes_on(machine: &Machine, ship: impl Fn(&Machine, u64, &str), spoil: impl Fn(&Machine)) {
    ship(machine, 1, "first");
    let mut running = Running::on(machine);
    assert_eq!(running.policies(), ["org/acme/first"]);
    running.hears_nothing().await;
    ship(machine, 2, "second");
    running.hears(News::Replaced).await;
    assert_eq!(running.policies(), ["org/acme/second"]);
    assert!(running.refused().is_empty());
    // A bad one: the last good one stays, and that is said once.
    spoil(machine);
    running.hears(News::Kept).await;
    assert_eq!(running.policies(), ["org/acme/second"]);
    running.hears_nothing().await;
    let said = running.refused();
    assert!(
        said.len() == 1 && said[0].contains("is not what was signed"),
        "{said:?}"
    );
    // One that is older than what was in force.
    ship(machine, 1, "first");
    running.hears(News::Kept).await;
    assert_eq!(running.policies(), ["org/acme/second"]);
    let said = running.refused();
    assert!(
        said.len() == 2 && said[1].contains("older than 2"),
        "{said:?}"
    );
    // A good one again.
    ship(machine, 3, "third");
    running.hears(News::Replaced).await;
    assert_eq!(running.policies(), ["org/acme/third"]);
    // Nobody is left to follow for.
    let line: Weak<Line> = Arc::downgrade(&running.line);
    drop(running);
    assert_eq!(line.strong_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_folder_is_looked_at_again() {
    if !Machine::can_be_played() {
        return;
    }
    let ship = |machine: &Machine, revision, id: &str| machine.ship(revision, ALWAYS, &named(id));
    let spoil = |machine: &Machine| {
        std::fs::write(machine.release().join("acme.cedar"), named("planted")).unwrap();
    };
    goes_on(&Machine::new(), ship, spoil).await;
}

#[tokio::test(start_paused = true)]
async fn an_address_is_asked_again() {
    if !Machine::can_be_played() {
        return;
    }
    let server = Server::start();
    let machine = shipped_by_address::machine(&server);
    let ship = |machine: &Machine, revision, id: &str| {
        machine.ship(revision, ALWAYS, &named(id));
        server.answers("200 OK", &shipped_by_address::packed(machine));
    };
    let spoil = |machine: &Machine| {
        let packed = shipped_by_address::packed(machine);
        server.answers("200 OK", &packed.replace("second", "planted"));
    };
    goes_on(&machine, ship, spoil).await;
}

/// With a bad bundle from the start, that is said to who listens, and goes on record.
#[tokio::test(start_paused = true)]
async fn a_bad_bundle_at_the_start_is_said() {
    if !Machine::can_be_played() {
        return;
    }
    let machine = Machine::new();
    machine.ship_now(2);
    machine.takes(2);
    machine.ship_now(1);
    let mut running = Running::on(&machine);
    running.hears(News::Kept).await;
    assert_eq!(running.policies(), ["org/acme/no-moves"]);
    assert!(running.refused()[0].contains("older than 2"));
    // When none can be believed any more, nothing is permitted.
    machine.forget();
    std::fs::remove_dir_all(machine.release()).unwrap();
    running.hears(News::Refused).await;
    assert!(running.policies().is_empty());
}
