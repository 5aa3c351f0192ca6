//! The commands of `creance policy` as typed.

use std::path::PathBuf;

use clap::Subcommand;

use super::bundle::{BundleArgs, KeyArgs, SignArgs, VerifyArgs};
use super::check::CheckArgs;
use super::diff::DiffArgs;
use super::explain::ExplainArgs;
use super::fmt::FmtArgs;
use super::init::InitArgs;
#[cfg(feature = "prove")]
use super::prove::{self, ProveArgs};
use super::schema::SchemaArgs;
use super::test::TestArgs;
use super::{bundle, check, diff, explain, fmt, init, list, schema, test};
use crate::cli::exit::Outcome;
use crate::cli::out::Form;

/// The policies.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Check policies: syntax, schema, layers, and the rules that make them fail closed
    #[command(
        after_help = "Examples:\n  creance policy check              what is in force here\n  \
                            creance policy check my-policies/\n  creance policy check acme/ \
                            --format sarif > acme.sarif\nExit code 1 when they cannot be used."
    )]
    Check(CheckArgs),
    /// Run tests of policies: requests in a few words, and what should be decided
    #[command(
        after_help = "Examples:\n  creance policy test                        the tests in your policy folder\n  \
                            creance policy test policies/ --mutation\n  creance policy test --builtin \
                            --coverage --mutation\nExit code 1 when a test fails, or what is asked for \
                            with --coverage or --mutation does not hold."
    )]
    Test(TestArgs),
    /// Show how a request would be decided, policy by policy and clause by clause
    #[command(
        after_help = "Examples:\n  creance policy explain start user/files\n  creance policy \
                            explain call user/files write_file '{\"path\": \"docs/a.md\"}'\n  creance policy \
                            explain --decision 12"
    )]
    Explain(ExplainArgs),
    /// Compare two stores: their policies, their tests and recorded decisions under each, and with
    /// `--prove` all requests that there can be
    #[command(
        after_help = "Examples:\n  creance policy diff active acme/\n  creance policy diff \
                            acme-7.bundle acme-8.bundle --prove\n  creance policy diff active acme/ \
                            --audit ~/.local/state/creance/audit.jsonl\nExit code 1 when something is \
                            decided otherwise, 5 when a proof is asked for and nobody can tell."
    )]
    Diff(DiffArgs),
    /// Prove what holds of all requests that there can be, with the solver cvc5
    #[cfg(feature = "prove")]
    #[command(
        after_help = "Claims:\n  guard-rails       no policy of the user or a project lifts a forbid from \
                            above\n  project-tightens  the project's policies only take away\n  answers-add       \
                            an answer never takes away what is allowed without it\n  invariant/ID      what the \
                            file of invariants says: a forbid is never allowed, a permit always\n  no-errors         \
                            no policy ends in an error\n\nExamples:\n  creance policy prove                     \
                            what is in force here\n  creance policy prove acme/ --save acme/tests/found.json\n  \
                            creance policy prove --print > ours.cedar\n  creance policy \
                            prove --invariants ours.cedar --json\n\nExit code 0 when all is \
                            proved, 1 when a claim is refuted, 5 when nobody can tell: no solver, or it gave up. \
                            Who is in which set is not looked at: a proof holds whoever is in them."
    )]
    Prove(ProveArgs),
    /// List the policies in force, by layer
    #[command(after_help = "Example: creance policy list --text")]
    List {
        /// With their text
        #[arg(long)]
        text: bool,
        #[command(flatten)]
        form: Form,
    },
    /// Write policies in their one form
    #[command(
        after_help = "Examples:\n  creance policy fmt my-policies/\n  creance policy fmt --check acme/\n  creance policy fmt \
                            --fix acme/"
    )]
    Fmt(FmtArgs),
    /// Print the vocabulary that policies are written in
    #[command(
        after_help = "Examples:\n  creance policy schema > creance.cedarschema\n  creance policy schema \
                            --server user/fs            what its tools look like as actions\n  creance \
                            policy schema --server user/fs --write    lock those that your policies name\n  \
                            creance policy schema --server org/git --write --policies acme/\nExit code \
                            1 when the policies cannot be used with the lock that was written."
    )]
    Schema(SchemaArgs),
    /// Start with a set of policies and their tests
    #[command(
        after_help = "Examples:\n  creance policy init everyday             into your policy folder\n  \
                            creance policy init organisation acme/   an organisation's bundle"
    )]
    Init(InitArgs),
    /// Make an organisation's bundle of a folder: checks, tests, and writes its manifest
    #[command(after_help = "Example: creance policy bundle acme/ --name acme --days 90")]
    Bundle(BundleArgs),
    /// Make a key to sign bundles with, in minisign's form
    #[command(after_help = "Example: creance policy key acme    writes acme.key and acme.pub")]
    Key(KeyArgs),
    /// Sign a bundle, and pack it into one file
    #[command(
        after_help = "Example: creance policy sign acme/ --key acme.key --out acme.bundle\n`minisign -Sm \
                      acme/manifest.json` does as well."
    )]
    Sign(SignArgs),
    /// Verify a bundle as a machine does that has pinned these keys
    #[command(
        after_help = "Examples:\n  creance policy verify acme.bundle --key acme.pub\n  creance policy \
                            verify https://policy.example.com/acme.bundle --key acme.pub"
    )]
    Verify(VerifyArgs),
}

pub(crate) async fn run(command: PolicyCommand) -> Outcome {
    match command {
        PolicyCommand::Check(args) => check::run(&args),
        PolicyCommand::Test(args) => test::run(&args),
        PolicyCommand::Explain(args) => explain::run(&args),
        PolicyCommand::Diff(args) => diff::run(&args).await,
        #[cfg(feature = "prove")]
        PolicyCommand::Prove(args) => prove::run(&args).await,
        PolicyCommand::List { text, form } => {
            let depth = if text {
                list::Depth::Texts
            } else {
                list::Depth::Names
            };
            list::run(depth, form)
        }
        PolicyCommand::Fmt(args) => fmt::run(&args),
        PolicyCommand::Schema(args) => schema::run(&args),
        PolicyCommand::Init(args) => init::run(&args),
        PolicyCommand::Bundle(args) => bundle::bundle(&args),
        PolicyCommand::Key(args) => bundle::key(&args),
        PolicyCommand::Sign(args) => bundle::sign(&args),
        PolicyCommand::Verify(args) => bundle::verify(&args),
    }
}

/// A folder or file of policies.
pub(super) type Place = PathBuf;
