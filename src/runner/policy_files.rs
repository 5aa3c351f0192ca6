//! Policies of a folder that a person names, with their tests: one layer, layers in subfolders, or
//! an organisation's bundle.

use std::path::{Path, PathBuf};

use crate::disk::{self, TextFile};
use crate::policy::{
    Bundle, BundleFiles, Manifest, PolicySet, PolicySource, PolicyTest, StoreParts, builtin_tests,
};
use crate::request::{Layer, TOOL_LOCK};

use super::error::{Error, ErrorKind};
use super::policies::Policies;
use super::workspace::Workspace;

/// Policies and their tests.
#[derive(Clone, Debug, Default)]
pub struct PolicyFiles {
    /// What a store is made of.
    pub parts: StoreParts,
    /// The files of tests.
    pub tests: Vec<PolicySource>,
}

/// The subfolders that hold a layer each.
const LAYERS: [(&str, Layer); 3] = [
    ("org", Layer::Org),
    ("user", Layer::User),
    ("project", Layer::Project),
];

impl PolicyFiles {
    /// Reads a bundle's folder as its author works on it.
    pub(crate) fn of_bundle(folder: &Path, switched_off: &[String]) -> Result<Self, Error> {
        let mut files = Self::default();
        files
            .folder(folder, Layer::Org)
            .map_err(|why| Error::new(ErrorKind::Policy, why))?;
        files.parts.switched_off = switched_off.to_vec();
        Ok(files)
    }

    /// Reads a folder of `.cedar` files (the user's layer; with a `manifest.json` or
    /// `entities.json` the organisation's), a folder with layers in `org`, `user` and `project`, or
    /// one file, of policies or a packed bundle. Whether a bundle is signed is not asked here: see
    /// [`verify_bundle`](crate::verify_bundle). Tests are the `.json` files in `tests`.
    ///
    /// # Errors
    /// When there is no such folder, or a file in it cannot be read.
    pub fn of(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let wrong = |why: String| Error::new(ErrorKind::Policy, why);
        let mut files = Self::default();
        if path.is_file() {
            let file = disk::text_of(path).map_err(wrong)?;
            if !file.name.ends_with(".cedar") {
                return Self::packed(&file).map_err(wrong);
            }
            files.parts.sources.push(source(Layer::User, file));
            let beside = path.parent().unwrap_or(Path::new("."));
            files.lock(beside, Layer::User).map_err(wrong)?;
            return Ok(files);
        }
        if !path.is_dir() {
            let text = format!("no policy folder `{}`", path.display());
            return Err(Error::new(ErrorKind::Usage, text));
        }
        let layered = LAYERS.iter().filter(|(name, _)| path.join(name).is_dir());
        let layered: Vec<(PathBuf, Layer)> = layered
            .map(|(name, layer)| (path.join(name), *layer))
            .collect();
        if layered.is_empty() {
            let of_org = ["manifest.json", "entities.json"];
            let of_org = of_org.iter().any(|name| path.join(name).is_file());
            let layer = if of_org { Layer::Org } else { Layer::User };
            files.folder(path, layer).map_err(wrong)?;
            return Ok(files);
        }
        for (folder, layer) in layered {
            files.folder(&folder, layer).map_err(wrong)?;
        }
        files.read_tests(path).map_err(wrong)?;
        Ok(files)
    }

    /// The tests that come with the built-in policies.
    #[must_use]
    pub fn builtin() -> Self {
        Self {
            tests: builtin_tests(),
            ..Self::default()
        }
    }

    fn packed(file: &TextFile) -> Result<Self, String> {
        let failed = |why: String| format!("`{}`: {why}", file.path);
        let files = BundleFiles::unpack(file.text.as_bytes()).map_err(failed)?;
        let bundle = Bundle::draft(&files).map_err(|error| failed(error.to_string()))?;
        Ok(Self {
            parts: bundle.parts,
            tests: bundle.tests,
        })
    }

    fn folder(&mut self, folder: &Path, layer: Layer) -> Result<(), String> {
        let manifest = folder.join("manifest.json");
        if layer == Layer::Org && manifest.is_file() {
            let manifest = Manifest::read(disk::text_of(&manifest)?.text.as_bytes())?;
            self.parts.switched_off.extend(manifest.switched_off);
        }
        let cedar = disk::texts_in(folder, ".cedar")?.into_iter();
        self.parts
            .sources
            .extend(cedar.map(|file| source(layer, file)));
        let entities = folder.join("entities.json");
        if entities.is_file() {
            self.parts
                .members
                .push(source(layer, disk::text_of(&entities)?));
        }
        self.lock(folder, layer)?;
        self.read_tests(folder)
    }

    /// The lock of the tools that the policies of a folder name as actions.
    fn lock(&mut self, folder: &Path, layer: Layer) -> Result<(), String> {
        let file = folder.join(TOOL_LOCK);
        if file.is_file() {
            let file = disk::text_of(&file)?;
            self.parts.locks.push(source(layer, file));
        }
        Ok(())
    }

    fn read_tests(&mut self, folder: &Path) -> Result<(), String> {
        let tests = disk::texts_in(&folder.join("tests"), ".json")?.into_iter();
        self.tests
            .extend(tests.map(|file| source(Layer::User, file)));
        Ok(())
    }

    /// The store, or what is wrong with it.
    #[must_use]
    pub fn store(&self) -> Policies {
        Policies::of_parts(self.parts.clone())
    }

    /// The tests, read.
    ///
    /// # Errors
    /// What is wrong with the first file of tests that cannot be read.
    pub fn read(&self) -> Result<Vec<PolicyTest>, Error> {
        let mut all = Vec::new();
        for file in &self.tests {
            let tests = PolicyTest::read(file)
                .map_err(|problem| Error::new(ErrorKind::Policy, problem.to_string()))?;
            all.extend(tests);
        }
        Ok(all)
    }

    /// The layers of these files; the built-in one when there are none.
    #[must_use]
    pub fn layers(&self) -> Vec<Layer> {
        let mut layers: Vec<Layer> = self.parts.sources.iter().map(|file| file.layer).collect();
        layers.dedup();
        if layers.is_empty() {
            layers.push(Layer::Builtin);
        }
        layers
    }
}

impl Workspace {
    /// The store in force here, and the tests in the user's policy folder.
    ///
    /// # Errors
    /// When the policies in force, or a file of tests, cannot be used.
    pub fn policy_tests(&self) -> Result<(PolicySet, PolicyFiles), Error> {
        let mut files = PolicyFiles::default();
        files
            .read_tests(&self.folders.policies())
            .map_err(|why| Error::new(ErrorKind::Policy, why))?;
        Ok((self.policies().clone().into_store()?, files))
    }
}

fn source(layer: Layer, file: TextFile) -> PolicySource {
    PolicySource {
        layer,
        file: file.path,
        text: file.text,
    }
}
