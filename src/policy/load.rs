//! From policy texts to a checked set: parse, ids, layer rules, polarity, lints, strict validation.
//! One fatal problem anywhere and there is no set.

use std::collections::HashSet;
use std::sync::Arc;

use cedar_policy::ffi::DetailedError;
use cedar_policy::{ActionConstraint, Effect, EntityUid, Policy, PolicyId};
use serde_json::Value;

use crate::request::Layer;

use super::faults::faults;
use super::lint;
use super::naming::{self, Named};
use super::polarity;
use super::read::{Written, read};
use super::source::{Lines, Place, PolicyProblem, PolicySource, one_line};
use super::typed::Locks;
use super::vocabulary::{SCHEMA, Vocabulary};

/// One policy with what is known about it.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    /// Knows no more how it was written.
    pub(super) policy: Policy,
    /// As it is written.
    pub(super) text: String,
    pub(super) layer: Layer,
    pub(super) file: String,
    pub(super) line: usize,
    /// Its `@reason` on one line.
    pub(super) reason: String,
    /// Reads a flag of human answers: its satisfaction may change with the answer.
    pub(super) heeds_answers: bool,
    /// Reads the context at all.
    pub(super) heeds_context: bool,
}

/// What was loaded, all of it usable.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) policies: Vec<Loaded>,
    pub(super) warnings: Vec<PolicyProblem>,
    /// What the policies are written in.
    pub(super) vocabulary: Arc<Vocabulary>,
}

/// Loads the policies of this crate. They are validated by its tests, and not at each start.
pub(super) fn load_builtin(sources: &[PolicySource]) -> Result<Vec<Loaded>, Vec<PolicyProblem>> {
    let mut loader = Loader::default();
    for source in sources {
        loader.file(source);
    }
    if loader.problems.is_empty() {
        Ok(loader.policies)
    } else {
        Err(loader.problems)
    }
}

/// Loads texts of any layer, which may name tools that are locked; others stand beside them.
pub(super) fn load_with(
    sources: &[PolicySource],
    locks: &Locks,
    beside: &[Arc<Loaded>],
) -> Result<Checked, Vec<PolicyProblem>> {
    let mut loader = Loader::default();
    for source in sources {
        loader.file(source);
    }
    let all: Vec<&Loaded> = beside
        .iter()
        .map(Arc::as_ref)
        .chain(&loader.policies)
        .collect();
    let Named {
        vocabulary,
        unknown,
        problems,
    } = Named::by(&all, sources, locks);
    loader.unknown = unknown;
    loader.problems.extend(problems);
    loader.validate(sources, &vocabulary);
    loader
        .problems
        .sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    if loader.problems.iter().any(|problem| problem.fatal) {
        Err(loader.problems)
    } else {
        Ok(Checked {
            policies: loader.policies,
            warnings: loader.problems,
            vocabulary,
        })
    }
}

#[derive(Default)]
struct Loader {
    policies: Vec<Loaded>,
    problems: Vec<PolicyProblem>,
    ids: HashSet<PolicyId>,
    /// Policies that name tools which no lock knows: nothing more can be said of them.
    unknown: HashSet<PolicyId>,
}

impl Loader {
    fn file(&mut self, source: &PolicySource) {
        let stem = match stem(&source.file) {
            Ok(stem) => stem,
            Err((message, hint)) => {
                let problem = PolicyProblem::of_file(source, message).hint(hint);
                return self.problems.push(problem);
            }
        };
        let text = without_mark(&source.text);
        let read = match read(text, examine) {
            Ok(read) => read,
            Err(error) => {
                let error = DetailedError::from(&*error);
                return self.problems.extend(unreadable(source, &error));
            }
        };
        let lines = Lines::of(text);
        for start in read.templates {
            let problem = PolicyProblem::of_file(source, "a template is no policy")
                .hint("name the principal and the resource instead of `?principal` and `?resource`")
                .at(lines.place(start));
            self.problems.push(problem);
        }
        for written in read.policies {
            let place = lines.place(written.start);
            self.policy(source, &stem, written, place);
        }
    }

