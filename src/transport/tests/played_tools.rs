//! Tools and results of scripted servers; each test is named after its case in `tests/cases`.

use super::super::*;
use super::play::{LIMIT, params, started, text};
use crate::protocol::json::{Json, read};
use crate::protocol::mcp::ToolCall;
use crate::protocol::names::lookalikes;
use crate::protocol::schema::{ResultCheck, Schema};
use crate::protocol::tools::{OfferedTool, ToolsDiff};

/// One odd schema costs only its tool.
#[tokio::test]
async fn mcp_14_odd_schemas_are_set_aside_by_name() {
    let Some(played) = started("MCP-14.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let offered: Vec<_> = tools.list.offered().map(|t| t.name.as_str()).collect();
    assert_eq!(offered, ["good"]);
    let aside = tools.list.set_aside();
    let aside: Vec<_> = aside
        .map(|t| (t.name.as_str(), t.problem.as_deref().unwrap()))
        .collect();
    let top = "its `inputSchema` does not say `\"type\": \"object\"` at the top";
    assert_eq!(
        aside,
        [
            ("either", top),
            ("plain", top),
            ("nul", "its `inputSchema` is null, not an object"),
            ("none", "it has no `inputSchema`"),
        ]
    );
}

/// Schemas reach the client unchanged, whatever they refer to.
#[tokio::test]
async fn mcp_15_schemas_pass_unchanged() {
    let Some(played) = started("MCP-15.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let raw: Vec<String> = tools.list.offered().map(|t| t.raw.to_string()).collect();
    assert_eq!(raw.len(), 3);
    assert!(raw[0].contains(r##""items":{"$ref":"#/$defs/Node"}"##));
    assert!(raw[1].contains(r#""then":{"properties":{"limit":{"maximum":10}}}"#));
    assert!(raw[2].contains(r#"{"$ref":"http://127.0.0.1:9/schema.json"}"#));
}

/// A call without arguments is one with `{}`, also for a server that would refuse the former.
#[tokio::test]
async fn mcp_17_absent_arguments_are_empty_ones() {
    let Some(played) = started("MCP-17.server.jsonl").await else {
        return;
    };
    let request = async |params| {
        let options = CallOptions::within(LIMIT);
        played
            .upstream
            .request("tools/call", Some(params), options)
            .await
    };
    let bare = params(r#"{"name":"list_pages"}"#).unwrap();
    let refused = request(bare.clone()).await;
    assert!(matches!(refused, Err(CallError::Rpc(error)) if error.code() == -32602));
    let call = ToolCall::from_params(Some(bare.clone())).unwrap();
    let mut whole = bare;
    whole.insert("arguments", call.arguments().unwrap().clone().into());
    assert_eq!(text(&request(whole).await.unwrap()), "ok");
}

/// Results pass as they are; only one that breaks its own schema is told as text.
#[tokio::test]
async fn mcp_18_results_are_checked_and_not_lost() {
    let Some(played) = started("MCP-18.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let schema = tools.list.tools()[0]
        .output_schema()
        .map(Schema::compile)
        .unwrap();
    for how in ["good", "error", "wrong", "text"] {
        let result = played
            .call("push", &format!(r#"{{"how":"{how}"}}"#))
            .await
            .unwrap();
        let pass = schema.check_result(&result) == ResultCheck::Pass;
        assert_eq!(pass, how != "wrong", "{how}");
        assert_eq!(
            result.get("structuredContent").is_some(),
            how != "text",
            "{how}"
        );
    }
}

/// Blocks of all kinds pass in order and unchanged, unknown ones too.
#[tokio::test]
async fn mcp_19_blocks_of_all_kinds_pass() {
    let Some(played) = started("MCP-19.server.jsonl").await else {
        return;
    };
    let result = played.call("mixed", "{}").await.unwrap();
    let blocks = result.get("content").and_then(Json::as_array).unwrap();
    let kinds: Vec<_> = blocks
        .iter()
        .filter_map(|b| b.get("type")?.as_str())
        .collect();
    let want = "text image audio resource resource resource_link resource_link hologram";
    assert_eq!(kinds.join(" "), want);
    assert_eq!(blocks[7].to_string(), r#"{"type":"hologram","data":"?"}"#);
}

/// All pages are one list, in order.
#[tokio::test]
async fn mcp_23_all_pages_are_read() {
    let Some(played) = started("MCP-23.server.jsonl").await else {
        return;
    };
    assert_eq!(played.names().await, ["t1", "t2", "t3", "t4", "t5"]);
}

/// A new description under an old name is another tool.
#[tokio::test]
async fn sec_02_a_swapped_description_changes_the_digest() {
    let mut lists = Vec::new();
    for day in ["SEC-02.day1.server.jsonl", "SEC-02.day2.server.jsonl"] {
        let Some(played) = started(day).await else {
            return;
        };
        lists.push(played.upstream.list_tools(LIMIT).await.unwrap().list);
    }
    let pins = |at: usize| {
        lists[at]
            .tools()
            .iter()
            .map(|t| (t.name.as_str(), t.digest))
    };
    let diff = ToolsDiff::between(pins(0), pins(1));
    assert_eq!(diff.changed, ["send_email"]);
    assert!(diff.added.is_empty() && diff.removed.is_empty());
    assert_ne!(lists[0].digest(), lists[1].digest());
}

/// Hidden letters are still there when the pin is taken, and the relay changes no text.
#[tokio::test]
async fn sec_11_hidden_text_reaches_pin_and_cleaner_raw() {
    let Some(played) = started("SEC-11.server.jsonl").await else {
        return;
    };
    let tools = played.upstream.list_tools(LIMIT).await.unwrap();
    let tool = tools.list.offered().next().unwrap();
    assert!(tool.raw.to_string().contains('\u{e0072}'));
    let visible: String = tool
        .raw
        .to_string()
        .chars()
        .filter(|c| (*c as u32) < 0xE0000)
        .collect();
    let cleaned = read(visible.as_bytes()).unwrap().json;
    let other = OfferedTool::from_item(cleaned);
    assert_ne!(tool.digest, other.digest);
    assert!(text(&played.call("weather", "{}").await.unwrap()).contains('\u{e0072}'));
}

/// A look-alike is another tool, and said to be close to the first.
#[tokio::test]
async fn sec_13_a_lookalike_is_another_tool() {
    let Some(played) = started("SEC-13.server.jsonl").await else {
        return;
    };
    let names = played.names().await;
    assert_eq!(names.len(), 2);
    let pairs = lookalikes(names.iter().map(String::as_str));
    assert_eq!(pairs, [("read_file", "re\u{430}d_file")]);
}
