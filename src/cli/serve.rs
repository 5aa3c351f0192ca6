//! `creance serve`: the gateway on standard input and output, or over HTTP.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Outcome};
use super::out;

/// One MCP server in front of all configured servers. Point your MCP client at it.
///
/// Questions reach you through the client, where it offers elicitation, and through
/// `creance approve` in another terminal. Servers come from ~/.config/creance/config.json, from
/// /etc/creance/config.json, and from .mcp.json and .creance/config.json of the project.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claude mcp add creance -- creance serve
  creance serve --http 127.0.0.1:8377
Over HTTP the endpoint is /mcp. Each client needs a token of the token file
(`Authorization: Bearer TOKEN`), and has servers of its own, which are decided for
in the name of its token.
The variable CREANCE_LOG (error, warn, info, debug) says how much is told on standard error.
Exit code 1 when records of the audit log could not be written.")]
pub(crate) struct ServeArgs {
    /// Serve Streamable HTTP on this address instead of standard input and output
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    http: Option<SocketAddr>,
    /// The tokens that may use it: lines of a name and a token [default: ~/.config/creance/http-tokens,
    /// made when it is missing; needed where the address can be reached from other machines]
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Another name that clients call it by, as `Host` says it (may be repeated)
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    hosts: Vec<String>,
    /// Ask for no token: every program and every user of this machine may use it
    #[arg(long, requires = "http", conflicts_with = "token_file")]
    no_token: bool,
}

pub(crate) async fn run(args: ServeArgs) -> Outcome {
    match args.http {
        Some(address) => over_http(args, address).await?,
        None => out::workspace()?.serve().await?,
    }
    Ok(Exit::Done)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let wanted = "it must be an IP address and a port, as in 127.0.0.1:8377";
    text.parse().map_err(|_| wanted.to_owned())
}

#[cfg(feature = "http")]
async fn over_http(args: ServeArgs, address: SocketAddr) -> Result<(), creance::Error> {
    let mut options = creance::HttpOptions::new(address);
    for host in args.hosts {
        options = options.with_host(host);
    }
    if let Some(file) = args.token_file {
        options = options.with_token_file(file);
    }
    if args.no_token {
        options = options.without_tokens();
    }
    let server = creance::HttpServer::bind(out::workspace()?, &options).await?;
    out::note(&format!("serving {}", server.url()));
    match server.token_file() {
        Some(file) => out::note(&format!("its tokens are in {}", file.display())),
        None => out::note(
            "it asks for no token: every program and every user of this machine may use it",
        ),
    }
    server.serve().await
}

#[cfg(not(feature = "http"))]
async fn over_http(_args: ServeArgs, _address: SocketAddr) -> Result<(), creance::Error> {
    Err(creance::Error::message(
        creance::ErrorKind::Unsupported,
        "this build has no HTTP: it was made without the feature `http`",
    ))
}
