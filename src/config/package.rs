//! Names and versions of packages as package runners take them, and whether a version is exact.

/// A package that a runner fetches when it is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name, `@scope/name`.
    pub(crate) name: String,
    /// Its version as written; empty when none is.
    pub(crate) version: String,
    /// Whether that version names one content for good.
    pub(crate) pinned: bool,
}

/// `name@version` of npm. Ranges, tags, aliases, paths and repositories are not exact.
pub(super) fn npm(spec: &str) -> Package {
    if is_place(spec) {
        return place(spec);
    }
    let scoped = usize::from(spec.starts_with('@'));
    let at = spec.char_indices().skip(scoped).find(|(_, c)| *c == '@');
    let (name, version) = match at {
        Some((at, _)) => spec.split_at(at),
        None => (spec, ""),
    };
    let version = version.trim_start_matches('@');
    Package {
        name: name.to_owned(),
        pinned: is_semver(version),
        version: version.to_owned(),
    }
}

/// `name[extra]==version` or `name@version` of PyPI. Only `==` without a wildcard is exact, and of
/// a repository only a full commit.
pub(super) fn pypi(spec: &str) -> Package {
    let spec = spec.split(';').next().unwrap_or(spec).trim();
    if is_place(spec) || spec.contains("://") {
        return place(spec.split_once(" @ ").map_or(spec, |(_, url)| url));
    }
    let end = spec
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '[' | ']' | ',')))
        .unwrap_or(spec.len());
    let (name, version) = spec.split_at(end);
    let name = name.split('[').next().unwrap_or(name).to_owned();
    let version = version.trim();
    let exact = version
        .strip_prefix("===")
        .or_else(|| version.strip_prefix("=="))
        .or_else(|| version.strip_prefix('@'))
        .map(str::trim);
    Package {
        name,
        pinned: exact.is_some_and(is_python_version),
        version: exact.unwrap_or(version).to_owned(),
    }
}

/// `image:tag@sha256:…`. A tag can be moved, only a digest names one content.
pub(super) fn image(spec: &str) -> Package {
    if let Some((name, digest)) = spec.split_once('@') {
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        return Package {
            name: name.to_owned(),
            pinned: hex.len() == 64 && hex.chars().all(|c| c.is_ascii_hexdigit()),
            version: digest.to_owned(),
        };
    }
    // `host:5000/name` has a port and no tag.
    let (name, tag) = match spec.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (spec, ""),
    };
    Package {
        name: name.to_owned(),
        version: tag.to_owned(),
        pinned: false,
    }
}

/// `module@version` of Go.
pub(super) fn go(spec: &str) -> Package {
    let (name, version) = spec.split_once('@').unwrap_or((spec, ""));
    Package {
        name: name.to_owned(),
        pinned: version.strip_prefix('v').is_some_and(is_semver),
        version: version.to_owned(),
    }
}

/// Whether a text is a path, an address or a repository and not a name of a registry.
fn is_place(spec: &str) -> bool {
    spec.starts_with(['.', '/', '~'])
        || spec.contains("://")
        || [
            "git+",
            "github:",
            "gitlab:",
            "bitbucket:",
            "gist:",
            "file:",
            "git@",
        ]
        .iter()
        .any(|start| spec.starts_with(start))
        || (!spec.starts_with('@') && spec.contains('/'))
}

fn place(spec: &str) -> Package {
    let commit = spec.rsplit(['#', '@']).next().unwrap_or_default();
    let is_commit = commit.len() == 40 && commit.chars().all(|c| c.is_ascii_hexdigit());
    Package {
        name: spec.to_owned(),
        version: if is_commit {
            commit.to_owned()
        } else {
            String::new()
        },
        pinned: is_commit,
    }
}

/// Three numbers, and nothing but a pre-release or build mark behind them.
fn is_semver(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let rest = version.strip_prefix(core).unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    numbers.len() == 3
        && numbers
            .iter()
            .all(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
        && rest
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+'))
}

fn is_python_version(version: &str) -> bool {
    version.starts_with(|c: char| c.is_ascii_digit())
        && version
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '!' | '-' | '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(package: Package, name: &str, version: &str, pinned: &str) {
        let want = Package {
            name: name.to_owned(),
            version: version.to_owned(),
            pinned: pinned == "pinned",
        };
        assert_eq!(package, want);
    }

    #[test]
    fn npm_names() {
        check(npm("@scope/pkg@1.2.3"), "@scope/pkg", "1.2.3", "pinned");
        check(npm("@scope/pkg"), "@scope/pkg", "", "");
        check(
            npm("pkg@2025.8.21-beta.1"),
            "pkg",
            "2025.8.21-beta.1",
            "pinned",
        );
        for version in [
            "latest",
            "^1.2.3",
            "~1.2.3",
            "1.2",
            "1.x.0",
            "1.2.3 || 2.0.0",
            "npm:x@1.2.3",
            "*",
        ] {
            check(npm(&format!("pkg@{version}")), "pkg", version, "");
        }
        check(npm("github:u/r"), "github:u/r", "", "");
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let spec = format!("github:u/r#{commit}");
        check(npm(&spec), &spec, commit, "pinned");
        check(npm("u/r"), "u/r", "", "");
    }

    #[test]
    fn python_names() {
        check(pypi("pkg==1.2"), "pkg", "1.2", "pinned");
        check(pypi("pkg@1.2"), "pkg", "1.2", "pinned");
        check(pypi("pkg[a,b] == 1.2.3rc1"), "pkg", "1.2.3rc1", "pinned");
        check(pypi("pkg"), "pkg", "", "");
        check(pypi("pkg@latest"), "pkg", "latest", "");
        check(pypi("pkg>=1.2"), "pkg", ">=1.2", "");
        check(pypi("pkg==1.*"), "pkg", "1.*", "");
        check(pypi("pkg==1.2,!=1.3"), "pkg", "1.2,!=1.3", "");
        check(pypi("git+https://h.test/r"), "git+https://h.test/r", "", "");
    }

    #[test]
    fn images() {
        check(image("mcp/fetch"), "mcp/fetch", "", "");
        check(image("h.test:5000/x"), "h.test:5000/x", "", "");
        check(image("mcp/fetch:1.2"), "mcp/fetch", "1.2", "");
        let digest = format!("sha256:{}", "a".repeat(64));
        check(image(&format!("x@{digest}")), "x", &digest, "pinned");
        check(go("h.test/x@v1.2.3"), "h.test/x", "v1.2.3", "pinned");
        check(go("h.test/x@latest"), "h.test/x", "latest", "");
    }
}
