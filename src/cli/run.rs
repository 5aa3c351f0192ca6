//! `creance run`: one command, or one stdio MCP server, in the sandbox and under policy.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use creance::{Colour, CommandSpec, HostRule, Limit, Network, Prompt, ServerSpec, Trigger};

use super::exit::{Exit, Outcome};
use super::out;
use super::paint::Paint;

/// Runs any program in the sandbox: the project is writable (its protected files are not), the home
/// folder is hidden, there is no network unless you grant it.
#[derive(Debug, Args)]
#[command(
    trailing_var_arg = true,
    after_help = "Examples:\n  creance run -- npm test\n  creance run --network -- claude\n  \
                  creance run --host registry.example.org -- npm install\n  \
                  creance run --mcp -- npx -y @modelcontextprotocol/server-memory"
)]
pub(crate) struct RunArgs {
    /// The command is a stdio MCP server: serve it, and decide each of its calls
    #[arg(long)]
    mcp: bool,
    /// Give it the whole network
    #[arg(long, conflicts_with = "host")]
    network: bool,
    /// A host that it may reach (port 443 when none is named); `*.HOST` for all below it
    #[arg(long, value_name = "HOST[:PORT]")]
    host: Vec<HostRule>,
    /// A folder or file that it may read beside the project
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// A folder or file that it may write beside the project; a guarded one in it (`.git/config`) is asked about
    #[arg(long, value_name = "PATH")]
    write: Vec<PathBuf>,
    /// Let it make Unix sockets; it can then also reach those in folders that it reads
    #[arg(long)]
    sockets: bool,
    /// A Unix socket of this machine that it may use
    #[arg(long, value_name = "PATH")]
    socket: Vec<PathBuf>,
    /// A variable of your environment that it gets
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// A limit: memory, fileSize or temp (512MiB, 2GiB), cpu or time (90s, 10m), processes, openFiles
    #[arg(long, value_name = "NAME=VALUE", value_parser = limit)]
    limit: Vec<(Limit, u64)>,
    /// The command
    #[arg(required = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Reads `NAME=VALUE`.
fn limit(text: &str) -> Result<(Limit, u64), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let limit = Limit::of_key(name).ok_or_else(|| {
        let known = Limit::ALL.map(Limit::key).join(", ");
        format!("there is no limit of that name: {known}")
    })?;
    let value = limit.read(value).map_err(|why| format!("`{name}` {why}"))?;
    Ok((limit, value))
}

pub(crate) async fn run(args: RunArgs) -> Outcome {
    let workspace = out::workspace()?;
    let withheld = withheld(&args);
    if args.mcp {
        let Some(spec) = server(args) else {
            return Ok(Exit::Usage);
        };
        workspace.serve_one(spec).await?;
        return Ok(Exit::Done);
    }
    let Some(mut spec) = command(args) else {
        return Ok(Exit::Usage);
    };
    if std::io::stdin().is_terminal() {
        spec = spec.on_terminal();
    }
    let colour: Colour = Paint::for_stdout().colour;
    let session = workspace.session(Arc::new(Prompt::new(colour)), Trigger::Person)?;
    let exit = session.run(&spec).await?;
    if let Some(hit) = exit.limit {
        let name = hit.limit.key();
        out::error_line(&format!(
            "it reached its {hit}: `--limit {name}=…` sets another"
        ));
    } else if exit.code.is_some_and(|code| code != 0) {
        out::note(&withheld);
    }
    let code = exit.code.or_else(|| exit.signal.map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(Exit::Failed, Exit::Code))
}

fn network(args: &RunArgs) -> Network {
    if args.network {
        Network::Whole
    } else {
        Network::None
    }
}

/// The command line as one server.
fn server(args: RunArgs) -> Option<ServerSpec> {
    let network = network(&args);
    let (program, rest) = args.command.split_first()?;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut spec = ServerSpec::of_command(program, rest.to_vec()).network(network);
    spec = args.host.into_iter().fold(spec, ServerSpec::host);
    spec = (args.read.into_iter().map(text)).fold(spec, ServerSpec::read_path);
    spec = (args.write.into_iter().map(text)).fold(spec, ServerSpec::write_path);
    spec = (args.socket.into_iter().map(text)).fold(spec, ServerSpec::socket);
    if args.sockets {
        spec = spec.own_sockets();
    }
    spec = (args.limit.into_iter()).fold(spec, |spec, (limit, value)| spec.limit(limit, value));
    for name in args.env {
        if let Ok(value) = std::env::var(&name) {
            spec = spec.env(name, value);
        }
    }
    Some(spec)
}

/// The command line as one command.
fn command(args: RunArgs) -> Option<CommandSpec> {
    let network = network(&args);
    let (program, rest) = args.command.split_first()?;
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    let mut spec = CommandSpec::new(program).args(rest).network(network);
    spec = args.host.into_iter().fold(spec, CommandSpec::host);
    spec = (args.read.into_iter().map(absolute)).fold(spec, CommandSpec::read_path);
    spec = (args.write.into_iter().map(absolute)).fold(spec, CommandSpec::write_path);
    spec = (args.socket.into_iter().map(absolute)).fold(spec, CommandSpec::socket);
    if args.sockets {
        spec = spec.own_sockets();
    }
    spec = (args.limit.into_iter()).fold(spec, |spec, (limit, value)| spec.limit(limit, value));
    Some(args.env.into_iter().fold(spec, CommandSpec::pass_env))
}

/// What a command that failed may have lacked, and how it is granted. The sandbox cannot tell what it
/// refused: errors reach the program alone.
fn withheld(args: &RunArgs) -> String {
    let mut lacks = Vec::new();
    match (args.network, args.host.is_empty()) {
        (true, _) => {}
        (false, true) => lacks.push("has no network (--host HOST, --network)"),
        (false, false) => lacks.push("reaches the granted hosts alone (--host HOST)"),
    }
    lacks.push("writes in the project alone (--write PATH)");
    lacks.push("sees nothing else of the home folder (--read PATH)");
    if !args.sockets && args.socket.is_empty() {
        lacks.push("makes no Unix sockets (--sockets)");
    }
    lacks.push("leaves .git/config, hooks and tool settings as they are (--write FILE asks)");
    lacks.push("meets limits of memory, file size, open files and processes (--limit NAME=VALUE)");
    format!(
        "it failed, perhaps because a command in the sandbox {}",
        lacks.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    #[test]
    fn a_failed_command_hears_what_it_may_have_lacked() {
        for (args, want, not) in [
            (&[][..], "has no network", "granted hosts"),
            (&[], "--limit NAME=VALUE", "granted hosts"),
            (&["--network"], "--limit NAME=VALUE", "network"),
            (&["--host", "a.test"], "granted hosts", "no network"),
            (&["--sockets"], "--read PATH", "--sockets"),
        ] {
            let line = ["run"].iter().chain(args).chain(&["--", "x"]);
            let told = withheld(&Line::parse_from(line).run);
            assert!(told.contains(want) && !told.contains(not), "{told}");
        }
    }
}
