//! `creance server import`: what would be taken over from other clients, in full, and then, after a
//! yes, the taking over.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use creance::{
    Client, Error, ErrorKind, ImportOptions, ImportPlan, ImportReport, Line, PolicyImport,
    ServerImport, Tone, Workspace, wrap_untrusted,
};
use serde_json::json;

use super::exit::{Exit, Outcome};
use super::export::client;
use super::imported::{from, started, step, titled};
use super::out::{self, Form};
use super::paint::{Paint, row_lines};

/// What is taken over, and how.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    creance server import --dry-run            what would be done, for all clients\n  \
    creance server import --from cursor        those of Cursor, after a yes\n  \
    creance server import --file mcp.json --from vscode --yes\n\
    Nothing is expanded or started, and the clients' files stay as they are: see \
    `creance server export`.")]
pub(crate) struct ImportArgs {
    /// Of this client alone: claude-desktop, claude-code, cursor, vscode, windsurf, zed, codex, gemini
    #[arg(long, value_name = "CLIENT", value_parser = client)]
    from: Option<Client>,
    /// Of this file alone
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Also servers that the project's files name: they become yours, in every folder
    #[arg(long)]
    project: bool,
    /// Leave literal secrets in the entries; otherwise `${NAME}` takes their place
    #[arg(long)]
    keep_secrets: bool,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do it without a question; policies that permit are then left out
    #[arg(long)]
    yes: bool,
    /// With `--yes`: also write the policies that permit
    #[arg(long, requires = "yes")]
    permits: bool,
    #[command(flatten)]
    form: Form,
}

pub(super) fn run(workspace: &Workspace, args: &ImportArgs) -> Outcome {
    let mut options = ImportOptions::default();
    if let Some(client) = args.from {
        options = options.of_client(client);
    }
    if let Some(file) = &args.file {
        options = options.of_file(file);
    }
    if args.keep_secrets {
        options = options.keeping_secrets();
    }
    if args.project {
        options = options.with_projects();
    }
    let plan = workspace.plan_import(&options)?;
    if args.form.is_json() {
        return for_programs(workspace, args, &plan);
    }
    show(&plan, args);
    let adds = plan.servers.iter().any(|server| server.step == "add");
    let nothing = !adds && plan.policies.is_empty();
    if args.dry_run || nothing {
        return Ok(Exit::Done);
    }
    carry_out(workspace, args, &plan)
}

fn for_programs(workspace: &Workspace, args: &ImportArgs, plan: &ImportPlan) -> Outcome {
    if args.dry_run {
        out::json(plan);
        return Ok(Exit::Done);
    }
    if !args.yes {
        let text = "`--json` asks nothing: say `--dry-run` or `--yes`";
        return Err(Error::message(ErrorKind::Usage, text));
    }
    let report = workspace.import_servers(plan);
    let policies = chosen(plan, Which::of(args));
    let file = match policies.as_slice() {
        [] => None,
        policies => Some(workspace.import_policies(policies)?),
    };
    let written: Vec<&str> = policies.iter().map(|policy| policy.id.as_str()).collect();
    out::json(&json!({
        "plan": plan, "report": report, "policies": written, "policyFile": file,
    }));
    Ok(ended(&report))
}

/// Which policies are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Forbidding,
    All,
}

impl Which {
    fn of(args: &ImportArgs) -> Self {
        if args.permits {
            Self::All
        } else {
            Self::Forbidding
        }
    }
}

fn chosen(plan: &ImportPlan, which: Which) -> Vec<&PolicyImport> {
    let permits = which == Which::All;
    let policies = plan.policies.iter();
    policies
        .filter(|policy| permits || !policy.permits)
        .collect()
}

fn ended(report: &ImportReport) -> Exit {
    if report.failed.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    }
}

fn carry_out(workspace: &Workspace, args: &ImportArgs, plan: &ImportPlan) -> Outcome {
    let adds = plan.servers.iter().any(|server| server.step == "add");
    let mut which = Which::of(args);
    if !args.yes {
        if !io::stdin().is_terminal() {
            out::note("nothing was changed: nobody can be asked here; say `--yes`");
            return Ok(Exit::NeedsAnswer);
        }
        if adds && !agreed("Add these servers to your configuration?")? {
            out::note("nothing was changed");
            return Ok(Exit::Done);
        }
    }
    let mut exit = Exit::Done;
    if adds {
        let report = workspace.import_servers(plan);
        if !report.added.is_empty() {
            let names = report.added.join(", ");
            out::folded(&format!("added to {}: {names}", report.file));
        }
        for (name, why) in &report.failed {
            out::note(&format!("{name} was not added: {why}"));
        }
        exit = ended(&report);
    }
    let forbids = chosen(plan, Which::Forbidding).len();
    if !args.yes {
        if forbids > 0 && !agreed("Write the policies that forbid?")? {
            return Ok(exit);
        }
        let more = plan.policies.len() > forbids;
        if more && agreed("Write also those that permit, so that nobody is asked?")? {
            which = Which::All;
        }
    }
    let policies = chosen(plan, which);
    if !policies.is_empty() {
        let file = workspace.import_policies(&policies)?;
        let count = policies.len();
        let noun = if count == 1 { "policy" } else { "policies" };
        out::folded(&format!("{count} {noun} written to {}", file.display()));
    }
    let left = plan.policies.len() - policies.len();
    if left > 0 {
        let noun = if left == 1 {
            "policy that permits was"
        } else {
            "policies that permit were"
        };
        out::note(&format!("{left} {noun} left out"));
    }
    Ok(exit)
}

