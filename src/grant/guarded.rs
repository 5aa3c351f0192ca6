//! The names that every sandbox and every policy guards: credentials, files that make tools run
//! code, toolchains that stay visible. Lists and pure rules over path texts.

use super::Place;

/// Credentials below the home folder. A trailing `*` stands for any ending of that name.
pub const SECRETS: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/hub",
    ".config/git/credentials",
    ".gnupg",
    ".kube",
    ".docker/config.json",
    ".netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".git-credentials",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    "snap/firefox",
    "snap/chromium",
    ".var/app",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".lesshst",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
];

/// Credentials of the system.
pub const SYSTEM_SECRETS: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/run/secrets",
    "/var/run/secrets",
];

/// File names that hold credentials wherever they lie. Compared without case.
pub const SECRET_NAMES: &[&str] = &[
    ".env",
    ".netrc",
    ".pgpass",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
];

/// Toolchains below the home folder: readable in every sandbox, so that a server installed there
/// runs unchanged. Credentials inside them are still hidden.
pub const TOOLCHAINS: &[&str] = &[
    ".nvm",
    ".npm-global",
    ".npm",
    ".fnm",
    ".local/share/fnm",
    ".n",
    ".pyenv",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".local/share/pnpm",
    ".local/share/mise",
    ".local/share/rtx",
    ".cargo/bin",
    ".rustup",
    "go",
    ".bun",
    ".deno",
    ".volta",
    ".asdf",
    ".rbenv",
    ".rvm",
    ".sdkman",
    ".jenv",
    ".dotnet",
    ".yarn",
    ".gitconfig",
    ".config/git",
];

/// Folders of the system.
pub const SYSTEM: &[&str] = &[
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/boot",
    "/var", "/srv", "/nix", "/snap",
];

/// Devices, kernel interfaces and sockets.
pub const DEVICES: &[&str] = &["/dev", "/proc", "/sys", "/run"];

/// Inside a project: never written by a sandboxed process, whether present or absent. Creating one
/// of them makes a tool run code or trust a server later.
pub const PROTECTED: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".gitmodules",
    ".creance",
    ".mcp.json",
    ".claude",
    ".cursor",
    ".vscode",
    ".idea",
    ".codex",
    ".gemini",
    ".zed",
    ".windsurf",
    ".devcontainer",
    ".envrc",
    ".husky",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
];

/// Entries of [`PROTECTED`] that are files. The others are folders: a placeholder of the right kind
/// stands where an absent one is guarded.
pub const PROTECTED_FILES: &[&str] = &[
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".gitmodules",
    ".mcp.json",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
];

/// Entries of [`PROTECTED`] that are guarded in a project also while they are absent: their mere
/// appearance makes a tool run code or trust a server. The guard is an empty entry of that name
/// while a sandbox runs, so the list is kept to what matters; every other entry is guarded where it
/// exists. `direnv` asks before it runs a new `.envrc`.
pub const GUARDED_ABSENT: &[&str] = &[
    ".git/hooks",
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/info/attributes",
    ".creance",
    ".mcp.json",
    ".claude",
    ".cursor",
    ".vscode",
    ".idea",
    ".codex",
    ".gemini",
    ".zed",
    ".windsurf",
    ".devcontainer",
    ".husky",
];

/// One part of a path as every file system would fold it: lower case, without trailing dots and
/// blanks, without an NTFS stream (`.mcp.json::$DATA`). Guards CVE-2025-59944.
fn fold(part: &str) -> String {
    let name = part.split("::").next().unwrap_or(part);
    name.trim_end_matches(['.', ' ']).to_lowercase()
}

fn folded_parts(path: &str) -> Vec<String> {
    path.split(['/', '\\'])
        .filter(|part| !part.is_empty() && *part != ".")
        .map(|part| {
            if part == ".." {
                part.to_owned()
            } else {
                fold(part)
            }
        })
        .collect()
}

fn starts_with(parts: &[String], prefix: &str) -> bool {
    let wanted: Vec<String> = folded_parts(prefix);
    parts.len() >= wanted.len() && parts.iter().zip(&wanted).all(|(a, b)| a == b)
}

/// Whether a path below the project root (`sub/.mcp.json`, resolved) is one of [`PROTECTED`] or
/// lies below one, compared without case. Nested repositories' internals count as well.
#[must_use]
pub fn is_protected(in_project: &str) -> bool {
    let parts = folded_parts(in_project);
    if PROTECTED.iter().any(|entry| starts_with(&parts, entry)) {
        return true;
    }
    let hit = |at: usize, tail: &[&str]| {
        tail.iter()
            .enumerate()
            .all(|(i, want)| parts.get(at + i).is_some_and(|part| part == want))
    };
    (0..parts.len()).any(|at| hit(at, &[".git", "hooks"]) || hit(at, &[".git", "config"]))
}

/// The place of a path below the project root.
#[must_use]
pub fn project_place(in_project: &str) -> Place {
    let parts = folded_parts(in_project);
    if parts.iter().any(|part| part == ".git") {
        return Place::ProjectVcs;
    }
    if is_protected(in_project) {
        return Place::ProjectConfig;
    }
    Place::Project
}

/// Whether a resolved path holds credentials: by its place below the home folder or the system, or
/// by its name.
#[must_use]
pub fn is_secret(path: &str, home: &str) -> bool {
    let parts = folded_parts(path);
    if let Some(name) = parts.last()
        && (SECRET_NAMES.contains(&name.as_str()) || name.starts_with(".env."))
        && !["example", "sample", "template"]
            .iter()
            .any(|end| name.ends_with(end))
    {
        return true;
    }
    if SYSTEM_SECRETS
        .iter()
        .any(|entry| starts_with(&parts, entry))
    {
        return true;
    }
    let home_parts = folded_parts(home);
    if home_parts.is_empty() || !parts.starts_with(&home_parts) {
        return false;
    }
    let rest = parts.get(home_parts.len()..).unwrap_or_default();
    SECRETS.iter().any(|entry| starts_with(rest, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SBX-16: spellings that a case-blind or Windows disk folds onto a protected name.
    #[test]
    fn protected_names_are_folded() {
        for path in [
            ".mcp.json",
            ".MCP.json",
            ".Mcp.JSON",
            "./.mcp.json",
            ".//.mcp.json",
            ".Git/hooks/pre-commit",
            ".GIT/config",
            ".cUrSoR/mcp.json",
            ".VSCODE/settings.json",
            ".mcp.json.",
            ".mcp.json ",
            ".mcp.json::$DATA",
            "vendor/lib/.git/hooks/post-checkout",
        ] {
            assert!(is_protected(path), "{path:?}");
        }
        for path in [
            "my.mcp.json",
            "docs/.mcp.json.md",
            "git/hooks.txt",
            "src/a.rs",
            "",
        ] {
            assert!(!is_protected(path), "{path:?}");
        }
    }

    #[test]
    fn secrets_are_known_by_place_and_name() {
        let home = "/home/u";
        for path in [
            "/home/u/.ssh/id_ed25519",
            "/home/u/.ssh",
            "/home/u/.AWS/credentials",
            "/etc/shadow",
            "/home/u/p/.env",
            "/home/u/p/.env.local",
            "/srv/x/id_rsa",
        ] {
            assert!(is_secret(path, home), "{path}");
        }
        for path in [
            "/home/u/.sshd",
            "/home/u/notes.txt",
            "/home/u/p/.env.example",
            "/etc/passwd",
        ] {
            assert!(!is_secret(path, home), "{path}");
        }
    }
}
