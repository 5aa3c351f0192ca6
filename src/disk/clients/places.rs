//! Where clients keep their servers on this system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::config::import::{Client, Scope};

/// The folders in which clients' files are looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Homes<'a> {
    /// The user's home.
    pub(crate) home: Option<&'a Path>,
    /// The project.
    pub(crate) project: Option<&'a Path>,
    /// The environment: some clients can be moved by it.
    pub(crate) environment: &'a BTreeMap<String, String>,
}

/// A place at which a client's file may lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientFile {
    /// The client.
    pub(crate) client: Client,
    /// Whose word it is.
    pub(crate) scope: Scope,
    /// The file.
    pub(crate) path: PathBuf,
}

/// Every place, the user's before the project's.
pub(crate) fn client_files(homes: Homes<'_>) -> Vec<ClientFile> {
    let own = Client::ALL.into_iter().flat_map(|client| {
        let paths = own_paths(client, homes);
        paths.into_iter().map(move |path| ClientFile {
            client,
            scope: Scope::User,
            path,
        })
    });
    let of_project = PROJECT.iter().filter_map(|(client, path)| {
        Some(ClientFile {
            client: *client,
            scope: Scope::Project,
            path: homes.project?.join(path),
        })
    });
    own.chain(of_project).collect()
}

/// The user's file into which the gateway is put.
pub(crate) fn home_file(client: Client, homes: Homes<'_>) -> Option<PathBuf> {
    let paths = own_paths(client, homes);
    let there = paths.iter().find(|path| path.symlink_metadata().is_ok());
    there.or(paths.first()).cloned()
}

/// Files of a project. Creance reads `.mcp.json` itself, as the project's word.
const PROJECT: [(Client, &str); 6] = [
    (Client::ClaudeCode, ".mcp.json"),
    (Client::Cursor, ".cursor/mcp.json"),
    (Client::VsCode, ".vscode/mcp.json"),
    (Client::Zed, ".zed/settings.json"),
    (Client::Codex, ".codex/config.toml"),
    (Client::Gemini, ".gemini/settings.json"),
];

fn own_paths(client: Client, homes: Homes<'_>) -> Vec<PathBuf> {
    let Some(home) = homes.home else {
        return Vec::new();
    };
    let moved = |name: &str| {
        let folder = homes.environment.get(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute())
    };
    let below = |path: &str| home.join(path);
    let config = || moved("XDG_CONFIG_HOME").unwrap_or_else(|| below(".config"));
    // Where programs of the desktop keep their settings.
    let programs = || {
        if cfg!(target_os = "macos") {
            below("Library/Application Support")
        } else if cfg!(windows) {
            moved("APPDATA").unwrap_or_else(|| below("AppData/Roaming"))
        } else {
            config()
        }
    };
    match client {
        Client::ClaudeDesktop => vec![programs().join("Claude/claude_desktop_config.json")],
        Client::ClaudeCode => vec![
            moved("CLAUDE_CONFIG_DIR")
                .map_or_else(|| below(".claude.json"), |f| f.join(".claude.json")),
        ],
        Client::Cursor => vec![below(".cursor/mcp.json")],
        Client::VsCode => vec![
            programs().join("Code/User/mcp.json"),
            programs().join("Code - Insiders/User/mcp.json"),
        ],
        Client::Windsurf => vec![
            below(".codeium/windsurf/mcp_config.json"),
            below(".codeium/mcp_config.json"),
        ],
        Client::Zed if cfg!(windows) => vec![programs().join("Zed/settings.json")],
        Client::Zed => vec![config().join("zed/settings.json")],
        Client::Codex => vec![
            moved("CODEX_HOME")
                .unwrap_or_else(|| below(".codex"))
                .join("config.toml"),
        ],
        Client::Gemini => vec![below(".gemini/settings.json")],
    }
}
