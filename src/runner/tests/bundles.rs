//! A bundle in a folder: signed, replaced, rolled back, expired, tampered with, the key changed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::disk::{Folders, Surroundings};
use crate::policy::SigningKey;
use crate::runner::organisation::{Found, bundle};
use crate::runner::release::{Draft, read_bundle};

/// A machine with an organisation's folder, and the place from which its bundle comes.
pub(super) struct Machine {
    stage: TempDir,
    pub(super) folders: Folders,
    secret: String,
    public: String,
    pinned: Value,
}

pub(super) const POLICY: &str = r#"@id("no-moves") @reason("Files stay.")
forbid (principal, action == Action::"tool.call", resource) when { resource.name == "move_file" };
"#;

impl Machine {
    pub(super) fn new() -> Self {
        let stage = tempfile::tempdir().unwrap();
        let home = stage.path().join("home");
        let folders = Folders::of(&Surroundings {
            home: Some(home.clone()),
            config_home: Some(home.join("c")),
            state_home: Some(home.join("s")),
            cache_home: Some(home.join("k")),
            ..Surroundings::default()
        })
        .unwrap();
        folders.prepare().unwrap();
        std::fs::create_dir(stage.path().join("org")).unwrap();
        let (secret, public) = SigningKey::generate("").unwrap();
        let mut machine = Self {
            folders,
            secret,
            public,
            pinned: json!({}),
            stage,
        };
        machine.pin("name", "acme".into());
        machine.pin("keys", json!([machine.public.clone()]));
        machine.pin("bundle", machine.release().to_string_lossy().into());
        machine
    }

    /// Whether this user can be root: the organisation's folder is root's alone.
    pub(super) fn can_be_played() -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let root = tempfile::tempdir()
            .unwrap()
            .path()
            .metadata()
            .unwrap()
            .uid()
            == 0;
        if !root {
            eprintln!("skipped: the organisation's folder is root's, and this is another user");
        }
        root
    }

    pub(super) fn pin(&mut self, field: &str, value: Value) {
        self.pinned[field] = value;
        std::fs::write(
            self.org().join("organisation.json"),
            self.pinned.to_string(),
        )
        .unwrap();
    }

    pub(super) fn org(&self) -> PathBuf {
        self.stage.path().join("org")
    }

    pub(super) fn release(&self) -> PathBuf {
        self.stage.path().join("release")
    }

    /// Another key signs from now on; it is not pinned.
    pub(super) fn change_key(&mut self) -> String {
        let (secret, public) = SigningKey::generate("a password").unwrap();
        assert!(SigningKey::read(&secret, "another").is_err());
        let before = std::mem::replace(&mut self.public, public);
        self.secret = secret;
        before
    }

    /// Releases a revision of one policy, from a time for some days.
    pub(super) fn ship(&self, revision: u64, (not_before, days): (&str, u64), policy: &str) {
        let folder = self.release();
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("acme.cedar"), policy).unwrap();
        let draft = Draft {
            name: Some("acme".to_owned()),
            revision: Some(revision),
            not_before: Some(not_before.to_owned()),
            days,
            ..Draft::default()
        };
        draft.write(&folder).unwrap();
        self.sign();
    }

    pub(super) fn ship_now(&self, revision: u64) {
        self.ship(revision, ("2026-01-01T00:00:00Z", 36_500), POLICY);
    }

    fn sign(&self) {
        let files = read_bundle(&self.release().to_string_lossy(), None).unwrap();
        let key = SigningKey::read(&self.secret, "")
            .or_else(|_| SigningKey::read(&self.secret, "a password"))
            .unwrap();
        let signature = key.sign(&files.manifest, "test").unwrap();
        std::fs::write(self.release().join("manifest.json.minisig"), signature).unwrap();
    }

    /// A machine that never saw a bundle.
    pub(super) fn forget(&self) {
        for file in [self.folders.bundle_copy(), self.folders.bundle_seen()] {
            let _ = std::fs::remove_file(file);
        }
    }

    pub(super) fn found(&self) -> Result<Found, String> {
        bundle(&self.org(), &self.folders).map(Option::unwrap)
    }

    /// This revision is in force, and nothing is to be said.
    #[track_caller]
    pub(super) fn takes(&self, revision: u64) {
        let found = self.found().unwrap();
        assert_eq!(found.bundle.manifest.revision, revision);
        assert_eq!(found.notice, None);
        assert_eq!(found.bundle.parts.sources.len(), 1);
    }

    /// What lies there is refused for this reason, and this revision goes on; or nothing does.
    #[track_caller]
    pub(super) fn refuses(&self, why: &str, goes_on: Option<u64>) {
        match (self.found(), goes_on) {
            (Ok(found), Some(revision)) => {
                assert_eq!(found.bundle.manifest.revision, revision);
                let notice = found.notice.unwrap();
                assert!(notice.contains(why), "{notice}");
            }
            (Err(said), None) => assert!(said.contains(why), "{said}"),
            (found, goes_on) => panic!("{why}: {found:?}, not {goes_on:?}"),
        }
    }
}

#[test]
fn a_machine_without_one_is_as_before() {
    let machine = Machine::new();
    std::fs::remove_file(machine.org().join("organisation.json")).unwrap();
    assert!(bundle(&machine.org(), &machine.folders).unwrap().is_none());
}

