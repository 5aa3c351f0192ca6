//! `creance server login` and `logout` from the outside: a sign-in server and a server on this machine, a
//! browser that only writes down what it was to open, and a person at a terminal.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::raw::Raw;
use crate::stage::Stage;
use crate::terminal::Terminal;

/// What no log, error or question may hold.
const SECRETS: [&str; 3] = ["at-secret-1", "rt-secret-1", "code-secret-1"];

/// A server and its sign-in server, on one port.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) base: String,
    pub(crate) log: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let site = Self {
            base,
            log: Arc::default(),
        };
        let serving = site.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let site = serving.clone();
                thread::spawn(move || site.serve(stream.unwrap()));
            }
        });
        site
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        if reader.read_line(&mut line).is_err() || line.is_empty() {
            return;
        }
        let mut fields = BTreeMap::new();
        loop {
            let mut field = String::new();
            reader.read_line(&mut field).unwrap();
            let Some((name, value)) = field.trim_end().split_once(": ") else {
                break;
            };
            fields.insert(name.to_lowercase(), value.to_owned());
        }
        let length = fields
            .get("content-length")
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        let mut words = line.split(' ');
        let (method, target) = (words.next().unwrap(), words.next().unwrap());
        let path = target.split('?').next().unwrap();
        self.log
            .lock()
            .unwrap()
            .push(format!("{method} {path} {body}"));
        let (status, more, said) = self.answer((method, path, target), &fields, &body);
        let text = said.to_string();
        let _ = write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{more}\r\n{text}",
            text.len()
        );
    }

    fn answer(
        &self,
        (method, path, target): (&str, &str, &str),
        fields: &BTreeMap<String, String>,
        body: &str,
    ) -> (u16, String, Value) {
        let base = &self.base;
        match (method, path) {
            (_, "/.well-known/oauth-protected-resource/mcp") => (
                200,
                String::new(),
                json!({"resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["files:read"]}),
            ),
            (_, "/.well-known/oauth-authorization-server") => (
                200,
                String::new(),
                json!({"issuer": base, "authorization_endpoint": format!("{base}/authorize"),
                    "token_endpoint": format!("{base}/token"), "registration_endpoint": format!("{base}/register"),
                    "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": ["none"],
                    "authorization_response_iss_parameter_supported": true}),
            ),
            ("POST", "/register") => {
                let mut told: Value = serde_json::from_str(body).unwrap();
                told["client_id"] = json!("client-1");
                (201, String::new(), told)
            }
            ("GET", "/authorize") => {
                let of = |name: &str| {
                    let pairs = target
                        .split(['?', '&'])
                        .find_map(|pair| pair.strip_prefix(&format!("{name}=")));
                    pairs.unwrap().to_owned()
                };
                let redirect = of("redirect_uri").replace("%3A", ":").replace("%2F", "/");
                let issuer = base.replace(':', "%3A").replace('/', "%2F");
                let to = format!(
                    "location: {redirect}?code=code-secret-1&state={}&iss={issuer}\r\n",
                    of("state")
                );
                (302, to, json!(""))
            }
            ("POST", "/token") => (
                200,
                String::new(),
                json!({"access_token": "at-secret-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-secret-1"}),
            ),
            ("POST", "/mcp")
                if fields.get("authorization").map(String::as_str)
                    == Some("Bearer at-secret-1") =>
            {
                mcp(&serde_json::from_str(body).unwrap())
            }
            (_, "/mcp") => {
                let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
                (
                    401,
                    format!("www-authenticate: Bearer resource_metadata=\"{metadata}\"\r\n"),
                    json!(""),
                )
            }
            _ => (404, String::new(), json!("")),
        }
    }

    /// How often this was asked for.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.log
            .lock()
            .unwrap()
            .iter()
            .filter(|line| line.starts_with(what))
            .count()
    }
}

fn mcp(message: &Value) -> (u16, String, Value) {
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}})
        }
        "tools/list" => {
            json!({"tools": [{"name": "read", "description": "Reads.", "inputSchema": {"type": "object"}}]})
        }
        "tools/call" => json!({"content": [{"type": "text", "text": "a note"}]}),
        _ if message.get("id").is_none() => return (202, String::new(), json!("")),
        _ => {
            let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}});
            return (200, String::new(), error);
        }
    };
    (
        200,
        String::new(),
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
    )
}

/// A browser that writes down what it was to open.
pub(crate) struct Notebook<'a>(pub(crate) &'a Stage);

impl Notebook<'_> {
    pub(crate) fn install(&self) -> String {
        let (script, note) = (self.0.home.join("browser.sh"), self.0.home.join("page"));
        let text = format!(
            "#!/bin/sh\nprintf '%s' \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n",
            note.display()
        );
        std::fs::write(&script, text).unwrap();
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
        script.display().to_string()
    }

    pub(crate) fn page(&self) -> Option<String> {
        std::fs::read_to_string(self.0.home.join("page")).ok()
    }

    /// Waits for the page, signs in there, and comes back.
    pub(crate) fn follow(&self) -> String {
        let end = Instant::now() + Duration::from_secs(60);
        let page = loop {
            match self.page() {
                Some(page) => break page,
                None => assert!(Instant::now() < end, "no page was opened"),
            }
            thread::sleep(Duration::from_millis(20));
        };
        std::fs::remove_file(self.0.home.join("page")).unwrap();
        let answer = get(&page);
        let location = answer
            .lines()
            .find_map(|line| line.strip_prefix("location: "))
            .unwrap()
            .to_owned();
        let said = get(location.trim());
        assert!(said.contains("Signed in"), "{said}");
        page
    }
}

