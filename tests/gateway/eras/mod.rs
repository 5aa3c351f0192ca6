//! Both eras of the protocol on both sides: clients that shake hands and clients whose requests stand
//! for themselves, in front of servers of either kind.

mod faults;
mod matrix;
mod real;
mod rounds;
mod streams;

use serde_json::{Value, json};

use crate::cases::desk::{Desk, PERMIT_ALL};

/// How a peer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

pub(crate) const ERAS: [Era; 2] = [Era::Legacy, Era::Modern];

/// What both kinds of servers can do.
fn capabilities() -> Value {
    json!({
        "tools": { "listChanged": true },
        "prompts": { "listChanged": true },
        "resources": { "subscribe": true, "listChanged": true },
        "completions": {},
        "logging": {},
    })
}

/// The lines of a script that begin it, in one era.
pub(crate) fn greeting(era: Era) -> String {
    let line = match era {
        Era::Legacy => json!({ "on": "initialize", "reply": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities(),
            "serverInfo": { "name": "s", "version": "1" },
        }}),
        Era::Modern => json!({ "on": "server/discover", "reply": {
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": capabilities(), "ttlMs": 60_000, "cacheScope": "public",
        }}),
    };
    format!("{line}\n")
}

/// One line of a script: a result, in the server's era.
pub(crate) fn reply(era: Era, on: &str, rest: &Value, result: &Value) -> String {
    let mut line = rest.as_object().cloned().unwrap_or_default();
    let mut result = result.clone();
    if era == Era::Modern {
        result["resultType"] = json!("complete");
    }
    line.insert("on".to_owned(), json!(on));
    line.insert("reply".to_owned(), result);
    format!("{}\n", Value::Object(line))
}

/// `_meta` of a modern client's requests.
pub(crate) fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": { "name": "creance-eras", "version": "1" },
    })
}

/// The gateway in front of one server `demo`, and its client.
pub(crate) struct Pair {
    pub(crate) desk: Desk,
    pub(crate) client: Era,
    /// What a modern client says that it can do.
    pub(crate) can: Value,
}

impl Pair {
    /// Opens the gateway; `None` after saying why the test is skipped.
    pub(crate) fn open(test: &str, client: Era, script: &str, policy: &str) -> Option<Self> {
        Self::open_with(test, client, (script, policy), &json!({}))
    }

    /// The same with questions that wait a moment only.
    pub(crate) fn hurried(test: &str, client: Era, script: &str, policy: &str) -> Option<Self> {
        let settings = json!({ "questionTimeoutMs": 1000 });
        Self::open_with(test, client, (script, policy), &settings)
    }

    fn open_with(
        test: &str,
        client: Era,
        (script, policy): (&str, &str),
        settings: &Value,
    ) -> Option<Self> {
        let mut desk = Desk::new(test)?;
        let server = desk.plays("demo", script);
        let mut config = settings.clone();
        config["mcpServers"] = json!({ "demo": server });
        desk.stage.configure(&config);
        desk.stage.policy(policy);
        match client {
            Era::Legacy => desk.open(),
            Era::Modern => {
                let command = desk.stage.creance(&["serve"]);
                desk.start(command);
            }
        }
        let can = json!({});
        Some(Self { desk, client, can })
    }

    pub(crate) fn permitted(test: &str, client: Era, script: &str) -> Option<Self> {
        Self::open(test, client, script, PERMIT_ALL)
    }

    /// Parameters as this client sends them.
    pub(crate) fn params(&self, params: &Value) -> Value {
        let mut params = params.clone();
        if self.client == Era::Modern {
            let mut all = meta(&self.can);
            if let Some(own) = params["_meta"].as_object() {
                for (key, value) in own {
                    all[key] = value.clone();
                }
            }
            params["_meta"] = all;
        }
        params
    }

    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let params = self.params(params);
        self.desk.request(method, &params)
    }

    /// A result, without what belongs to the client's era, which must be there.
    #[track_caller]
    pub(crate) fn result(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.request(method, params);
        let mut result = answer["result"].clone();
        let kept = method.ends_with("/list") || method == "resources/read";
        match self.client {
            Era::Legacy => {
                for key in ["resultType", "ttlMs", "cacheScope"] {
                    assert!(result.get(key).is_none(), "{answer}");
                }
            }
            Era::Modern => {
                assert_eq!(result["resultType"], "complete", "{answer}");
                let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
                assert_eq!(info["name"], "creance", "{answer}");
                assert_eq!(result["cacheScope"] == "private", kept, "{answer}");
                assert_eq!(result["ttlMs"] == 0, kept, "{answer}");
                let members = result.as_object_mut().unwrap();
                for key in ["resultType", "ttlMs", "cacheScope", "_meta"] {
                    members.remove(key);
                }
            }
        }
        result
    }

    /// Waits until a list has an item with this name or address, and gives the item.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, method: &str, list: &str, key: &str, name: &str) -> Value {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(40);
        loop {
            let answer = self.request(method, &json!({}));
            let items = answer["result"][list]
                .as_array()
                .cloned()
                .unwrap_or_default();
            if let Some(item) = items.iter().find(|item| item[key] == name) {
                return item.clone();
            }
            let late = std::time::Instant::now() > end;
            assert!(
                !late,
                "{name} is not listed: {answer}\n{}",
                self.desk.stderr()
            );
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}
