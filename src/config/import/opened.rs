//! What the sandbox of a client opens for one server.

use serde_json::{Map, Value, json};

use crate::request::HostRule;

use super::entry::Entry;

/// VS Code's sandbox: what it opens is asked for here too, what it closes is closed already.
pub(super) fn sandbox(object: &Map<String, Value>, entry: &mut Entry) {
    let on = object.get("sandboxEnabled") == Some(&Value::Bool(true));
    let Some(sandbox) = object.get("sandbox").filter(|_| on) else {
        return;
    };
    let texts = |pointer: &str| -> Vec<String> {
        let list = sandbox.pointer(pointer).and_then(Value::as_array);
        let texts = list.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    };
    let (hosts, bad): (Vec<String>, Vec<String>) = texts("/network/allowedDomains")
        .into_iter()
        .partition(|host| host.parse::<HostRule>().is_ok());
    if !bad.is_empty() {
        entry.remark(
            "sandbox.network",
            "names something that is no host: left out",
        );
    }
    if !hosts.is_empty() {
        entry.members.insert("network".to_owned(), json!(hosts));
    }
    let (writes, bad): (Vec<String>, Vec<String>) = texts("/filesystem/allowWrite")
        .into_iter()
        .partition(|path| !path.contains(['$', '*', '\0']) && !path.is_empty());
    if !bad.is_empty() {
        entry.remark(
            "sandbox.filesystem",
            "names a pattern, and not a path: left out",
        );
    }
    if !writes.is_empty() {
        entry.members.insert("writePaths".to_owned(), json!(writes));
    }
    for key in [
        "/filesystem/denyRead",
        "/filesystem/denyWrite",
        "/network/deniedDomains",
    ] {
        if !texts(key).is_empty() {
            let field = format!("sandbox{}", key.replace('/', "."));
            entry.remark(
                &field,
                "is left out: what is not granted is closed; a policy can say more",
            );
        }
    }
}
