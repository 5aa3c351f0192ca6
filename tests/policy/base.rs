//! Requests that the built-in policies answer in the plainest way; each test changes what it is about.

use std::collections::BTreeMap;

use creance::{
    Act, Agent, Answer, ArgPath, AuthKind, CallTool, Confinee, Confinement, ConnectHost,
    ConnectServer, CreateSample, Digest, ElicitForm, ElicitUrl, EnvFacts, Environment, GetPrompt,
    Grant, Guarantee, Launch, Layer, Level, Network, PathFacts, Pin, Places, PolicyOutcome,
    PolicySet, PolicySource, Principal, ProgramFacts, Project, Query, ReadResource, ReviewTools,
    Run, RunCommand, RunnerKind, Scheme, ServerFacts, ServerId, SignIn, Source, StartServer,
    ToolClaims, ToolFacts, Transport, Trigger, Wish,
};
use serde_json::json;

/// A query that owns what it is about.
#[derive(Clone, Debug)]
pub(crate) struct Asking {
    pub(crate) agent: Agent,
    /// The server that acts, instead of the agent.
    pub(crate) by: Option<ServerFacts>,
    pub(crate) run: Run,
    pub(crate) act: Owned,
}

#[derive(Clone, Debug)]
pub(crate) enum Owned {
    Start(Box<StartServer>),
    Tools(ReviewTools),
    Wish(Wish),
    Connect(ConnectHost),
    Remote(Box<ConnectServer>),
    Call(CallTool),
    Read(ReadResource),
    Prompt(GetPrompt),
    Form(ElicitForm),
    Link(ElicitUrl),
    Sample(CreateSample),
    Exec(Box<RunCommand>),
    SignIn(Box<SignIn>),
}

impl Asking {
    pub(crate) fn new(act: Owned) -> Self {
        Self {
            agent: Agent::new("claude-code", "u"),
            by: None,
            run: run(),
            act,
        }
    }

    pub(crate) fn by(mut self, server: ServerFacts) -> Self {
        self.by = Some(server);
        self
    }

    pub(crate) fn query(&self) -> Query<'_> {
        let act = match &self.act {
            Owned::Start(start) => Act::StartServer(start),
            Owned::Tools(review) => Act::ReviewTools(review),
            Owned::Wish(wish) => Act::Wish(wish),
            Owned::Connect(connect) => Act::Connect(connect),
            Owned::Remote(connect) => {
                Act::ConnectServer(connect, connect.addresses.first().copied())
            }
            Owned::Call(call) => Act::CallTool(call),
            Owned::Read(read) => Act::ReadResource(read),
            Owned::Prompt(get) => Act::GetPrompt(get),
            Owned::Form(form) => Act::ElicitForm(form),
            Owned::Link(link) => Act::ElicitUrl(link),
            Owned::Sample(sample) => Act::CreateSample(sample),
            Owned::Exec(command) => Act::RunCommand(command),
            Owned::SignIn(sign_in) => Act::SignIn(sign_in),
        };
        let principal = match &self.by {
            Some(server) => Principal::Server(server),
            None => Principal::Agent(&self.agent),
        };
        Query {
            agent: &self.agent,
            principal,
            act,
            run: &self.run,
        }
    }

    pub(crate) fn outcome(&self, policies: &PolicySet) -> PolicyOutcome {
        policies.evaluate_all(&[self.query()], Answer::None).outcome
    }

    pub(crate) fn start(&mut self) -> &mut StartServer {
        match &mut self.act {
            Owned::Start(start) => start,
            other => panic!("no server.start: {other:?}"),
        }
    }

    pub(crate) fn tools(&mut self) -> &mut ReviewTools {
        match &mut self.act {
            Owned::Tools(review) => review,
            other => panic!("no server.tools: {other:?}"),
        }
    }

    pub(crate) fn remote(&mut self) -> &mut ConnectServer {
        match &mut self.act {
            Owned::Remote(connect) => connect,
            other => panic!("no server.connect: {other:?}"),
        }
    }

    pub(crate) fn call(&mut self) -> &mut CallTool {
        match &mut self.act {
            Owned::Call(call) => call,
            other => panic!("no tool.call: {other:?}"),
        }
    }

    pub(crate) fn exec(&mut self) -> &mut RunCommand {
        match &mut self.act {
            Owned::Exec(command) => command,
            other => panic!("no exec.run: {other:?}"),
        }
    }

    pub(crate) fn server(&mut self) -> &mut ServerFacts {
        match &mut self.act {
            Owned::Start(start) => &mut start.server,
            Owned::Tools(review) => &mut review.server,
            Owned::Call(call) => &mut call.tool.server,
            Owned::Read(read) => &mut read.server,
            Owned::SignIn(sign_in) => &mut sign_in.server,
            Owned::Prompt(get) => &mut get.server,
            Owned::Remote(connect) => &mut connect.server,
            Owned::Wish(_)
            | Owned::Connect(_)
            | Owned::Form(_)
            | Owned::Link(_)
            | Owned::Sample(_) => self.by.as_mut().expect("a server asks"),
            Owned::Exec(_) => panic!("a command has no server"),
        }
    }
}

