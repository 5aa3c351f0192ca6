//! A policy made of an answer permits what the answer covered, and nothing more.

use crate::digest::Digest;
use crate::policy::tests::base::{self, Asking, Owned};
use crate::policy::{PolicyOutcome, PolicySet, PolicySource};
use crate::request::{
    Action, Answer, CallTool, Entry, Holding, Layer, Pin, RunCommand, StartServer,
};

use super::*;

fn entry(action: &str, resource: &str, holding: Holding) -> Entry {
    Entry {
        action: action.to_owned(),
        principal: "claude-code".to_owned(),
        resource: resource.to_owned(),
        fingerprint: Digest::of("x"),
        scope: "the \"scope\"\n\u{202e}".to_owned(),
        answer: Answer::Remembered,
        channel: "terminal".to_owned(),
        at_ms: 0,
        until_ms: None,
        holding,
    }
}

fn store(entry: &Entry) -> PolicySet {
    let (_, text) = rule(entry).unwrap();
    let source = PolicySource {
        layer: Layer::User,
        file: "answers.cedar".to_owned(),
        text: text.clone(),
    };
    let (store, warnings) = PolicySet::parse(&[source]).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    assert!(warnings.is_empty(), "{text}: {warnings:?}");
    store
}

#[test]
fn it_permits_what_was_agreed_to() {
    type Change = fn(&mut CallTool);
    let call = base::call().call().clone();
    let tool = format!("{}/{}", call.tool.server.id, call.tool.name);
    let server = call.tool.server.id.to_string();
    let same: Change = |_| {};
    let other_tool: Change = |call| call.tool.name = "other".to_owned();
    let other_server: Change = |call| call.tool.server.id.name = "other".to_owned();
    let changed: Change = |call| call.tool.server.tools_pin = Pin::Changed;
    let unpinned: Change = |call| call.tool.server.tools_pin = Pin::Unpinned;
    let other_definition: Change = |call| call.tool.server.pin = Pin::Changed;
    for (resource, change, allowed) in [
        (&tool, same, true),
        (&tool, other_tool, false),
        (&tool, other_server, false),
        (&tool, changed, false),
        (&tool, unpinned, false),
        (&tool, other_definition, false),
        (&server, same, true),
        (&server, other_tool, true),
        (&server, other_server, false),
        (&server, changed, false),
    ] {
        let store = store(&entry(CallTool::NAME, resource, Holding::Latest));
        let mut call = call.clone();
        change(&mut call);
        let asking = Asking::new(Owned::Call(call));
        let outcome = asking.outcome(&store);
        assert_eq!(
            outcome == PolicyOutcome::Allow,
            allowed,
            "{resource}: {outcome:?}"
        );
        let mut other = asking;
        other.agent.name = "another".to_owned();
        assert_ne!(other.outcome(&store), PolicyOutcome::Allow, "{resource}");
    }
}

#[test]
fn what_a_policy_cannot_say_is_refused() {
    for (action, holding, want) in [
        (CallTool::NAME, Holding::Each, NoRule::Exact),
        (RunCommand::NAME, Holding::Each, NoRule::Exact),
        (StartServer::NAME, Holding::Latest, NoRule::Start),
        (ReviewTools::NAME, Holding::Latest, NoRule::Start),
        ("sandbox.network", Holding::Latest, NoRule::Other),
    ] {
        assert_eq!(rule(&entry(action, "user/a/b", holding)), Err(want));
    }
    // Another repository may have a server of this name.
    for (action, resource) in [
        (CallTool::NAME, "project/a"),
        (CallTool::NAME, "project/a/b"),
        (ReadResource::NAME, "project/a/file:///x"),
    ] {
        let entry = entry(action, resource, Holding::Latest);
        assert_eq!(rule(&entry), Err(NoRule::Project), "{action} {resource}");
    }
}
