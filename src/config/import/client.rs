//! The clients whose configurations are read, and what differs between their files.

use std::path::Path;

/// A client of MCP servers with a configuration file of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Client {
    /// `claude_desktop_config.json`
    ClaudeDesktop,
    /// `~/.claude.json`, `.mcp.json`
    ClaudeCode,
    /// `.cursor/mcp.json`
    Cursor,
    /// `mcp.json` of a profile, `.vscode/mcp.json`
    VsCode,
    /// `mcp_config.json`
    Windsurf,
    /// `settings.json` with `context_servers`
    Zed,
    /// `config.toml`
    Codex,
    /// `.gemini/settings.json`
    Gemini,
}

impl Client {
    /// All, in the order in which they are read.
    pub const ALL: [Self; 8] = [
        Self::ClaudeDesktop,
        Self::ClaudeCode,
        Self::Cursor,
        Self::VsCode,
        Self::Windsurf,
        Self::Zed,
        Self::Codex,
        Self::Gemini,
    ];

    /// Its word on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "claude-desktop",
            Self::ClaudeCode => "claude-code",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Windsurf => "windsurf",
            Self::Zed => "zed",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::ClaudeCode => "Claude Code",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
        }
    }

    /// The key under which its servers stand.
    pub(crate) fn servers_key(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::Zed => "context_servers",
            Self::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }

    /// Whether its file is TOML; all others are JSON, with comments or without.
    pub(crate) fn writes_toml(self) -> bool {
        self == Self::Codex
    }

    /// The client whose file this is by its name and place, else by the key that only one of them has.
    pub(crate) fn of_file(path: &Path, text: &str) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folder = path.parent().and_then(Path::file_name);
        let folder = folder.and_then(|name| name.to_str()).unwrap_or_default();
        let by_name = match (folder, name) {
            (_, "claude_desktop_config.json") => Some(Self::ClaudeDesktop),
            (_, ".claude.json" | ".mcp.json") => Some(Self::ClaudeCode),
            (".cursor", "mcp.json") => Some(Self::Cursor),
            (".vscode", "mcp.json") => Some(Self::VsCode),
            (_, "mcp_config.json") => Some(Self::Windsurf),
            (".gemini", "settings.json") => Some(Self::Gemini),
            ("zed" | ".zed", "settings.json") => Some(Self::Zed),
            (_, name) if has_extension(name, ".toml") => Some(Self::Codex),
            _ => None,
        };
        by_name.or_else(|| {
            let has = |key: &str| text.contains(&format!("\"{key}\""));
            match (has("mcpServers"), has("context_servers"), has("servers")) {
                (false, true, _) => Some(Self::Zed),
                (false, false, true) => Some(Self::VsCode),
                _ => None,
            }
        })
    }
}

fn has_extension(name: &str, extension: &str) -> bool {
    name.to_ascii_lowercase().ends_with(extension)
}

/// Whose word a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The user's own file.
    User,
    /// A file of the project, which a stranger may have written.
    Project,
}
