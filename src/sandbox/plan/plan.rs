//! The plan of one launch: everything the helper needs, as data.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backend::{Backend, CgroupOffer, Offers};
use super::error::PlanError;
use super::folders::{Folder, FolderKind, folders, plain};
use super::levels::confinement;
use crate::grant::{Confinement, Environment, Grant, Launch, Limits, Network};
use crate::sandbox::apply::second_names;
use crate::sandbox::machine::Machine;

/// What is started, how it is confined, and what that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// The way of confining.
    pub(crate) backend: Backend,
    /// The program.
    pub(crate) launch: Launch,
    /// The view of the disk, outermost first.
    pub(crate) folders: Vec<Folder>,
    /// Never written, present or absent.
    pub(crate) protect: Vec<PathBuf>,
    /// Hidden wherever it would be visible.
    pub(crate) hide: Vec<PathBuf>,
    /// Unix sockets that may be connected to.
    pub(crate) sockets: Vec<PathBuf>,
    /// The network.
    pub(crate) network: Network,
    /// The whole environment.
    pub(crate) env: Environment,
    /// Limits.
    pub(crate) limits: Limits,
    /// The temporary folder, when it is one in memory.
    pub(crate) temp: Option<PathBuf>,
    /// Where a cgroup is made for the tree.
    pub(crate) cgroup: Option<CgroupOffer>,
    /// Whether the process stays in the terminal's session.
    pub(crate) terminal: bool,
    /// What the plan holds.
    confinement: Confinement,
    /// What weakens it in this place.
    notices: Vec<String>,
}

impl Plan {
    /// What this plan holds, guarantee by guarantee.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// What a person should know about this launch beside its confinement.
    pub(crate) fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Whether the program reaches hosts through a proxy in main.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_proxy(&self) -> bool {
        self.network == Network::Hosts && self.backend.has_namespaces()
    }

    /// The writable folders of the machine, outermost first.
    pub(crate) fn writable(&self) -> impl Iterator<Item = &Path> {
        self.folders
            .iter()
            .filter(|folder| folder.kind == FolderKind::Write)
            .map(|folder| folder.path.as_path())
    }

    /// The writable folders that lie in memory.
    #[cfg(target_os = "linux")]
    pub(crate) fn private(&self) -> impl Iterator<Item = &Path> {
        self.folders
            .iter()
            .filter(|folder| folder.kind == FolderKind::Private)
            .map(|folder| folder.path.as_path())
    }
}

/// The plan of a launch under a grant on a machine.
pub(crate) fn plan(machine: &Machine, launch: &Launch, grant: &Grant) -> Result<Plan, PlanError> {
    let offers = machine.offers()?;
    let mut plan = plan_with(&offers, launch, grant)?;
    plan.notices = notices(grant);
    Ok(plan)
}

/// A guarded file that has another name can be reached through that.
fn notices(grant: &Grant) -> Vec<String> {
    let shown = |paths: &[PathBuf], how: &str| -> Vec<String> {
        let files = second_names(paths).into_iter();
        files
            .map(|file| {
                format!(
                    "`{}` has a second name (a hard link), through which it {how}: make it a file                      of its own",
                    file.display()
                )
            })
            .collect()
    };
    let mut notices = shown(&grant.protect, "can be written where that name is writable");
    notices.extend(shown(&grant.hide, "can be read where that name is visible"));
    notices
}

/// The same from data alone.
pub(crate) fn plan_with(
    offers: &Offers,
    launch: &Launch,
    grant: &Grant,
) -> Result<Plan, PlanError> {
    for path in [&launch.program, &launch.cwd] {
        plain(path)?;
    }
    check_texts(launch, grant)?;
    let backend = offers
        .backends
        .iter()
        .find(|offer| offer.failure.is_none())
        .map_or(Backend::None, |offer| offer.backend);
    let backend = match backend {
        // The same without birdcage; whatever it needs of a machine, the other needs too.
        Backend::LinuxL3 if takes_tmp(grant) => Backend::LinuxNs,
        other => other,
    };
    let in_memory = grant.limits.temp_bytes.is_some() && backend.has_namespaces();
    let temp = grant.temp.clone().filter(|_| in_memory);
    Ok(Plan {
        backend,
        launch: launch.clone(),
        folders: seen(folders(grant, temp.as_deref())?, backend, grant),
        protect: grant.protect.clone(),
        hide: grant.hide.clone(),
        sockets: grant.sockets.clone(),
        network: grant.network,
        env: environment(grant),
        limits: limits(grant, offers),
        temp,
        cgroup: offers.cgroup.clone(),
        terminal: grant.terminal,
        confinement: confinement(backend, grant, offers),
        notices: Vec::new(),
    })
}

/// The limits with the share of the machine's memory that the whole tree may have.
fn limits(grant: &Grant, offers: &Offers) -> Limits {
    let mut limits = grant.limits.clone();
    if let (None, Some(one)) = (limits.tree_bytes, limits.memory_bytes)
        && offers.memory > 0
    {
        limits.tree_bytes = Some((offers.memory / 2).max(one));
    }
    limits
}