    fn policy(
        &mut self,
        source: &PolicySource,
        stem: &str,
        written: Written<Option<Examined>>,
        place: Place,
    ) {
        let policy = &written.policy;
        let local = annotation(policy, "id").unwrap_or_default();
        if !is_plain(local) {
            let problem = PolicyProblem::of_file(source, "a policy has no @id, or one with other characters than letters, digits, `-`, `_` and `.`")
                .hint("write `@id(\"short-name\")` above it")
                .at(place);
            return self.problems.push(problem);
        }
        let id = PolicyId::new(format!("{}/{stem}/{local}", source.layer.name()));
        let name = id.to_string();
        let fatal = |message: String| {
            PolicyProblem::of_file(source, message)
                .at(place)
                .policy(&name)
        };
        if !self.ids.insert(id.clone()) {
            let problem = fatal("two policies have this id".to_owned())
                .hint("ids are `layer/file/id`: give one of them another `@id`");
            return self.problems.push(problem);
        }
        if source.layer == Layer::Project && policy.effect() == Effect::Permit {
            let problem = fatal("a project's policies may only forbid".to_owned())
                .hint("put the permit into your own policy folder if you agree with it");
            return self.problems.push(problem);
        }
        let Some(examined) = written.found else {
            let problem = fatal("it has no form that can be checked".to_owned());
            return self.problems.push(problem);
        };
        let found = examined.findings.into_iter().map(|finding| {
            let problem = fatal(finding.message).hint(finding.hint);
            if finding.fatal {
                problem
            } else {
                problem.warning()
            }
        });
        self.problems.extend(found);
        self.policies.push(Loaded {
            policy: policy.new_id(id),
            layer: source.layer,
            file: source.file.clone(),
            line: place.line,
            reason: one_line(annotation(policy, "reason").unwrap_or_default()),
            text: written.text,
            heeds_answers: examined.heeds_answers,
            heeds_context: examined.heeds_context,
        });
    }

    /// Strict validation. A warning on a forbid is fatal: it says that the rule never fires.
    fn validate(&mut self, sources: &[PolicySource], vocabulary: &Vocabulary) {
        let known = self.policies.iter();
        let known = known.filter(|loaded| !self.unknown.contains(loaded.policy.id()));
        let policies: Vec<Policy> = known.map(|loaded| loaded.policy.clone()).collect();
        let faults = match faults(vocabulary, policies) {
            Ok(faults) => faults,
            Err(why) => {
                let problem = |file| PolicyProblem::of_file(file, why);
                return self.problems.extend(sources.first().map(problem));
            }
        };
        for (id, details, is_error) in faults {
            let Some(loaded) = self.policies.iter().find(|l| *l.policy.id() == id) else {
                continue;
            };
            let problem = invalid(sources, loaded, (&details, vocabulary));
            let fatal = is_error || loaded.policy.effect() == Effect::Forbid;
            self.problems
                .push(if fatal { problem } else { problem.warning() });
        }
    }
}

/// What one policy says about itself.
struct Examined {
    findings: Vec<lint::Finding>,
    heeds_answers: bool,
    heeds_context: bool,
}

/// `None` when it has no JSON form to look at.
fn examine(policy: &Policy, form: Option<&Value>) -> Option<Examined> {
    let json = form?;
    let bodies = || polarity::conditions(json).map(|(_, body)| body);
    Some(Examined {
        findings: problems_of(policy, json),
        heeds_answers: bodies().any(polarity::mentions_flags),
        heeds_context: bodies().any(polarity::mentions_context),
    })
}

/// What stands behind `@key`; Cedar's own way parses the key each time.
fn annotation<'a>(policy: &'a Policy, key: &str) -> Option<&'a str> {
    let mut all = policy.as_ref().annotations();
    let found = all.find(|(name, _)| name.as_ref() == key);
    found.map(|(_, annotation)| annotation.as_ref())
}

