//! What an embedding program asks for: a server, a command. A wish, not a right.

use std::path::PathBuf;

use crate::config::{self, Origin, ServerDefinition, Text};
use crate::enforce::command::Command;
use crate::grant::{Limit, LimitHit, Network};
use crate::request::{HostRule, ServerId, Source};

/// A local MCP server to start.
///
/// ```
/// let spec = creance::ServerSpec::stdio("files", "mcp-files").arg(".").env("MODE", "read");
/// assert_eq!(spec.name(), "files");
/// ```
#[derive(Clone, Debug)]
pub struct ServerSpec {
    definition: ServerDefinition,
}

impl ServerSpec {
    /// A server that speaks on its standard input and output.
    #[must_use]
    pub fn stdio(name: impl Into<String>, program: impl Into<String>) -> Self {
        let id = ServerId::new(Source::User, name);
        let origin = Origin::of_file(PathBuf::from("(embedding program)"));
        Self {
            definition: ServerDefinition::new(id, origin, Text::plain(program)),
        }
    }

    /// The same with the name of what is really started: of the package behind `npx`, `uvx`, `pnpm dlx`
    /// and the like (with its scope and without its version), else of its module, script or program.
    #[must_use]
    pub fn of_command(program: impl Into<String>, args: Vec<String>) -> Self {
        let program = program.into();
        let name = config::command_name(&program, &args);
        let mut spec = Self::stdio(name, program);
        spec.definition.args = args.into_iter().map(Text::plain).collect();
        spec
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.definition.id.name
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.definition.args.push(Text::plain(arg));
        self
    }

    /// Adds a variable to its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.definition.env.insert(name.into(), Text::plain(value));
        self
    }

    /// A folder or file that it may read, beside the system and the project.
    #[must_use]
    pub fn read_path(mut self, path: impl Into<String>) -> Self {
        self.definition.read_paths.push(Text::plain(path));
        self
    }

    /// A folder or file that it may write, beside the project.
    #[must_use]
    pub fn write_path(mut self, path: impl Into<String>) -> Self {
        self.definition.write_paths.push(Text::plain(path));
        self
    }

    /// Lets it make Unix sockets. Any socket in a folder that it reads can then be reached.
    #[must_use]
    pub fn own_sockets(mut self) -> Self {
        self.definition.sockets.get_or_insert_default();
        self
    }

    /// A Unix socket that it may connect to, beside those that it makes.
    #[must_use]
    pub fn socket(mut self, path: impl Into<String>) -> Self {
        let sockets = self.definition.sockets.get_or_insert_default();
        sockets.push(Text::plain(path));
        self
    }

    /// The network it asks for; without it, none.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.definition.network = network;
        self
    }

    /// Sets a limit in place of the default one: bytes, seconds or a number.
    #[must_use]
    pub fn limit(mut self, limit: Limit, value: u64) -> Self {
        self.definition.limits.insert(limit, value);
        self
    }

    /// A host that it asks for, beside none or others: each connection is then decided. Has no effect
    /// beside the whole network.
    #[must_use]
    pub fn host(mut self, host: HostRule) -> Self {
        if self.definition.network == Network::None {
            self.definition.network = Network::Hosts;
        }
        self.definition.hosts.push(host);
        self
    }

    pub(super) fn into_definition(self) -> ServerDefinition {
        self.definition
    }
}

/// A command to run in the sandbox.
#[derive(Clone, Debug, Default)]
pub struct CommandSpec {
    command: Command,
}

impl CommandSpec {
    /// A program, found on the user's `PATH`.
    #[must_use]
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            command: Command {
                program: program.into(),
                ..Command::default()
            },
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// A folder or file that it may read, beside the system and the project.
    #[must_use]
    pub fn read_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.command.read.push(path.into());
        self
    }

    /// A folder or file that it may write, beside the project.
    #[must_use]
    pub fn write_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.command.write.push(path.into());
        self
    }

    /// Lets it make Unix sockets. Any socket in a folder that it reads can then be reached.
    #[must_use]
    pub fn own_sockets(mut self) -> Self {
        self.command.sockets.get_or_insert_default();
        self
    }

    /// A Unix socket that it may connect to, beside those that it makes.
    #[must_use]
    pub fn socket(mut self, path: impl Into<PathBuf>) -> Self {
        let sockets = self.command.sockets.get_or_insert_default();
        sockets.push(path.into());
        self
    }

    /// The network it asks for; without it, none.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.command.network = network;
        self
    }

    /// A host that it asks for, beside none or others: each connection is then decided. Has no effect
    /// beside the whole network.
    #[must_use]
    pub fn host(mut self, host: HostRule) -> Self {
        if self.command.network == Network::None {
            self.command.network = Network::Hosts;
        }
        self.command.hosts.push(host);
        self
    }

    /// A variable of the user's environment that it gets beside the short list.
    #[must_use]
    pub fn pass_env(mut self, name: impl Into<String>) -> Self {
        self.command.env.push(name.into());
        self
    }

    /// Sets a limit in place of the default one: bytes, seconds or a number.
    #[must_use]
    pub fn limit(mut self, limit: Limit, value: u64) -> Self {
        self.command.limits.insert(limit, value);
        self
    }

    /// Lets it own the terminal that this process has: for interactive programs.
    #[must_use]
    pub fn on_terminal(mut self) -> Self {
        self.command.terminal = true;
        self
    }

    pub(super) fn command(&self) -> &Command {
        &self.command
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandExit {
    /// Its exit code, when it exited.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The limit that ended it, where one did.
    pub limit: Option<LimitHit>,
}
