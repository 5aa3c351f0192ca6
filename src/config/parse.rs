//! One configuration file: its servers, each good or bad on its own, and its settings.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use jsonc_parser::ast::Value;

use crate::clean;
use crate::request::{ServerId, Source};

use super::audit::AuditSettings;
use super::definition::ServerDefinition;
use super::entry;
use super::fields::{FILE_MAX, Field, Member, Reader};
use super::problem::ConfigProblem;
use super::settings::{Settings, ToolNames};

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// Its servers in the order of the file.
    pub(crate) servers: Vec<Result<ServerDefinition, ConfigProblem>>,
    /// Its settings; a project has none.
    pub(crate) settings: Settings,
    /// What is wrong beside the servers.
    pub(crate) problems: Vec<ConfigProblem>,
}

/// Keys beside the servers.
pub(super) const TOP: &[&str] = &[
    SERVERS,
    "toolNames",
    "questionTimeoutMs",
    "startTimeoutMs",
    "audit",
    "answers",
    "$schema",
];

/// The key under which the servers stand.
pub(crate) const SERVERS: &str = "mcpServers";

/// The most servers of one file.
const SERVERS_MAX: usize = 200;

/// Reads one file. A fault costs the server or setting that it is in; only a file that is not JSON,
/// too large, or ambiguous as a whole is lost as a whole. The file itself is never touched.
pub(crate) fn parse(
    text: &str,
    file: &Path,
    source: Source,
    environment: &BTreeMap<String, String>,
) -> Parsed {
    let lost = |problem| Parsed {
        problems: vec![problem],
        ..Parsed::default()
    };
    if text.len() > FILE_MAX {
        let reason = format!("is larger than {} KiB", FILE_MAX >> 10);
        return lost(
            ConfigProblem::of_file(file, reason).with_help("nothing of this file is used"),
        );
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let reader = Reader::new(file, text);
    let root = match reader.parse() {
        Ok(Some(root)) => root,
        Ok(None) => return Parsed::default(),
        Err(problem) => return lost(problem),
    };
    let top = Field {
        path: String::new(),
        value: &root,
    };
    let members = match reader.members(&top) {
        Ok(members) => members,
        Err(problem) => return lost(problem.with_help("nothing of this file is used")),
    };
    let mut parsed = Parsed::default();
    let file = File {
        reader: &reader,
        source,
        environment,
    };
    for member in &members {
        if member.key == SERVERS {
            file.servers(member, &mut parsed);
        } else if let Err(problem) = file.setting(member, &mut parsed.settings) {
            parsed.problems.push(problem);
        }
    }
    parsed
}

struct File<'a, 'r> {
    reader: &'r Reader<'a>,
    source: Source,
    environment: &'r BTreeMap<String, String>,
}

impl<'a> File<'a, '_> {
    fn servers(&self, all: &Member<'a>, parsed: &mut Parsed) {
        let Value::Object(object) = all.field.value else {
            let reason = "must be an object of servers by name";
            parsed
                .problems
                .push(self.reader.problem(&all.field, reason));
            return;
        };
        let members = self.reader.all_members(object, &all.field.path);
        let mut times: HashMap<String, usize> = HashMap::new();
        for member in &members {
            *times.entry(folded(member.key)).or_default() += 1;
        }
        if members.len() > SERVERS_MAX {
            let reason =
                format!("holds more than {SERVERS_MAX} servers; the first {SERVERS_MAX} are read");
            parsed
                .problems
                .push(self.reader.problem(&all.field, reason));
        }
        for member in members.iter().take(SERVERS_MAX) {
            let id = ServerId::new(self.source, member.key);
            let twice = times.get(&folded(member.key)).is_some_and(|n| *n > 1);
            let server = self.server(member, &id, if twice { Name::Twice } else { Name::Once });
            parsed.servers.push(server.map_err(|problem| ConfigProblem {
                server: Some(Box::new(id)),
                ..problem
            }));
        }
    }

    fn server(
        &self,
        member: &Member<'a>,
        id: &ServerId,
        name: Name,
    ) -> Result<ServerDefinition, ConfigProblem> {
        let problem = |reason: &str| {
            self.reader
                .problem_at(member.at, &member.field.path, reason)
        };
        if name == Name::Twice {
            let help = "none of them is used: which one was meant cannot be known";
            return Err(problem("names more than one server").with_help(help));
        }
        if member.key.trim().is_empty() {
            return Err(problem("has no name"));
        }
        if member.key.chars().count() > entry::NAME_MAX
            || member.key.chars().any(clean::is_invisible)
        {
            return Err(problem(
                "has a name with control or invisible characters, or longer than 200",
            ));
        }
        if member.key.contains('/') {
            let help = "rename it: in policies and answers a slash stands between server and tool";
            return Err(problem("has a name with a slash").with_help(help));
        }
        if self.source == Source::Project && !is_word(member.key) {
            let help =
                "a project's server is named with letters, digits, `-`, `_` and `.`, at most 64";
            return Err(problem("has a name that could be read as a sentence").with_help(help));
        }
        entry::server(self.reader, member, id, self.environment)
    }

    fn setting(&self, member: &Member<'a>, settings: &mut Settings) -> Result<(), ConfigProblem> {
        let field = &member.field;
        if !TOP.contains(&member.key) {
            return Err(self.reader.unknown(member, TOP));
        }
        if member.key == "$schema" {
            return self.reader.text(field).map(|_| ());
        }
        if self.source == Source::Project {
            let reason = "is a setting, and a project has none: ignored";
            return Err(self
                .reader
                .problem_at(member.at, &field.path, reason)
                .with_help("settings stand in your own configuration"));
        }
        match member.key {
            "toolNames" => {
                settings.tool_names = Some(self.reader.word(field, &ToolNames::ALL)?);
            }
            "questionTimeoutMs" => {
                settings.question_timeout_ms = Some(self.reader.milliseconds(field)?);
            }
            "startTimeoutMs" => {
                settings.start_timeout_ms = Some(self.reader.milliseconds(field)?);
            }
            "answers" => settings.keep_days = self.answers(field)?,
            _ => settings.audit = AuditSettings::read(self.reader, field)?,
        }
        Ok(())
    }

    fn answers(&self, field: &Field<'a>) -> Result<Option<u64>, ConfigProblem> {
        let mut days = None;
        for member in self.reader.members(field)? {
            if member.key != "keepDays" {
                return Err(self.reader.unknown(&member, &["keepDays"]));
            }
            days = Some(self.reader.days(&member.field)?);
        }
        Ok(days)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Once,
    Twice,
}

/// A name that says no more than a name: models read it before anybody has agreed to the server.
fn is_word(name: &str) -> bool {
    name.chars().count() <= 64
        && (name.chars()).all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// A name as two spellings of it are compared: a composed and a decomposed `é` look the same.
fn folded(name: &str) -> String {
    clean::composed(name)
}