#[test]
fn a_bundle_is_replaced_and_never_rolled_back() {
    if !Machine::can_be_played() {
        return;
    }
    let mut machine = Machine::new();
    machine.refuses("release", None);
    machine.ship_now(1);
    machine.takes(1);
    machine.ship_now(3);
    machine.takes(3);
    machine.takes(3);
    machine.ship_now(2);
    machine.refuses("revision 2 is older than 3", Some(3));
    // Without the good copy nothing is in force, and the older one still is not.
    std::fs::remove_file(machine.folders.bundle_copy()).unwrap();
    machine.refuses("revision 2 is older than 3", None);
    machine.ship(
        3,
        ("2026-01-01T00:00:00Z", 36_500),
        &POLICY.replace("stay", "go"),
    );
    machine.refuses("other content", None);
    machine.ship_now(4);
    machine.takes(4);
    machine.pin("minimum_revision", 5.into());
    machine.refuses("older than 5", None);
    // What was in force cannot be told any more: then nothing is.
    machine.pin("minimum_revision", 0.into());
    std::fs::write(machine.folders.bundle_seen(), "{").unwrap();
    machine.refuses("organisation.json", None);
}

#[test]
fn a_bundle_holds_for_a_time() {
    if !Machine::can_be_played() {
        return;
    }
    let machine = Machine::new();
    machine.ship(1, ("2020-01-01T00:00:00Z", 30), POLICY);
    machine.refuses("expired at 2020-01-31", None);
    machine.ship(1, ("2999-01-01T00:00:00Z", 30), POLICY);
    machine.refuses("which is not yet", None);
    machine.ship_now(1);
    machine.takes(1);
    machine.ship(2, ("2020-01-01T00:00:00Z", 30), POLICY);
    machine.refuses("expired", Some(1));
}

type Tamper = (&'static str, fn(&Path));

const TAMPERED: [Tamper; 9] = [
    ("`acme.cedar` is not what was signed", |folder| {
        std::fs::write(folder.join("acme.cedar"), "").unwrap();
    }),
    ("`acme.cedar` is missing", |folder| {
        std::fs::remove_file(folder.join("acme.cedar")).unwrap();
    }),
    ("`more.cedar` is not in the manifest", |folder| {
        std::fs::write(folder.join("more.cedar"), "").unwrap();
    }),
    ("`.hidden` is not in the manifest", |folder| {
        std::fs::write(folder.join(".hidden"), "").unwrap();
    }),
    ("`sub/x.cedar` is not in the manifest", |folder| {
        std::fs::create_dir(folder.join("sub")).unwrap();
        std::fs::write(folder.join("sub/x.cedar"), "").unwrap();
    }),
    ("no links", |folder| {
        let file = folder.join("acme.cedar");
        std::fs::rename(&file, folder.with_file_name("elsewhere.cedar")).unwrap();
        std::os::unix::fs::symlink("../elsewhere.cedar", &file).unwrap();
    }),
    ("it is not signed", |folder| {
        std::fs::remove_file(folder.join("manifest.json.minisig")).unwrap();
    }),
    ("no signature", |folder| {
        std::fs::write(folder.join("manifest.json.minisig"), "signed: yes").unwrap();
    }),
    ("no pinned key has signed this", |folder| {
        let file = folder.join("manifest.json");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("enforce", "shadow")).unwrap();
    }),
];

#[test]
fn what_was_tampered_with_is_refused() {
    if !Machine::can_be_played() {
        return;
    }
    let machine = Machine::new();
    for (why, tamper) in TAMPERED {
        machine.ship_now(1);
        machine.takes(1);
        tamper(&machine.release());
        machine.refuses(why, Some(1));
        machine.forget();
        machine.refuses(why, None);
    }
}

/// A forged copy in the cache is believed no more than any other bundle.
#[test]
fn the_copy_is_verified_too() {
    if !Machine::can_be_played() {
        return;
    }
    let machine = Machine::new();
    machine.ship_now(1);
    machine.takes(1);
    let copy = machine.folders.bundle_copy();
    let text = std::fs::read_to_string(&copy).unwrap();
    std::fs::write(&copy, text.replace("move_file", "other")).unwrap();
    std::fs::remove_dir_all(machine.release()).unwrap();
    machine.refuses("release", None);
}

#[test]
fn a_key_is_changed_on_the_machine_alone() {
    if !Machine::can_be_played() {
        return;
    }
    let mut machine = Machine::new();
    machine.ship_now(1);
    machine.takes(1);
    let before = machine.change_key();
    machine.ship_now(2);
    machine.refuses("no pinned key has signed", Some(1));
    machine.pin("keys", json!([machine.public.clone()]));
    machine.takes(2);
    // Both for as long as the change takes.
    machine.pin("keys", json!([before, machine.public.clone()]));
    machine.takes(2);
    machine.pin("keys", json!([]));
    machine.refuses("`keys` is empty", None);
    machine.pin("keys", json!(["RWnonsense"]));
    machine.refuses("no minisign key", None);
    machine.pin("keys", json!([machine.public.clone()]));
    machine.pin("name", "other".into());
    machine.refuses("`other` is wanted here", None);
}

#[test]
fn what_others_can_change_pins_nothing() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    if !Machine::can_be_played() {
        return;
    }
    let machine = Machine::new();
    machine.ship_now(1);
    let pinned = machine.org().join("organisation.json");
    set_permissions(&pinned, Permissions::from_mode(0o666)).unwrap();
    machine.refuses("can be changed by others", None);
    set_permissions(&pinned, Permissions::from_mode(0o644)).unwrap();
    machine.takes(1);
}