fn get(url: &str) -> String {
    let (authority, path) = url
        .strip_prefix("http://")
        .unwrap()
        .split_once('/')
        .unwrap();
    let mut stream = TcpStream::connect(authority).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {authority}\r\n\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

/// No token stands anywhere but in its own file.
pub(crate) fn nothing_leaks(stage: &Stage, said: &str) {
    for secret in SECRETS {
        assert!(!said.contains(secret), "{secret}: {said}");
        let log =
            std::fs::read_to_string(stage.home.join(".local/state/creance/audit.jsonl")).unwrap();
        assert!(!log.contains(secret), "{secret}: {log}");
    }
}

#[test]
fn a_person_signs_in_and_out() {
    const TEST: &str = "a_person_signs_in_and_out";
    let (stage, site) = (Stage::new(), Site::start());
    stage.servers(&json!({ "notes": { "url": format!("{}/mcp", site.base) } }));
    let notebook = Notebook(&stage);
    let browser = notebook.install();
    let Some(mut terminal) =
        Terminal::start_with(&stage, "server login notes", &[("BROWSER", &browser)])
    else {
        println!("skipped: {TEST}: `script` is not there");
        return;
    };
    let question = terminal.wait_for("[N]o:");
    for shown in [
        "Sign in to the MCP server user/notes?",
        &site.base,
        "http://127.0.0.1:",
        "/callback",
        "files:read",
    ] {
        assert!(question.contains(shown), "{shown}: {question}");
    }
    terminal.press("n\r");
    let (said, code) = terminal.end();
    assert_eq!(code, Some(3), "{said}");
    assert_eq!(
        (site.count("POST /register"), notebook.page()),
        (0, None),
        "{said}"
    );

    let mut terminal =
        Terminal::start_with(&stage, "server login notes", &[("BROWSER", &browser)]).unwrap();
    terminal.wait_for("[N]o:");
    terminal.press("a\r");
    let page = notebook.follow();
    assert!(
        page.starts_with(&format!("{}/authorize?", site.base)),
        "{page}"
    );
    let (said, code) = terminal.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("signed in to notes"), "{said}");
    nothing_leaks(&stage, &said);
    let folder = stage.home.join(".local/state/creance/sign-in");
    assert_eq!(
        folder.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
    for file in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(
            file.unwrap().metadata().unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    let (code, log) = stage.says(&["audit", "show"]);
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("oauth.sign_in"), "{log}");
    assert_eq!(stage.says(&["audit", "verify"]).0, Some(0));

    let (code, said) = stage.says(&["server", "logout", "notes"]);
    assert_eq!((code, said.trim()), (Some(0), "signed out of notes"));
    let (code, said) = stage.says(&["server", "logout", "notes"]);
    assert_eq!(
        (code, said.trim()),
        (Some(0), "nobody was signed in to notes")
    );
}

#[test]
fn only_remote_servers_are_signed_in_to() {
    let stage = Stage::new();
    stage.servers(&json!({ "local": { "command": "cat" } }));
    for command in ["login", "logout"] {
        let (code, said) = stage.says(&["server", command, "local"]);
        assert_ne!(code, Some(0));
        assert!(said.contains("no remote server"), "{said}");
    }
}

/// The gateway's first refusal puts the question; with a yes the page opens, and the server works.
#[test]
fn the_gateway_signs_in_where_a_server_wants_it() {
    let (stage, site) = (Stage::new(), Site::start());
    stage.servers(&json!({ "notes": { "url": format!("{}/mcp", site.base) } }));
    stage.policy(
        "@id(\"all\") @reason(\"a test\") permit (principal, action, resource);\n\
         @id(\"calls\") @reason(\"a test\") permit (principal, action in Action::\"tool.call\", resource);",
    );
    let notebook = Notebook(&stage);
    let browser = notebook.install();
    let mut command = stage.creance(&["serve"]);
    command.env("BROWSER", browser);
    let mut gateway = Raw::start(command);
    gateway.initialize("2025-06-18");
    notebook.follow();
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let list = gateway.request("tools/list", &json!({}));
        if list.to_string().contains("notes__read") {
            break;
        }
        assert!(Instant::now() < end, "{list}");
        thread::sleep(Duration::from_millis(100));
    }
    let said = gateway.request(
        "tools/call",
        &json!({"name": "notes__read", "arguments": {}}),
    );
    assert!(said.to_string().contains("a note"), "{said}");
    drop(gateway);
    let (_, log) = stage.says(&["audit", "show"]);
    nothing_leaks(&stage, &log);
    assert!(log.contains("oauth.sign_in"), "{log}");
}

/// Somebody who does not want to leaves the server failed, which is said; nothing is registered.
#[test]
fn a_skipped_sign_in_leaves_the_server_failed() {
    let (stage, site) = (Stage::new(), Site::start());
    stage.servers(&json!({ "notes": { "url": format!("{}/mcp", site.base) } }));
    stage.policy(
        "@id(\"all\") @reason(\"a test\") permit (principal, action, resource);\n\
         @id(\"no\") @reason(\"not here\") forbid (principal, action == Action::\"oauth.sign_in\", resource);",
    );
    let notebook = Notebook(&stage);
    let browser = notebook.install();
    let mut command = stage.creance(&["serve"]);
    command.env("BROWSER", browser);
    let mut gateway = Raw::start(command);
    gateway.initialize("2025-06-18");
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let status = gateway.request(
            "tools/call",
            &json!({"name": "creance_status", "arguments": {}}),
        );
        if status
            .to_string()
            .contains("needs a sign-in, which was skipped")
        {
            assert!(
                status.to_string().contains("creance server login notes"),
                "{status}"
            );
            break;
        }
        assert!(Instant::now() < end, "{status}");
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!((site.count("POST /register"), notebook.page()), (0, None));
}
