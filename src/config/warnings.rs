//! What a person should see before agreeing to a server or a command: risks as facts for policies,
//! and one sentence each.

use crate::clean;
use crate::grant::Place;
use crate::grant::{Confinement, Guarantee, Level, Network};
use crate::request::{Places, Risk, RunnerKind, Source};

use super::command::started;
use super::definition::ServerDefinition;
use super::scan::Found;
use super::secrets::{loads_code, looks_secret};
use super::variables::Text;

/// The risks of a server's definition, with a sentence for each thing that deserves attention.
/// `confinement` is what its sandbox will hold; relative paths are below `base`.
pub(crate) fn warnings(
    server: &ServerDefinition,
    places: &Places,
    base: &str,
    confinement: &Confinement,
) -> (Vec<Risk>, Vec<String>) {
    let mut found = Found {
        home: places.home.clone(),
        ..Found::default()
    };
    let args = server.args();
    let mut words = vec![server.command().to_owned()];
    words.extend(args.iter().cloned());
    confined(&mut found, confinement);
    found.command(&words, 0);
    let line = started(server.command(), &args);
    if server.network == Network::Whole {
        let runs = matches!(
            line.runner,
            RunnerKind::Npx | RunnerKind::Uvx | RunnerKind::Pipx
        );
        let why = if runs {
            ", also to download its package"
        } else {
            ""
        };
        found.add(Risk::Network, format!("asks for the whole network{why}"));
    }
    variables(&mut found, server, &line.assigned);
    for (verb, paths) in [
        ("writes", &server.write_paths),
        ("reads", &server.read_paths),
    ] {
        for path in paths {
            outside(&mut found, verb, path, places, base);
        }
    }
    (found.risks.into_iter().collect(), found.sentences)
}

/// The risks of one command line, for `creance run`.
pub(crate) fn command_warnings(
    command: &str,
    args: &[String],
    home: &str,
) -> (Vec<Risk>, Vec<String>) {
    let mut found = Found {
        home: home.to_owned(),
        ..Found::default()
    };
    let mut words = vec![command.to_owned()];
    words.extend(args.iter().cloned());
    found.command(&words, 0);
    for name in started(command, args).assigned {
        assigned(&mut found, &name);
    }
    (found.risks.into_iter().collect(), found.sentences)
}

fn confined(found: &mut Found, confinement: &Confinement) {
    const NEEDED: [Guarantee; 3] = [Guarantee::Writes, Guarantee::Secrets, Guarantee::Network];
    for guarantee in NEEDED {
        let why = match confinement.levels.get(&guarantee) {
            Some(Level::Enforced { .. }) => continue,
            Some(Level::Weakened { why, .. } | Level::Absent { why }) => clean::line(why, 300),
            None => "the sandbox does not offer it".to_owned(),
        };
        let name = guarantee.name();
        let sentence = format!("runs without the full OS sandbox: {name} not enforced ({why})");
        if !found.sentences.contains(&sentence) {
            found.sentences.push(sentence);
        }
    }
}

fn variables(found: &mut Found, server: &ServerDefinition, on_the_way: &[String]) {
    for facts in server.env_facts().iter().filter(|facts| facts.looks_secret) {
        let name = clean::line(&facts.name, 100);
        found.add(
            Risk::TouchesSecrets,
            format!("gets a variable that looks secret: {name}"),
        );
    }
    for taken in server.taken().iter().filter(|name| looks_secret(name)) {
        let name = clean::line(taken, 100);
        let sentence = if server.id.source == Source::Project {
            format!("is defined by the project and takes {name} out of your environment")
        } else {
            format!("takes {name} out of your environment")
        };
        found.add(Risk::TouchesSecrets, sentence);
    }
    let seen = [&server.command].into_iter().chain(&server.args);
    for taken in seen
        .flat_map(|text| &text.takes)
        .filter(|name| looks_secret(name))
    {
        let name = clean::line(taken, 100);
        found.add(
            Risk::TouchesSecrets,
            format!("shows {name} to every program of this machine, in its arguments"),
        );
    }
    for name in server.env.keys().chain(on_the_way) {
        assigned(found, name);
    }
}

fn assigned(found: &mut Found, name: &str) {
    if loads_code(name) {
        let name = clean::line(name, 100);
        found.add(
            Risk::InlineCode,
            format!("sets {name}, which can make programs run other code"),
        );
    }
}

fn outside(found: &mut Found, verb: &str, path: &Text, places: &Places, base: &str) {
    let text = locate(&path.value, &places.home, base);
    let facts = places.facts(text.clone());
    let shown = clean::line(&path.written, 300);
    if text == "/" || (!places.home.is_empty() && is_above(&text, &places.home)) {
        let what = if text == places.home {
            "your whole home folder"
        } else {
            "all that holds your home folder"
        };
        found.add(Risk::OutsideProject, format!("{verb} {what} (`{shown}`)"));
        return;
    }
    let usual = facts.place == Place::Temp
        || matches!(facts.place, Place::Project)
        || (verb == "reads" && facts.place == Place::System);
    if usual {
        return;
    }
    let what = match facts.place {
        Place::Secrets => "a place of credentials",
        Place::Config => "Creance's own files",
        Place::ProjectConfig => "the project's files that steer tools",
        Place::ProjectVcs => "the project's version control",
        Place::Devices => "devices or the kernel's files",
        _ => "outside the project",
    };
    let risk = if facts.place == Place::Secrets {
        Risk::TouchesSecrets
    } else {
        Risk::OutsideProject
    };
    found.add(risk, format!("{verb} {what}: `{shown}`"));
}

fn is_above(folder: &str, path: &str) -> bool {
    path == folder
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.starts_with('/'))
}

/// A configured path as an absolute one, by its text alone: `~` is the home folder, `.` and `..`
/// are worked out. Links are not followed here; what a grant holds is resolved on disk.
pub(crate) fn locate(text: &str, home: &str, base: &str) -> String {
    let full = match text.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) if rest.starts_with('/') => format!("{home}{rest}"),
        _ if text.starts_with('/') => text.to_owned(),
        _ => format!("{base}/{text}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in full.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
