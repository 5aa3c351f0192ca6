//! `creance server`: the configured servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Subcommand;
use creance::{Error, ErrorKind, HostRule, Network, Prompt, Tone, Workspace};

use super::exit::{Exit, Outcome};
use super::export::{self, ExportArgs};
use super::import::{self, ImportArgs};
use super::out::{self, Form};
use super::paint::{Paint, Table, UNBROKEN};

/// The configured servers.
#[derive(Debug, Subcommand)]
pub(crate) enum ServerCommand {
    /// List the configured servers
    #[command(after_help = "Example: creance server list --json")]
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Add a server to your configuration
    #[command(
        trailing_var_arg = true,
        after_help = "Examples:\n  creance server add files -- npx -y @modelcontextprotocol/server-filesystem .\n  creance server add web --url https://mcp.example.com/mcp --header 'Authorization=Bearer ${TOKEN}'"
    )]
    Add {
        /// Its name
        name: String,
        /// A variable for it, `NAME=VALUE` or `NAME=${NAME}`
        #[arg(long, value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// Give it the whole network
        #[arg(long, conflicts_with = "host")]
        network: bool,
        /// A host that it may reach (port 443 when none is named); `*.HOST` for all below it
        #[arg(long, value_name = "HOST[:PORT]")]
        host: Vec<HostRule>,
        /// The address of a remote server, in place of a command
        #[arg(long, conflicts_with_all = ["command", "env", "network", "host"])]
        url: Option<String>,
        /// How the remote server is spoken to; both are tried without it
        #[arg(long, requires = "url", value_parser = ["http", "sse"])]
        transport: Option<String>,
        /// A header of each request to the remote server, `NAME=VALUE` or `NAME=${NAME}`
        #[arg(long, requires = "url", value_name = "NAME=VALUE")]
        header: Vec<String>,
        /// The command
        #[arg(required_unless_present = "url", value_name = "CMD")]
        command: Vec<String>,
    },
    /// Remove a server from your configuration, and forget what is on file about it
    #[command(after_help = "Example: creance server remove files")]
    Remove {
        /// Its name
        name: String,
    },
    /// Take over the servers of other clients, after showing what becomes of each
    Import(ImportArgs),
    /// Put the gateway into a client's configuration, in the place of its servers
    Export(ExportArgs),
    /// What is on file about each server, and what would be decided about its start now
    #[command(after_help = "Example: creance server status")]
    Status {
        #[command(flatten)]
        form: Form,
    },
    /// Agree to a server and its tools at this terminal, by starting it once
    #[command(after_help = "Example: creance server trust files")]
    Trust {
        /// The server
        name: String,
    },
    /// Sign in to a remote server, in your browser
    #[command(
        after_help = "Example: creance server login notes\n\nThe page is named before it opens, and nothing opens before \
                      you agreed. Where no browser opens, open the printed address yourself on this machine."
    )]
    Login {
        /// The server
        name: String,
    },
    /// Sign out of a remote server: forget its tokens
    #[command(after_help = "Example: creance server logout notes")]
    Logout {
        /// The server
        name: String,
    },
    /// Forget that a server was agreed to, and all answers about it
    #[command(after_help = "Example: creance server forget user/files")]
    Forget {
        /// The server's identity, `user/files`
        id: String,
    },
}

pub(crate) async fn run(command: ServerCommand) -> Outcome {
    // These tell of variables that are not set in their own words.
    let workspace = match command {
        ServerCommand::Import(_) | ServerCommand::Export(_) => Workspace::open()?,
        _ => out::workspace()?,
    };
    match command {
        ServerCommand::List { form } => list(&workspace, form),
        ServerCommand::Add {
            name,
            env,
            network,
            host,
            url,
            transport,
            header,
            command,
        } => {
            if let Some(url) = url {
                let kind = transport.as_deref();
                return add_remote(&workspace, (&name, &url), (kind, &header));
            }
            let network = if network {
                Network::Whole
            } else {
                Network::None
            };
            add(&workspace, &name, (&env, &command), (network, &host))
        }
        ServerCommand::Remove { name } => {
            let file = workspace.remove_server(&name)?;
            out::line(&format!("removed {name} from {file}"));
            Ok(Exit::Done)
        }
        ServerCommand::Import(args) => import::run(&workspace, &args),
        ServerCommand::Export(args) => export::run(&workspace, &args),
        ServerCommand::Status { form } => status(&workspace, form),
        ServerCommand::Trust { name } => trust(&workspace, &name).await,
        ServerCommand::Login { name } => login(&workspace, &name).await,
        ServerCommand::Logout { name } => {
            let said = match workspace.sign_out(&name).await? {
                true => "signed out of",
                false => "nobody was signed in to",
            };
            out::line(&format!("{said} {name}"));
            Ok(Exit::Done)
        }
        ServerCommand::Forget { id } => {
            let count = workspace.forget_server(&id)?;
            out::line(&format!("forgot {count} pins and answers about {id}"));
            Ok(Exit::Done)
        }
    }
}

