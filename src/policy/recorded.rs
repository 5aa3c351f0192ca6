//! Parts of recorded facts, read back.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::grant::{Confinement, Environment, Grant, Guarantee, Launch, Level};
use crate::request::{
    CallTool, ConnectServer, ReviewTools, RunCommand, ServerFacts, StartServer, ToolFacts,
};

/// What was recorded as it is.
pub(super) fn whole<T: DeserializeOwned>(facts: &Value) -> Result<Box<T>, String> {
    let read = T::deserialize(facts).map(Box::new);
    read.map_err(|error| format!("its facts are not usable: {error}"))
}

/// Members of recorded facts.
pub(super) struct Members<'a>(pub(super) &'a Value);

impl Members<'_> {
    pub(super) fn get<T: DeserializeOwned>(&self, name: &str) -> Result<T, String> {
        let value = self.0.get(name).unwrap_or(&Value::Null);
        T::deserialize(value).map_err(|error| format!("its facts have no usable `{name}`: {error}"))
    }
}

pub(super) fn start(facts: &Members<'_>) -> Result<StartServer, String> {
    Ok(StartServer {
        server: facts.get("server")?,
        program: facts.get("program")?,
        runner: facts.get("runner")?,
        package: (facts.get("package")?, facts.get("package_version")?),
        launch: launch(facts)?,
        grant: grant(facts)?,
        confinement: confinement(facts)?,
        wishes: facts.get("wishes")?,
        secret_names: facts.get("secret_names")?,
        first_time: facts.get("first_time")?,
        config_changed: facts.get("config_changed")?,
        risks: facts.get("risks")?,
        definition: facts.get("definition")?,
        artefact: facts.get("artefact")?,
    })
}

pub(super) fn remote(facts: &Members<'_>) -> Result<ConnectServer, String> {
    Ok(ConnectServer {
        server: facts.get("server")?,
        host: facts.get("host")?,
        scheme: facts.get("scheme")?,
        port: facts.get("port")?,
        addresses: Vec::from_iter(facts.get::<Option<_>>("ip")?),
        auth: facts.get("shows")?,
        first_time: facts.get("first_time")?,
        definition: facts.get("definition")?,
    })
}

pub(super) fn command(facts: &Members<'_>) -> Result<RunCommand, String> {
    Ok(RunCommand {
        program: facts.get("program")?,
        launch: launch(facts)?,
        grant: grant(facts)?,
        confinement: confinement(facts)?,
        wishes: facts.get("wishes")?,
        risks: facts.get("risks")?,
        fingerprint: facts.get("fingerprint")?,
    })
}

pub(super) fn tools(facts: &Members<'_>) -> Result<ReviewTools, String> {
    Ok(ReviewTools {
        server: facts.get("server")?,
        tools: facts.get("tools")?,
        first_time: facts.get("first_time")?,
        added: facts.get("added")?,
        removed: facts.get("removed")?,
        changed: facts.get("changed")?,
        flags: facts.get("flags")?,
    })
}

pub(super) fn call(facts: &Members<'_>, resource: &str) -> Result<CallTool, String> {
    let server: ServerFacts = facts.get("server")?;
    let name = resource.strip_prefix(&server.id.to_string());
    let name = name.and_then(|name| name.strip_prefix('/'));
    Ok(CallTool {
        tool: ToolFacts {
            name: name.ok_or("its tool is not its server's")?.to_owned(),
            server,
            digest: facts.get("tool_digest")?,
            claims: facts.get("claims")?,
        },
        arguments: facts.get("arguments")?,
        arguments_digest: facts.get("arguments_digest")?,
        arguments_bytes: facts.get("arguments_bytes")?,
        valid: facts.get("valid")?,
        secrets: facts.get("secrets")?,
        paths: facts.get("paths")?,
        option_like: facts.get("option_like")?,
        calls_this_session: facts.get("calls_this_session")?,
    })
}

fn launch(facts: &Members<'_>) -> Result<Launch, String> {
    Ok(Launch {
        program: facts.get::<Program>("program")?.path,
        name: facts.get("name")?,
        args: facts.get("args")?,
        cwd: facts.get("cwd")?,
        stamps: Vec::new(),
    })
}

#[derive(Deserialize)]
struct Program {
    path: std::path::PathBuf,
}

/// Of a grant its network and the names of its variables are on record; its folders are wishes.
fn grant(facts: &Members<'_>) -> Result<Grant, String> {
    let names: Vec<String> = facts.get("env_names")?;
    let variables = names.into_iter().map(|name| (name, String::new()));
    Ok(Grant {
        network: facts.get("network")?,
        env: Environment(variables.collect()),
        ..Grant::default()
    })
}

#[derive(Deserialize)]
struct Held {
    backend: String,
    #[serde(default)]
    enforced: Vec<String>,
    #[serde(default)]
    weakened: Vec<String>,
}

fn confinement(facts: &Members<'_>) -> Result<Confinement, String> {
    let held: Held = facts.get("confinement")?;
    let level = |guarantee: Guarantee| {
        let (by, why) = (String::new(), String::new());
        let name = guarantee.name();
        if held.enforced.iter().any(|held| held == name) {
            Level::Enforced { by }
        } else if held.weakened.iter().any(|held| held == name) {
            Level::Weakened { by, why }
        } else {
            Level::Absent { why }
        }
    };
    let levels = Guarantee::ALL.map(|guarantee| (guarantee, level(guarantee)));
    Ok(Confinement {
        backend: held.backend,
        levels: BTreeMap::from(levels),
    })
}
