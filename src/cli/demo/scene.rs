//! The stage of the demonstration: a throw-away home with a planted secret, a project with a
//! repository, a policy file, and a listener that nobody may reach.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

/// What the demonstration's user would have written.
const POLICY: &str = r#"// The demonstration's own rules; they stand in ~/.config/creance/policies/demo.cedar.

@id("add-notes")
@reason("Adding a note is harmless.")
permit (principal, action in Action::"tool.call", resource == Tool::"user/demo/note_add");

@id("let-it-try")
@reason("The demonstration wants to see what the sandbox stops.")
permit (principal, action in Action::"tool.call", resource == Tool::"user/demo/attempt");

@id("let-it-turn")
@reason("The demonstration wants to see a changed tool held back.")
permit (principal, action in Action::"tool.call", resource == Tool::"user/demo/turn");

@id("never-delete")
@reason("Notes are never deleted by an agent.")
forbid (principal, action in Action::"tool.call", resource == Tool::"user/demo/note_delete");
"#;

/// The folders and the listener.
pub(super) struct Scene {
    root: TempDir,
    connections: Arc<AtomicUsize>,
    address: String,
}

impl Scene {
    /// Builds the stage.
    pub(super) fn build() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("creance-demo-").tempdir()?;
        let scene = Self {
            connections: Arc::default(),
            address: String::new(),
            root,
        };
        for folder in [
            "home/.ssh",
            "home/.config/creance/policies",
            "project/.git/hooks",
            "outside",
        ] {
            fs::create_dir_all(scene.root.path().join(folder))?;
        }
        fs::write(scene.secret(), "a planted secret key")?;
        fs::write(scene.project().join(".git/config"), "[core]\n")?;
        fs::write(
            scene.home().join(".config/creance/policies/demo.cedar"),
            POLICY,
        )?;
        scene.listen()
    }

    fn listen(mut self) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        self.address = listener.local_addr()?.to_string();
        let count = Arc::clone(&self.connections);
        std::thread::Builder::new()
            .name("demo-listener".to_owned())
            .spawn(move || {
                while listener.accept().is_ok() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            })?;
        Ok(self)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.resolved().join("home")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.resolved().join("project")
    }

    pub(super) fn secret(&self) -> PathBuf {
        self.home().join(".ssh/id_ed25519")
    }

    pub(super) fn outside(&self) -> PathBuf {
        self.resolved().join("outside/planted")
    }

    pub(super) fn hook(&self) -> PathBuf {
        self.project().join(".git/hooks/pre-commit")
    }

    /// The address that nobody in the sandbox may reach.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// How many connections reached it.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    fn resolved(&self) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap_or_else(|_| self.root.path().to_path_buf())
    }
}

/// Whether a file is absent on the host: what counts, whatever the server said.
pub(super) fn absent(path: &Path) -> bool {
    !path.exists()
}
