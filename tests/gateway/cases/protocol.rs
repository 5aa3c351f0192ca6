//! Lines, bytes, pages and arguments: what servers and clients get wrong on the wire.

use serde_json::{Value, json};

use super::desk::{Desk, PERMIT_ALL, failed, script, text, tool};

/// A desk with one server `demo` that plays a script, every call permitted.
fn demo(test: &str, script: &str) -> Option<Desk> {
    let mut desk = Desk::new(test)?;
    let server = desk.plays("demo", script);
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_ALL);
    desk.open();
    Some(desk)
}

#[test]
fn mcp_01_stray_lines_are_set_aside_and_counted() {
    let script = include_str!("../../cases/MCP-01.server.jsonl");
    let Some(mut desk) = demo("mcp_01", script) else {
        return;
    };
    desk.wait_for("demo__hello");
    assert_eq!(text(&desk.call("demo__hello", &json!({}))), "hi");
    // Banner, handshake, half-JSON; then an object, `null` and a number. Blank lines do not count.
    let status = desk.wait_for_status("6 lines of its output were no messages");
    assert!(
        !status.contains("ready"),
        "no stray text reaches the agent: {status}"
    );
    desk.close();
    let stderr = desk.stderr();
    assert_eq!(stderr.matches("set aside output").count(), 1, "{stderr}");
    assert!(stderr.contains("Demo Server v1.2.3 ready"), "{stderr}");
    desk.stage.audit_verifies();
}

#[test]
fn mcp_03_bytes_are_joined_before_they_are_read() {
    let script = include_str!("../../cases/MCP-03.server.jsonl");
    let Some(mut desk) = demo("mcp_03", script) else {
        return;
    };
    desk.wait_for("demo__slow");
    let slow = text(&desk.call("demo__slow", &json!({})));
    assert_eq!(slow, "naïve — 日本語 🚀 řeka");
    assert_eq!(text(&desk.call("demo__gbk", &json!({}))), "after");
    desk.close();
    assert!(desk.stderr().contains("mended"), "{}", desk.stderr());
}