/// A running server connects to a host that was not asked for at its start.
pub(crate) fn connect(host: &str) -> Asking {
    Asking::new(Owned::Connect(ConnectHost {
        confinee: Confinee::Server(Box::new(server())),
        host: host.parse().expect("a host name"),
        port: 443,
        listed: false,
        covered: Answer::None,
    }))
    .by(server())
}

/// A remote server of the user that was agreed to.
pub(crate) fn remote() -> Asking {
    let mut server = server();
    server.transport = Transport::Http;
    server.sandboxed = false;
    Asking::new(Owned::Remote(Box::new(ConnectServer {
        server,
        host: "mcp.example.com".parse().expect("a host name"),
        scheme: Scheme::Https,
        port: 443,
        addresses: vec!["8.8.8.8".parse().expect("an address")],
        auth: AuthKind::None,
        first_time: false,
        definition: Digest::of("definition"),
    })))
}

pub(crate) fn run() -> Run {
    Run {
        now_ms: 1_796_000_000_000,
        project: Project {
            id: "/w/p".to_owned(),
            trusted: true,
        },
        trigger: Trigger::Agent,
        attended: true,
        dry_run: false,
    }
}

pub(crate) fn places() -> Places {
    Places {
        home: "/home/u".to_owned(),
        project: Some("/w/p".to_owned()),
        temp: vec!["/tmp".to_owned()],
        cache: vec!["/home/u/.cache".to_owned()],
        own: vec!["/home/u/.config/creance".to_owned()],
    }
}

/// The facts of a path; one that does not begin with `/` is below the project.
pub(crate) fn path(text: &str) -> PathFacts {
    if text.starts_with('/') {
        places().facts(text)
    } else {
        places().facts(format!("/w/p/{text}"))
    }
}

pub(crate) fn server() -> ServerFacts {
    ServerFacts {
        id: ServerId::new(Source::User, "files"),
        transport: Transport::Stdio,
        pin: Pin::Matched,
        tools_pin: Pin::Matched,
        sandboxed: true,
        subject: "user/files".to_owned(),
        itself: Digest::of("server"),
        tools: Digest::of("tools"),
    }
}

pub(crate) fn confined() -> Confinement {
    let enforced = Level::Enforced {
        by: "test".to_owned(),
    };
    Confinement {
        backend: "linux-ns".to_owned(),
        levels: Guarantee::ALL
            .into_iter()
            .map(|guarantee| (guarantee, enforced.clone()))
            .collect(),
    }
}

pub(crate) fn weakened(guarantee: Guarantee) -> Confinement {
    let mut confinement = confined();
    let level = Level::Weakened {
        by: "test".to_owned(),
        why: "a test".to_owned(),
    };
    confinement.levels.insert(guarantee, level);
    confinement
}

fn launch(program: &str, args: &[&str]) -> Launch {
    Launch {
        program: program.into(),
        name: program.rsplit('/').next().unwrap_or_default().to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        cwd: "/w/p".into(),
        stamps: Vec::new(),
    }
}

fn grant() -> Grant {
    Grant {
        env: Environment(BTreeMap::from([("PATH".to_owned(), "/usr/bin".to_owned())])),
        network: Network::None,
        ..Grant::default()
    }
}