fn list(workspace: &Workspace, form: Form) -> Outcome {
    let servers = workspace.servers()?;
    if form.is_json() {
        out::json(&servers);
        return Ok(Exit::Done);
    }
    let mut table = Table::new(["server", "", "command"]);
    for server in &servers {
        let off = if server.enabled { "" } else { "off" };
        let cells = [&*server.id, off, &*server.command];
        table.row(cells.map(|cell| (Tone::Plain, cell)));
    }
    if servers.is_empty() {
        out::line(none(workspace));
    } else {
        let paint = Paint::for_stdout();
        let width = Paint::given_width().unwrap_or(UNBROKEN);
        out::painted(paint.text(&table.lines(width)).trim_end());
    }
    Ok(Exit::Done)
}

fn add(
    workspace: &Workspace,
    name: &str,
    (env, command): (&[String], &[String]),
    network: (Network, &[HostRule]),
) -> Outcome {
    let variables = pairs("--env", env)?;
    let added = workspace.add_server(name, command, &variables, network)?;
    said(name, added)
}

fn add_remote(
    workspace: &Workspace,
    (name, url): (&str, &str),
    (kind, headers): (Option<&str>, &[String]),
) -> Outcome {
    let headers = pairs("--header", headers)?;
    let added = workspace.add_remote_server(name, url, (kind, &headers))?;
    said(name, added)
}

/// Options of the form NAME=VALUE. A value may be a secret, so an error does not repeat it.
fn pairs(option: &str, given: &[String]) -> Result<BTreeMap<String, String>, Error> {
    let pair = |text: &String| {
        let pair = text.split_once('=');
        pair.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .ok_or_else(|| {
                Error::message(ErrorKind::Usage, &format!("`{option}` is not NAME=VALUE"))
            })
    };
    given.iter().map(pair).collect()
}

fn said(name: &str, (file, missing): (String, Option<String>)) -> Outcome {
    out::line(&format!("added {name} to {file}"));
    if let Some(missing) = missing {
        out::note(&missing);
    }
    Ok(Exit::Done)
}

fn status(workspace: &Workspace, form: Form) -> Outcome {
    let servers = workspace.servers()?;
    if form.is_json() {
        out::json(&servers);
        return Ok(Exit::Done);
    }
    for server in &servers {
        let off = if server.enabled { "" } else { " (off)" };
        out::line(&format!("{}{off}", server.id));
        // At a terminal, each goes on below its own column.
        out::folded(&format!("  state    {}", server.state));
        out::folded(&format!("  command  {}", server.command));
        out::folded(&format!("  defined  {}", server.origin));
        out::folded(&format!("  network  {}", server.network));
        out::folded(&format!("  tools    {} agreed to", server.tools));
        if let Some(why) = &server.unpinned {
            out::folded(&format!("  program  not pinned: {why}"));
        }
    }
    let answers = workspace.answers()?.len();
    if answers > 0 {
        out::line(&format!(
            "{answers} lasting answers: `creance answers list`"
        ));
    }
    Ok(Exit::Done)
}

async fn login(workspace: &Workspace, name: &str) -> Outcome {
    let prompt = Prompt::new(Paint::for_stdout().colour);
    let show = |page: &str| {
        out::note(
            "the sign-in page opens in your browser; if it does not, open this address on this machine:",
        );
        out::note(page);
    };
    let granted = workspace.sign_in(name, Arc::new(prompt), &show).await?;
    out::line(&format!("signed in to {name}"));
    if !granted.is_empty() {
        out::line(&format!("  granted: {}", granted.join(" ")));
    }
    Ok(Exit::Done)
}

async fn trust(workspace: &Workspace, name: &str) -> Outcome {
    let prompt = Prompt::new(Paint::for_stdout().colour);
    let (tools, left_out) = workspace.trust_server(name, Arc::new(prompt)).await?;
    out::line(&format!("{name} is agreed to, with {tools} tools"));
    for (tool, why) in left_out {
        out::line(&format!("  left out: {tool}: {why}"));
    }
    Ok(Exit::Done)
}

/// What is said where there is no server to show.
pub(super) fn none(workspace: &Workspace) -> &'static str {
    if workspace.problems().is_empty() {
        "no servers are configured: `creance server add` or `import` adds some"
    } else {
        "none of the configured servers can be used: the reasons stand on standard error"
    }
}
