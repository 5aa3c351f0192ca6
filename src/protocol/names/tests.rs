//! Listed names.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::expose::NAME_MAX;
use super::*;
use crate::request::{ServerId, Source};

fn user(name: &str) -> ServerId {
    ServerId::new(Source::User, name)
}

fn names(mode: NameMode, prefix: usize, tools: &[(ServerId, &str)]) -> Vec<String> {
    let tools = tools
        .iter()
        .map(|(server, tool)| (server.clone(), (*tool).to_owned()));
    let exposed = expose(mode, prefix, tools.collect());
    exposed.into_iter().map(|e| e.name).collect()
}

#[track_caller]
fn check(server: &str, tool: &str, want: &str) {
    assert_eq!(
        names(NameMode::Server, CLIENT_PREFIX, &[(user(server), tool)]),
        [want]
    );
}

const LONG: &str = "synchronize_all_customer_records_across_every_regional_database_and_report";

/// Names outside ASCII keep what they can and never vanish; long and dotted ones fit.
#[test]
fn mcp_12_names_fit_and_stay() {
    check("cafe", "get", "cafe__get");
    check(
        "my-server",
        "admin.tools.list",
        "my-server__admin_tools_list",
    );
    check("café", "get", "cafe_2669a4__get");
    check("my server", "do it", "my_server_68a9a5__do_it");
    check("数据库", "get", "server_ff8c9f__get");
    check("cafe", "数据库", "cafe__tool_212530cc");
    check(
        "cafe",
        LONG,
        "cafe__synchronize_all_customer_records_ac_358dc7aa",
    );
    let both = [(user("a"), "x"), (user("b"), "x")];
    assert_eq!(names(NameMode::Mcp, 0, &both), ["mcp__a__x", "mcp__b__x"]);
    assert_eq!(names(NameMode::Plain, 0, &both[..1]), ["x"]);
}

/// Every tool of all servers of the case has a name of its own, in any order.
#[test]
fn mcp_12_names_are_unique_in_any_order() {
    let mut all = Vec::new();
    for server in ["数据库", "日本語サーバー", "café", "cafe", "my server"] {
        for tool in [LONG, "admin.tools.list", "do it", "get"] {
            all.push((user(server), tool.to_owned()));
        }
    }
    let sorted = |all| -> BTreeMap<_, _> {
        let exposed = expose(NameMode::Server, CLIENT_PREFIX, all);
        exposed
            .into_iter()
            .map(|e| (e.name, (e.server, e.tool)))
            .collect()
    };
    let forward = sorted(all.clone());
    assert_eq!(forward.len(), 20);
    all.reverse();
    assert_eq!(forward, sorted(all));
}

/// A second tool of the same name never takes over the first one's name.
#[test]
fn sec_03_a_clash_is_said_and_moves_no_name() {
    let tools = vec![
        (user("notes"), "read_note".to_owned()),
        (user("helper"), "read_note".to_owned()),
    ];
    let exposed = expose(NameMode::Plain, 0, tools);
    assert!(exposed.iter().all(|e| e.name != "read_note"));
    assert_eq!(
        exposed[0].renamed,
        Some(Renamed::Clash(user("helper"), "read_note".to_owned()))
    );
    // A repository's server of the same name, and a name that imitates the joint.
    let same = [
        (user("notes"), "get"),
        (ServerId::new(Source::Project, "notes"), "get"),
        (user("a__b"), "c"),
        (user("a"), "b__c"),
    ];
    let got = names(NameMode::Server, 0, &same);
    assert_eq!(got.iter().collect::<BTreeSet<_>>().len(), 4, "{got:?}");
    assert!(got[0].starts_with("notes__get_") && got[1].starts_with("notes__get_"));
    assert_eq!(got[3], "a__b__c");
}

#[test]
fn sec_13_lookalikes_are_found() {
    let check = |names: &[&str], want: &[(&str, &str)]| {
        assert_eq!(lookalikes(names.iter().copied()), want, "{names:?}");
    };
    check(
        &["read_file", "re\u{430}d_file"],
        &[("read_file", "re\u{430}d_file")],
    );
    check(&["read_file", "read-file"], &[("read_file", "read-file")]);
    check(
        &["read_file", "Read\u{200b}File"],
        &[("read_file", "Read\u{200b}File")],
    );
    check(&["list", "1ist"], &[("list", "1ist")]);
    check(&["read_file", "read_files", "read_file"], &[]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn names_are_always_unique_and_fit(
        tools in prop::collection::btree_set(("[a_ é数-]{0,5}", "[a_b. 数]{0,4}|[a]{60,70}"), 0..40),
        prefix in 0_usize..16,
    ) {
        for mode in [NameMode::Server, NameMode::Mcp, NameMode::Plain] {
            let all: Vec<_> = tools.iter().map(|(s, t)| (user(s), t.clone())).collect();
            let exposed = expose(mode, prefix, all.clone());
            let unique: BTreeSet<&str> = exposed.iter().map(|e| e.name.as_str()).collect();
            prop_assert_eq!(unique.len(), all.len());
            for name in unique {
                prop_assert!(!name.is_empty() && name.len() + prefix <= NAME_MAX);
                prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
            }
            let mut reversed = all;
            reversed.reverse();
            let mut back = expose(mode, prefix, reversed);
            back.reverse();
            prop_assert_eq!(back, exposed);
        }
    }
}
