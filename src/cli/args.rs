//! The command line as typed, and the way from it to a command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::exit::{Exit, Outcome};
use super::{
    answers, approve, audit, config, demo, doctor, dry_run, log, out, policy, run, serve, server,
};

/// Lets an AI agent fly on a line: MCP servers and commands run in an OS sandbox, every decision
/// about them goes to a Cedar policy store, and everything is on record.
#[derive(Debug, Parser)]
#[command(
    name = "creance",
    version,
    term_width = help_width(),
    after_help = "Exit codes: 0 done, 1 failed, 2 usage, 3 denied by policy, 4 needs an answer, 5 nobody can tell (proofs).\n\
                  Try it: creance demo"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The whole product in one minute, with nothing but this binary
    Demo(demo::DemoArgs),
    /// The gateway: one MCP server (stdio or HTTP) in front of all yours
    Serve(serve::ServeArgs),
    /// Run one command in the sandbox, under policy
    Run(run::RunArgs),
    /// Answer waiting questions
    Approve(approve::ApproveArgs),
    /// Lasting answers: list them, take them back, make policies of them
    #[command(subcommand)]
    Answers(answers::AnswersCommand),
    /// List, add, remove, import, export, trust and forget servers
    #[command(subcommand)]
    Server(server::ServerCommand),
    /// Policies: check, test, explain, compare, write; make bundles of them
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// What would be decided: servers, one request, a recorded session
    DryRun(dry_run::DryRunArgs),
    /// The audit log: show, verify, count, export, decide again
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Check the configuration files
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// What this machine can enforce, tested by doing it
    Doctor(doctor::DoctorArgs),
}

/// Help is as wide as the terminal, and 80 columns where there is none.
fn help_width() -> usize {
    creance::stdout_width().unwrap_or(80).clamp(40, 100)
}

/// Parses the command line and runs the command.
pub(crate) fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            }
            .into();
        }
    };
    log::start();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            out::error_line(&format!("the runtime does not start: {error}"));
            return Exit::Failed.into();
        }
    };
    let outcome = runtime.block_on(command(cli.command));
    // A read of standard input that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) => {
            out::error_line(&error.to_string());
            Exit::of(&error).into()
        }
    }
}

async fn command(command: Command) -> Outcome {
    match command {
        Command::Demo(args) => demo::run(args).await,
        Command::Serve(args) => serve::run(args).await,
        Command::Run(args) => run::run(args).await,
        Command::Approve(args) => {
            let workspace = creance::Workspace::open()?;
            Ok(Exit::Code(approve::run(args, workspace.sockets()).await))
        }
        Command::Answers(command) => answers::run(&command),
        Command::Server(command) => server::run(command).await,
        Command::Policy(command) => policy::run(command).await,
        Command::DryRun(args) => dry_run::run(args).await,
        Command::Audit(command) => audit::run(command).await,
        Command::Config(command) => config::run(command),
        Command::Doctor(args) => doctor::run(args),
    }
}