/// Elsewhere than on Linux nothing is laid over the disk: what counts is what was granted.
fn seen(mut folders: Vec<Folder>, backend: Backend, grant: &Grant) -> Vec<Folder> {
    if matches!(backend, Backend::MacosSeatbelt | Backend::WindowsJob) {
        let sockets = &grant.sockets;
        let granted = grant.read.iter().chain(&grant.write).chain(&grant.temp);
        let granted: Vec<&PathBuf> = granted.chain(sockets).collect();
        folders.retain(|folder| granted.contains(&&folder.path));
        folders.retain(|folder| matches!(folder.kind, FolderKind::Read | FolderKind::Write));
    }
    folders
}

/// Whether the machine's own `/tmp` is granted, where birdcage would leave its folder.
fn takes_tmp(grant: &Grant) -> bool {
    let granted = grant.read.iter().chain(&grant.write).chain(&grant.temp);
    let cage = Path::new("/tmp/birdcage-root");
    granted
        .filter(|path| path.parent().is_some())
        .any(|path| cage.starts_with(path) || path.starts_with(cage))
}

fn environment(grant: &Grant) -> Environment {
    let mut env = grant.env.clone();
    if let Some(temp) = grant.temp.as_deref().and_then(Path::to_str) {
        env.0.insert("TMPDIR".to_owned(), temp.to_owned());
    }
    env
}

fn check_texts(launch: &Launch, grant: &Grant) -> Result<(), PlanError> {
    let texts = launch.args.iter().chain([&launch.name]);
    if texts.into_iter().any(|text| text.contains('\0')) {
        return Err(PlanError::BadText("an argument".to_owned()));
    }
    for (name, value) in &grant.env.0 {
        let bad_name = name.is_empty() || name.contains(['=', '\0']);
        if bad_name || value.contains('\0') {
            let shown = name.replace('\0', "?");
            return Err(PlanError::BadText(format!("the variable `{shown}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, prop_assert, proptest};

    use super::*;
    use crate::grant::Guarantee;
    use crate::sandbox::plan::Offer;

    fn offers(backends: &[(Backend, Option<&str>)]) -> Offers {
        Offers {
            backends: backends
                .iter()
                .map(|(backend, failure)| Offer {
                    backend: *backend,
                    failure: failure.map(str::to_owned),
                })
                .collect(),
            landlock: 7,
            ..Offers::default()
        }
    }

    fn launch() -> Launch {
        Launch {
            program: "/bin/true".into(),
            name: "true".into(),
            args: Vec::new(),
            cwd: "/".into(),
            stamps: Vec::new(),
        }
    }

    #[test]
    fn the_strongest_working_backend_is_taken_and_said() {
        let check = |offered: &[(Backend, Option<&str>)], want: &str| {
            let plan = plan_with(&offers(offered), &launch(), &Grant::default()).unwrap();
            assert_eq!(plan.confinement().to_string(), want);
        };
        let no = Some("no user namespaces");
        check(
            &[(Backend::LinuxL3, no), (Backend::LinuxNs, None)],
            "linux-ns",
        );
        check(
            &[(Backend::LinuxNs, no), (Backend::LinuxLandlock, None)],
            "linux-landlock: writes weakened, protected-paths absent, secrets weakened, \
             processes weakened, tree-kill weakened, limits weakened",
        );
        let none = plan_with(
            &offers(&[(Backend::LinuxNs, no)]),
            &launch(),
            &Grant::default(),
        );
        let none = none.unwrap();
        assert_eq!(none.backend, Backend::None);
        let writes = none.confinement().levels.get(&Guarantee::Writes).unwrap();
        assert!(format!("{writes:?}").contains("linux-ns: no user namespaces"));
    }

    #[test]
    fn folders_are_laid_outermost_first_and_reading_takes_nothing_away() {
        let grant = Grant {
            home: Some("/home/u".into()),
            read: vec![
                "/home/u/.nvm".into(),
                "/home/u/p".into(),
                "/home/u/p/src".into(),
            ],
            write: vec!["/home/u/p".into(), "/home/u/p/.git/config".into()],
            ..Grant::default()
        };
        let plan = plan_with(&offers(&[(Backend::LinuxNs, None)]), &launch(), &grant).unwrap();
        let below: Vec<String> = plan
            .folders
            .iter()
            .filter(|folder| folder.path.starts_with("/home"))
            .map(|folder| format!("{} {:?}", folder.path.display(), folder.kind))
            .collect();
        assert_eq!(
            below,
            [
                "/home Empty",
                "/home/u Empty",
                "/home/u/.nvm Read",
                "/home/u/p Write"
            ]
        );
    }

    fn paths() -> impl Strategy<Value = Vec<PathBuf>> {
        proptest::collection::vec("(/[a-d]{1,2}){1,4}".prop_map(PathBuf::from), 0..6)
    }

    proptest! {
        /// A plan never writes where the grant does not, and comes back from its text unchanged.
        #[test]
        fn a_plan_never_exceeds_its_grant(read in paths(), write in paths(), hide in paths()) {
            let grant = Grant { read, write, hide, ..Grant::default() };
            let offers = offers(&[(Backend::LinuxNs, None)]);
            let plan = plan_with(&offers, &launch(), &grant).unwrap();
            prop_assert!(plan.writable().all(|path| grant.write.iter().any(|own| own == path)));
            prop_assert!(grant.write.iter().all(|own| plan.writable().any(|path| own.starts_with(path))));
            let text = serde_json::to_string(&plan).unwrap();
            prop_assert!(serde_json::from_str::<Plan>(&text).unwrap() == plan);
        }
    }
}