fn program(path: &str) -> ProgramFacts {
    ProgramFacts {
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        path: path.to_owned(),
        pin: Pin::Matched,
    }
}

/// A known server of the user starts in a full sandbox.
pub(crate) fn start() -> Asking {
    Asking::new(Owned::Start(Box::new(StartServer {
        server: server(),
        program: program("/usr/bin/npx"),
        runner: RunnerKind::Npx,
        package: ("@mcp/server-files".to_owned(), "1.2.3".to_owned()),
        launch: launch("/usr/bin/npx", &["-y", "@mcp/server-files@1.2.3"]),
        grant: grant(),
        confinement: confined(),
        wishes: Vec::new(),
        secret_names: Vec::new(),
        first_time: false,
        config_changed: false,
        risks: Vec::new(),
        definition: Digest::of("definition"),
        artefact: Some(Digest::of("artefact")),
    })))
}

/// The agreed tool list, unchanged.
pub(crate) fn tools() -> Asking {
    Asking::new(Owned::Tools(ReviewTools {
        server: server(),
        tools: Digest::of("tools"),
        first_time: false,
        added: Vec::new(),
        removed: Vec::new(),
        changed: Vec::new(),
        flags: Vec::new(),
    }))
}

/// A server wants something of its sandbox.
pub(crate) fn wish(wish: Wish) -> Asking {
    Asking::new(Owned::Wish(wish)).by(server())
}

pub(crate) fn env(name: &str) -> Asking {
    wish(Wish::Env(EnvFacts {
        name: name.to_owned(),
        looks_secret: false,
    }))
}

/// The agent reads a file of the project through a tool.
pub(crate) fn call() -> Asking {
    let arguments = json!({ "path": "docs/a.md", "head": 10 });
    Asking::new(Owned::Call(CallTool {
        tool: ToolFacts {
            server: server(),
            name: "read_text_file".to_owned(),
            digest: Digest::of("tool"),
            claims: ToolClaims::default(),
        },
        arguments_digest: Digest::of(arguments.to_string()),
        arguments_bytes: arguments.to_string().len() as u64,
        arguments,
        valid: true,
        secrets: false,
        paths: vec![arg_path("path", "docs/a.md")],
        option_like: Vec::new(),
        calls_this_session: 0,
    }))
}

pub(crate) fn arg_path(arg: &str, text: &str) -> ArgPath {
    ArgPath {
        arg: arg.to_owned(),
        path: Some(path(text)),
    }
}

pub(crate) fn lost_path(arg: &str) -> ArgPath {
    ArgPath {
        arg: arg.to_owned(),
        path: None,
    }
}

pub(crate) fn resource() -> Asking {
    Asking::new(Owned::Read(ReadResource {
        server: server(),
        uri: "file:///w/p/a.md".to_owned(),
    }))
}

pub(crate) fn prompt() -> Asking {
    Asking::new(Owned::Prompt(GetPrompt {
        server: server(),
        name: "review".to_owned(),
        arguments: vec![("branch".to_owned(), "main".to_owned())],
    }))
}

/// A person runs a command in a full sandbox.
pub(crate) fn exec() -> Asking {
    let mut asking = Asking::new(Owned::Exec(Box::new(RunCommand {
        program: program("/usr/bin/git"),
        launch: launch("/usr/bin/git", &["status"]),
        grant: grant(),
        confinement: confined(),
        wishes: Vec::new(),
        risks: Vec::new(),
        fingerprint: Digest::of("command"),
    })));
    asking.run.trigger = Trigger::Person;
    asking
}

/// Built-in policies and these of the user.
pub(crate) fn user(text: &str) -> PolicySet {
    layer(Layer::User, text)
}

/// Built-in policies and these of one layer.
pub(crate) fn layer(layer: Layer, text: &str) -> PolicySet {
    let source = PolicySource {
        layer,
        file: "test.cedar".to_owned(),
        text: text.to_owned(),
    };
    match PolicySet::parse(&[source]) {
        Ok((set, _)) => set,
        Err(problems) => {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            panic!("{}", lines.join("\n"))
        }
    }
}