#[test]
fn mcp_12_names_are_unique_stable_and_none_is_dropped() {
    let Some(mut desk) = Desk::new("mcp_12") else {
        return;
    };
    desk.stage.policy(PERMIT_ALL);
    let play = include_str!("../../cases/MCP-12.server.jsonl");
    let config: Value = serde_json::from_str(include_str!("../../cases/MCP-12.mcp.json")).unwrap();
    let names: Vec<String> = config["mcpServers"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    let mut listed = |names: &[String]| {
        let entries = names
            .iter()
            .map(|name| (name.clone(), desk.plays("all", play)));
        desk.stage.servers(&Value::Object(entries.collect()));
        desk.open();
        let wanted = 4 * names.len();
        let items = desk.wait_until("all tools", |desk| {
            let mut items = desk.tools();
            items.retain(|item| item["name"] != "creance_status");
            Some(items).filter(|items| items.len() == wanted)
        });
        let status = desk.status();
        desk.close();
        let mut names: Vec<String> = items
            .iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        (names, status)
    };
    let (first, status) = listed(&names);
    let fits = |name: &String| {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        name.chars().all(letter) && format!("mcp__creance__{name}").len() <= 64
    };
    assert!(first.iter().all(fits), "{first:?}");
    let mut unique = first.clone();
    unique.dedup();
    assert_eq!(unique.len(), first.len());
    for name in &names {
        assert!(
            status.contains(&format!("user/{name}: connected")),
            "{status}"
        );
    }
    assert!(
        status.contains("synchronize_all_customer_records_across_every_regional_database_and_report is listed as"),
        "{status}"
    );
    let reversed: Vec<String> = names.iter().rev().cloned().collect();
    assert_eq!(listed(&reversed).0, first, "in another order");
}

#[test]
fn mcp_14_odd_tools_are_set_aside_by_name() {
    let script = include_str!("../../cases/MCP-14.server.jsonl");
    let Some(mut desk) = demo("mcp_14", script) else {
        return;
    };
    desk.wait_for("demo__good");
    let names: Vec<Value> = desk.tools().iter().map(|t| t["name"].clone()).collect();
    assert_eq!(names, ["demo__good", "creance_status"]);
    let status = desk.status();
    for odd in ["either", "plain", "nul", "none"] {
        assert!(
            status.contains(&format!("not offered: {odd} (")),
            "{status}"
        );
    }
    assert_eq!(text(&desk.call("demo__good", &json!({}))), "ok");
}

#[test]
fn mcp_15_schemas_pass_and_remote_ones_are_not_fetched() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = include_str!("../../cases/MCP-15.server.jsonl")
        .replace("127.0.0.1:9/", &format!("127.0.0.1:{port}/"));
    let Some(mut desk) = Desk::new("mcp_15") else {
        return;
    };
    let server = desk.plays("demo", &script);
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(&format!(
        "{PERMIT_ALL}\n@id(\"valid\") @reason(\"Arguments must fit.\")\n\
         forbid (principal, action == Action::\"tool.call\", resource) unless {{ context.args_valid }};"
    ));
    desk.open();
    let listed = desk.wait_for("demo__tree");
    let list = script
        .lines()
        .find(|line| line.contains("tools/list"))
        .unwrap();
    let list: Value = serde_json::from_str(list).unwrap();
    let mut want = list["reply"]["tools"][0]["inputSchema"].clone();
    want.as_object_mut().unwrap().remove("$schema");
    assert_eq!(listed["inputSchema"], want);
    for (name, arguments, allowed) in [
        (
            "tree",
            json!({ "root": { "name": "a", "kids": [{ "name": "b" }] } }),
            true,
        ),
        ("tree", json!({ "root": { "kids": [] } }), false),
        ("cond", json!({ "mode": "full", "limit": 11 }), false),
        ("cond", json!({ "mode": "full", "limit": 10 }), true),
    ] {
        let result = desk.call(&format!("demo__{name}"), &arguments);
        assert_eq!(!failed(&result), allowed, "{name} {arguments}: {result}");
    }
    // What a remote schema says is not known: the call is judged, and nobody asks that host.
    desk.call("demo__remote", &json!({ "x": 1 }));
    desk.close();
    let asked = listener.accept().map(|_| ());
    assert_eq!(asked.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn mcp_17_absent_arguments_are_none_and_others_are_refused() {
    let Some(mut desk) = Desk::new("mcp_17") else {
        return;
    };
    let server = desk.plays("demo", &script(&json!([tool("list_pages")])));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(super::desk::PERMIT_START);
    desk.say("list_pages", "once");
    desk.open();
    desk.wait_for("demo__list_pages");
    let mut reached = 0;
    for call in include_str!("../../cases/MCP-17.calls.jsonl").lines() {
        let mut call: Value = serde_json::from_str(call).unwrap();
        let want = call.as_object_mut().unwrap().remove("want").unwrap();
        call["name"] = json!("demo__list_pages");
        let answer = desk.request("tools/call", &call);
        if want == "ok" {
            reached += 1;
            assert_eq!(text(&answer["result"]), "ok", "{call}: {answer}");
        } else {
            assert_eq!(answer["error"]["code"], -32602, "{call}: {answer}");
        }
        assert_eq!(desk.notes("demo").len(), reached, "{call}");
        assert_eq!(desk.asked.len(), reached, "{call}");
    }
    assert_eq!(reached, 2);
}

#[test]
fn mcp_23_all_pages_are_read_and_pinned_as_one() {
    let script = include_str!("../../cases/MCP-23.server.jsonl");
    let Some(mut desk) = demo("mcp_23", script) else {
        return;
    };
    desk.wait_for("demo__t5");
    let names: Vec<Value> = desk.tools().iter().map(|t| t["name"].clone()).collect();
    let want = ["t1", "t2", "t3", "t4", "t5"].map(|name| format!("demo__{name}"));
    assert_eq!(names[..5], want);
    desk.close();
    let output = desk
        .stage
        .creance(&["server", "list", "--json"])
        .output()
        .unwrap();
    let servers: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(servers[0]["tools"], 5, "{servers}");

    // A later page that fails is no end: it is said, and what came is there.
    let broken = script
        .lines()
        .filter(|line| !line.contains(r#""cursor": "z""#));
    let broken: Vec<&str> = broken.collect();
    let Some(mut desk) = demo("mcp_23", &broken.join("\n")) else {
        return;
    };
    desk.wait_for("demo__t4");
    let status = desk.status();
    assert!(
        status.contains("page 3 of the tool list failed"),
        "{status}"
    );
}

#[test]
fn a_list_over_the_bounds_refuses_the_server() {
    // More than a hundred pages, each leading on.
    let page = |n: u32| {
        json!({
            "on": "tools/list",
            "match": { "cursor": if n == 0 { Value::Null } else { json!(n.to_string()) } },
            "reply": { "tools": [tool(&format!("t{n}"))], "nextCursor": (n + 1).to_string() },
        })
    };
    let hello = script(&json!([]));
    let hello = hello.lines().next().unwrap().to_owned();
    let pages: Vec<String> = (0..102).map(|n| page(n).to_string()).collect();
    let Some(mut desk) = demo(
        "a_list_over_the_bounds",
        &format!("{hello}\n{}", pages.join("\n")),
    ) else {
        return;
    };
    let status = desk.wait_for_status("more than 100 pages");
    assert!(status.contains("user/demo: failed"), "{status}");
    assert_eq!(desk.tools().len(), 1);
}

#[test]
fn items_of_the_list_are_cleaned_and_keep_what_is_not_text() {
    let odd = json!([{
        "name": "odd",
        "title": "A\u{200b}b",
        "description": "Says\u{1b}[31m hello.",
        "annotations": { "title": "x\u{202e}y", "readOnlyHint": true, "x-own": [1.0, "a\u{ad}b"] },
        "inputSchema": { "type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema" },
        "outputSchema": { "type": "object", "properties": { "n": { "type": "number" } } },
        "x-vendor": { "kept": [12345678901234567u64, { "deep": "t\u{e0041}ext" }] },
    }]);
    let Some(mut desk) = Desk::new("items_of_the_list") else {
        return;
    };
    let server = desk.plays("demo", &script(&odd));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_ALL);
    desk.say("Use the tools", "once");
    desk.open();
    let item = desk.wait_for("demo__odd");
    assert_eq!(
        item,
        json!({
            "name": "demo__odd",
            "title": "Ab",
            "description": "From server `demo` (untrusted text): Says hello.",
            "annotations": { "title": "xy", "readOnlyHint": true, "x-own": [1.0, "ab"] },
            "inputSchema": { "type": "object" },
            "outputSchema": { "type": "object", "properties": { "n": { "type": "number" } } },
            "x-vendor": { "kept": [12345678901234567u64, { "deep": "text" }] },
        })
    );
}

#[test]
fn a_property_that_cannot_be_cleaned_sets_its_tool_aside() {
    let mut hidden = tool("hidden");
    hidden["inputSchema"]["properties"] = json!({ "pa\u{e0041}th": { "type": "string" } });
    let Some(mut desk) = demo(
        "a_property_that_cannot",
        &script(&json!([tool("good"), hidden])),
    ) else {
        return;
    };
    desk.wait_for("demo__good");
    let status = desk.status();
    assert!(
        status.contains("not offered: hidden (the tool's schema has a name with hidden"),
        "{status}"
    );
}

#[test]
fn the_handshake_comes_first_and_once() {
    let Some(desk) = Desk::new("the_handshake_comes_first") else {
        return;
    };
    let server = desk.plays("demo", &script(&json!([tool("hello")])));
    desk.stage.servers(&json!({ "demo": server }));
    desk.stage.policy(PERMIT_ALL);
    let mut raw = crate::raw::Raw::start(desk.stage.creance(&["serve"]));
    for method in ["tools/list", "tools/call"] {
        let answer = raw.request(method, &json!({ "name": "demo__hello" }));
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }
    assert!(raw.request("ping", &json!({}))["result"].is_object());
    raw.notify("notifications/initialized", &json!({}));
    let first = raw.initialize("2025-06-18");
    let second = raw.initialize("2025-06-18");
    assert_eq!(first["result"], second["result"]);
    raw.notify("notifications/no-such-thing", &json!({ "x": [] }));
    raw.line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":99}}");
    assert!(raw.request("ping", &json!({}))["result"].is_object());
    let unknown = raw.request("tasks/list", &json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
}