/// A question at the terminal; anything but yes is no.
fn agreed(question: &str) -> Result<bool, Error> {
    let mut err = io::stderr().lock();
    write!(err, "{question} [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

fn show(plan: &ImportPlan, args: &ImportArgs) {
    let paint = Paint::for_stdout();
    let mut page = Page {
        width: paint.width.min(WIDTH_MAX),
        lines: Vec::new(),
    };
    if plan.servers.is_empty() {
        page.text(0, Tone::Plain, "no servers of other clients were found");
    }
    for server in &plan.servers {
        page.server(server);
    }
    page.count(plan);
    page.variables(plan, args);
    page.policies(plan);
    if !plan.notes.is_empty() {
        page.title("to know");
        for note in &plan.notes {
            page.text(2, Tone::Plain, note);
        }
    }
    if plan.servers.iter().any(|server| server.step == "add") {
        page.title("afterwards");
        page.text(
            2,
            Tone::Plain,
            "What is started has no network and sees the project alone, until its entry names `network`, \
             `readPaths` or `writePaths`. The first start of each is a question.",
        );
    }
    out::painted(paint.text(&page.lines).trim_end());
}

/// Wider, an eye loses the row.
const WIDTH_MAX: usize = 100;

struct Page {
    width: usize,
    lines: Vec<Line>,
}

impl Page {
    fn title(&mut self, text: &str) {
        self.lines.push(Line::default());
        self.lines.push(Line::new(Tone::Title, text));
    }

    /// A text that goes on below its own start.
    fn text(&mut self, indent: usize, tone: Tone, text: &str) {
        let width = self.width.saturating_sub(indent);
        for line in wrap_untrusted(text, width) {
            let mut indented = Line::new(Tone::Plain, &" ".repeat(indent));
            indented.push(tone, line.to_string().trim_end());
            self.lines.push(indented);
        }
    }

    fn count(&mut self, plan: &ImportPlan) {
        let (all, files) = (plan.servers.len(), plan.files.len());
        let adds = plan.servers.iter().filter(|server| server.step == "add");
        let text = format!("{all} servers in {files} files, {} to add", adds.count());
        if all > 1 {
            self.title(&text);
        }
    }

    fn server(&mut self, server: &ServerImport) {
        if !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let (tone, step) = step(server);
        let from = from(server);
        let cells = [
            (Tone::Title, server.name.clone()),
            (Tone::Label, from),
            (tone, step),
        ];
        let rest = self.width.saturating_sub(NAME + FROM + 4);
        self.lines.extend(row_lines(&cells, &[NAME, FROM, rest]));
        let started = started(server);
        if !started.is_empty() {
            self.text(2, Tone::Plain, &started);
        }
        for remark in &server.remarks {
            let text = match remark.field.as_str() {
                "" => remark.what.clone(),
                field => format!("`{field}` {}", remark.what),
            };
            self.text(4, Tone::Quiet, &text);
        }
    }

    /// Which variables have to be set, and what for.
    fn variables(&mut self, plan: &ImportPlan, args: &ImportArgs) {
        let used = |server: &&ServerImport| matches!(server.step, "add" | "there");
        let servers: Vec<&ServerImport> = plan.servers.iter().filter(used).collect();
        let any = |server: &&ServerImport| !server.secrets.is_empty() || !server.missing.is_empty();
        if !servers.iter().any(any) {
            return;
        }
        self.title("variables");
        let text = if args.keep_secrets {
            "Fields that hold secrets keep them. What is not set yet is set where `creance serve` starts."
        } else {
            "Secrets are not copied: set these variables where `creance serve` starts."
        };
        self.text(2, Tone::Plain, text);
        let mut needed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for server in servers {
            for secret in &server.secrets {
                self.text(2, Tone::Title, &titled(secret));
                let place = format!(
                    "its value stands in `{}.{}` of {}",
                    server.field, secret.field, server.file
                );
                self.text(4, Tone::Plain, &place);
            }
            let of_secret = |name: &&String| !server.secrets.iter().any(|s| s.variable == **name);
            for name in server.missing.iter().filter(of_secret) {
                needed.entry(name).or_default().push(&server.name);
            }
        }
        for (name, servers) in needed {
            self.text(2, Tone::Title, name);
            self.text(4, Tone::Plain, &format!("for {}", servers.join(", ")));
        }
    }

    fn policies(&mut self, plan: &ImportPlan) {
        if plan.policies.is_empty() {
            return;
        }
        self.title("policies");
        for policy in &plan.policies {
            self.lines.push(Line::default());
            let tone = if policy.permits {
                Tone::Refused
            } else {
                Tone::Plain
            };
            let lines = policy.text.lines();
            (self.lines).extend(lines.map(|line| Line::new(tone, &format!("  {line}"))));
        }
    }
}

const NAME: usize = 22;
const FROM: usize = 16;
