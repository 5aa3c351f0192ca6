//! The door through which the sandbox's own tests start a confined process. Not part of the API.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::exit::Exit;
use super::machine::Machine;
use super::plan::plan;
use super::spawn::{Confined, Stdio, spawn};
use crate::grant::{Confinement, Grant, Launch};

/// A running confined process.
#[derive(Debug)]
pub struct Running {
    process: Confined,
    /// What its sandbox holds.
    pub confinement: Confinement,
    /// What a person should know besides.
    pub notices: Vec<String>,
}

/// Starts a program with one backend (`auto`: the best that works).
///
/// # Errors
/// The text of the plan's or the set-up's error.
pub async fn start(backend: &str, launch: &Launch, grant: &Grant) -> Result<Running, String> {
    start_with(backend, launch, grant, Stdio::Piped).await
}

/// The same on the streams of this process.
///
/// # Errors
/// As above.
pub async fn start_here(backend: &str, launch: &Launch, grant: &Grant) -> Result<Running, String> {
    start_with(backend, launch, grant, Stdio::Inherit).await
}

async fn start_with(
    backend: &str,
    launch: &Launch,
    grant: &Grant,
    stdio: Stdio,
) -> Result<Running, String> {
    let machine = match backend {
        "auto" => Machine::probe(),
        name => Machine::only(name),
    };
    let plan = plan(&machine, launch, grant).map_err(|error| error.to_string())?;
    let confinement = plan.confinement().clone();
    let notices = plan.notices().to_vec();
    let process = spawn(plan, stdio)
        .await
        .map_err(|error| error.to_string())?;
    Ok(Running {
        process,
        confinement,
        notices,
    })
}

impl Running {
    /// Where the process connects to reach a host, when hosts are decided one by one.
    pub fn listener(&mut self) -> Option<std::net::TcpListener> {
        self.process.listener.take()
    }

    /// The process id of the helper.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Writes the input, reads both outputs to their end and waits.
    pub async fn finish(&mut self, input: &[u8]) -> (String, String, Exit) {
        if let Some(mut stdin) = self.process.stdin.take() {
            let _ = stdin.write_all(input).await;
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let (stdout, stderr) = (self.process.stdout.take(), self.process.stderr.take());
        let read_out = async {
            if let Some(mut stdout) = stdout {
                let _ = stdout.read_to_end(&mut out).await;
            }
        };
        let read_err = async {
            if let Some(mut stderr) = stderr {
                let _ = stderr.read_to_end(&mut err).await;
            }
        };
        tokio::join!(read_out, read_err);
        let exit = self.process.wait().await;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (text(&out), text(&err), exit)
    }

    /// Reads one line of output.
    pub async fn line(&mut self) -> String {
        let mut line = Vec::new();
        let mut byte = [0_u8; 1];
        while let Some(stdout) = self.process.stdout.as_mut() {
            match stdout.read(&mut byte).await {
                Ok(1) if byte != *b"\n" => line.extend(byte),
                _ => break,
            }
        }
        String::from_utf8_lossy(&line).into_owned()
    }

    /// Ends it the polite way.
    pub async fn shutdown(&mut self) -> Exit {
        self.process.shutdown().await
    }

    /// Waits for its end.
    pub async fn wait(&mut self) -> Exit {
        self.process.wait().await
    }

    /// Kills the whole tree.
    pub fn kill(&self) {
        self.process.kill();
    }
}
