//! Policies to begin with, as they are shipped.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::error::{Error, ErrorKind};
use super::workspace::Workspace;

/// A set of policies to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posture {
    /// Answers last for a session at most.
    Careful,
    /// What stays within the project and the sandbox goes on without questions.
    Everyday,
    /// Each call is answered by a person who is there.
    LockedDown,
    /// An organisation's bundle of fourteen topics.
    Organisation,
}

type Text = (&'static str, &'static str);

macro_rules! texts {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../policies/", $folder, "/", $name)))),*]
    };
}

const CAREFUL: &[Text] = texts!("postures/careful": "careful.cedar", "tests/careful.json");
const EVERYDAY: &[Text] = texts!("postures/everyday": "everyday.cedar", "tests/everyday.json");
const LOCKED_DOWN: &[Text] =
    texts!("postures/locked-down": "locked-down.cedar", "tests/locked-down.json");
const ORGANISATION: &[Text] = texts!(
    "organisation": "servers.cedar", "network.cedar", "tools.cedar", "models.cedar", "permits.cedar",
    "entities.json", "tests/acme.json",
);

impl Posture {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Careful,
        Self::Everyday,
        Self::LockedDown,
        Self::Organisation,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Careful => "careful",
            Self::Everyday => "everyday",
            Self::LockedDown => "locked-down",
            Self::Organisation => "organisation",
        }
    }

    fn texts(self) -> &'static [Text] {
        match self {
            Self::Careful => CAREFUL,
            Self::Everyday => EVERYDAY,
            Self::LockedDown => LOCKED_DOWN,
            Self::Organisation => ORGANISATION,
        }
    }

    /// Writes its files into a folder, which is made where there is none. Nothing is replaced.
    ///
    /// # Errors
    /// When a file of this or another posture is there already, or cannot be written.
    pub fn write_to(self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let files: Vec<(PathBuf, &str)> = self
            .texts()
            .iter()
            .map(|(name, text)| (folder.join(name), *text))
            .collect();
        // Two postures together are a third one that nobody chose.
        let others = [Self::Careful, Self::Everyday, Self::LockedDown].into_iter();
        let others = others.filter(|other| *other != self);
        let others = others.filter_map(|other| other.texts().first());
        let others = others.map(|(name, _)| folder.join(name));
        let there = |path: &PathBuf| path.symlink_metadata().is_ok();
        let own = files.iter().map(|(path, _)| path.clone());
        if let Some(there) = own.chain(others).find(there) {
            return Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "`{}` is there already; move it away, or name another folder",
                    there.display()
                ),
            ));
        }
        for (path, text) in &files {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            let mut file = File::options().write(true).create_new(true).open(path)?;
            file.write_all(text.as_bytes())?;
        }
        Ok(files.into_iter().map(|(path, _)| path).collect())
    }
}

impl Workspace {
    /// Puts a posture into the user's policy folder.
    ///
    /// # Errors
    /// As [`Posture::write_to`]; also for the organisation's, which is no user's.
    pub fn init_policies(&self, posture: Posture) -> Result<Vec<PathBuf>, Error> {
        if posture == Posture::Organisation {
            return Err(Error::new(
                ErrorKind::Usage,
                "an organisation's bundle is made in a folder of its own: creance policy init organisation acme/",
            ));
        }
        posture.write_to(&self.folders.policies())
    }
}