fn problems_of(policy: &Policy, json: &Value) -> Vec<lint::Finding> {
    let mut found = lint::findings(policy.effect(), json);
    let mut fatal = |message: String, hint: &'static str| {
        found.push(lint::Finding {
            fatal: true,
            message,
            hint,
        });
    };
    if !polarity::holds(policy.effect(), json) {
        fatal(polarity::RULE.to_owned(), polarity::HINT);
    }
    if let ActionConstraint::Eq(action) = policy.action_constraint()
        && is_group(&action)
    {
        fatal(
            format!("`action == {action}` matches no request: it is a group"),
            "write `action in` the group",
        );
    }
    if annotation(policy, "reason").is_none_or(str::is_empty) {
        found.push(lint::Finding {
            fatal: false,
            message: "no @reason: people will see the id only".to_owned(),
            hint: "write `@reason(\"…\")` above it",
        });
    }
    found
}

pub(super) fn is_group(action: &EntityUid) -> bool {
    SCHEMA.action_groups().any(|group| group == action)
}

/// A file's name in ids. It reaches people and models, so it is kept plain.
fn stem(file: &str) -> Result<String, (&'static str, &'static str)> {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let Some(stem) = name.strip_suffix(".cedar") else {
        return Err((
            "a policy file's name ends in .cedar",
            "rename it, or move it out of the policy folder",
        ));
    };
    if is_plain(stem) {
        Ok(stem.to_owned())
    } else {
        Err((
            "a policy file's name has letters, digits, `-`, `_` and `.` only",
            "rename it",
        ))
    }
}

fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A text without its byte-order mark, which editors write and the parser refuses.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Where a policy's text begins. Policies come in the order of the file: look on from the last one.
pub(super) fn find(text: &str, policy: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.find(policy).map_or(from, |offset| from + offset)
}

fn unreadable(source: &PolicySource, error: &DetailedError) -> Vec<PolicyProblem> {
    let lines = Lines::of(without_mark(&source.text));
    std::iter::once(error)
        .chain(&error.related)
        .map(|error| {
            let message = format!("cannot be read: {}", one_line(&error.message));
            let problem = PolicyProblem::of_file(source, message)
                .hint(one_line(error.help.as_deref().unwrap_or_default()));
            match error.source_locations.first() {
                Some(label) => problem.at(lines.place(label.loc.start)),
                None => problem,
            }
        })
        .collect()
}

const VOCABULARY: &str =
    "what there is, and what each action applies to, says `creance policy schema`";

/// The text that a policy stands in.
pub(super) fn text_of<'a>(sources: &'a [PolicySource], loaded: &Loaded) -> &'a str {
    let mut files = sources.iter();
    let file = files.find(|source| source.layer == loaded.layer && source.file == loaded.file);
    file.map_or("", |source| without_mark(&source.text))
}

/// A finding of the validator as a fatal problem.
fn invalid(
    sources: &[PolicySource],
    loaded: &Loaded,
    (details, vocabulary): (&DetailedError, &Vocabulary),
) -> PolicyProblem {
    let text = text_of(sources, loaded);
    let place = match details.source_locations.first() {
        Some(label) => Lines::of(text).place(label.loc.start),
        None => Place {
            line: loaded.line,
            column: 1,
        },
    };
    let id = loaded.policy.id().to_string();
    let message = one_line(&details.message);
    let prefix = format!("for policy `{id}`");
    let message = message.strip_prefix(&prefix).unwrap_or(&message);
    let message = message.trim_start_matches([',', ':', ' ']).to_owned();
    PolicyProblem {
        fatal: true,
        layer: loaded.layer,
        file: loaded.file.clone(),
        line: place.line,
        column: place.column,
        message,
        hint: match naming::hint(loaded, vocabulary) {
            Some(hint) => one_line(&[details.help.as_deref().unwrap_or_default(), &hint].join(" ")),
            None => one_line(details.help.as_deref().unwrap_or(VOCABULARY)),
        },
        policy: id,
    }
}
