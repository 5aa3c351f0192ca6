//! Variable names that look like those of credentials, and those that make a program load code.

/// Parts of names that stand for credentials wherever they appear as a word.
const WORDS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "CRED"];

/// Whole words that are too short or too common to be searched inside others.
const WHOLE: &[&str] = &[
    "PAT", "PWD", "AUTH", "DSN", "COOKIE", "SESSION", "JWT", "BEARER",
];

/// Names that hold one of the words and carry no credential.
const HARMLESS: &[&str] = &[
    "PWD",
    "OLDPWD",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
    "DESKTOP_SESSION",
];

/// Addresses that usually carry a password.
const ADDRESSES: &[&str] = &[
    "DATABASE_URL",
    "REDIS_URL",
    "MONGODB_URI",
    "CONNECTION_STRING",
];

/// Whether a variable's name looks like that of a credential.
pub(crate) fn looks_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    if HARMLESS.contains(&name.as_str()) {
        return false;
    }
    WORDS.iter().any(|word| name.contains(word))
        || name.split('_').any(|part| WHOLE.contains(&part))
        || ADDRESSES.iter().any(|end| name.ends_with(end))
}

/// Whether a variable makes programs load or run code that it names: loaders, interpreters, shells
/// and the helpers of git.
pub(crate) fn loads_code(name: &str) -> bool {
    let name = name.to_uppercase();
    LOADERS.contains(&name.as_str()) || LOADER_STARTS.iter().any(|start| name.starts_with(start))
}

const LOADERS: &[&str] = &[
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "CLASSPATH",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTFLAGS",
    "GOFLAGS",
    "GCONV_PATH",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_EXTERNAL_DIFF",
    "GIT_EXEC_PATH",
    "GIT_PROXY_COMMAND",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "LESSOPEN",
    "LESSCLOSE",
    "MANPAGER",
    "NPM_CONFIG_REGISTRY",
    "NPM_CONFIG_SCRIPT_SHELL",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PATH",
];

const LOADER_STARTS: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "GIT_CONFIG",
    "MALLOC_",
    "DOTNET_STARTUP_HOOKS",
    "COR_PROFILER",
    "CORECLR_PROFILER",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials() {
        for name in [
            "GITHUB_TOKEN",
            "API_KEY",
            "api_key",
            "DB_PASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSFILE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GITHUB_PAT",
            "DATABASE_URL",
            "MYSQL_PWD",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "MODE",
            "PWD",
            "OLDPWD",
            "XDG_SESSION_ID",
            "LANG",
            "COMPAT",
        ] {
            assert!(!looks_secret(name), "{name}");
        }
    }

    #[test]
    fn names_that_load_code() {
        for name in [
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "BASH_FUNC_x%%",
            "node_options",
            "PYTHONPATH",
        ] {
            assert!(loads_code(name), "{name}");
        }
        for name in ["HOME", "MODE", "LDAP_HOST", "NODE_ENV", "PYTHONUNBUFFERED"] {
            assert!(!loads_code(name), "{name}");
        }
    }
}
