//! The way out of one sandbox is not that of another.

use serde_json::json;

use crate::inside::{ALLOWED, START, enter, fetch, named, records, runner, session};

pub(crate) fn neighbours() {
    enter("apart");
}

/// Two servers at one time, of which one may reach a host: the other does not get there by its
/// neighbour's way out.
pub(crate) async fn another_way_out(folder: &std::path::Path) {
    const OF_ONE: &str = r#"
@id("api") @reason("The interface, for one.")
permit (principal == Server::"user/one", action == Action::"sandbox.network",
    resource == Host::"api.allowed.test");

@id("registry") @reason("The registry, for two.")
permit (principal == Server::"user/two", action == Action::"sandbox.network",
    resource == Host::"registry.allowed.test");
"#;
    let session = session(runner(folder, &format!("{START}{OF_ONE}"))).await;
    let start = async |name: &str, host: &str| {
        let spec = named(folder, name, &[host]);
        session.start(spec).await.unwrap()
    };
    let one = start("one", "api.allowed.test").await;
    let two = start("two", "registry.allowed.test").await;
    assert_eq!(fetch(&one, ALLOWED).await.text(), "hello");
    assert!(fetch(&two, ALLOWED).await.is_error());
    let wanted = json!({ "host": "api.allowed.test:443", "other": "--as-one" });
    let reply = two.call("steal", wanted).await.unwrap();
    assert_eq!(reply.text(), "port 61128: HTTP/1.1 403");
    // What is looked for is there to be found.
    let wanted = json!({ "host": "api.allowed.test:443", "other": "--as-two" });
    let reply = two.call("steal", wanted).await.unwrap();
    let own = reply.text().contains("/cmdline");
    assert!(own, "{}", reply.text());
    assert_eq!(fetch(&one, ALLOWED).await.text(), "hello");
    one.shutdown().await.unwrap();
    // Neither when the neighbour is gone.
    assert!(fetch(&two, ALLOWED).await.is_error());
    two.shutdown().await.unwrap();
    session.end().unwrap();
    for record in records(folder) {
        if record["action"] == "sandbox.network" {
            let allowed = record["outcome"] == "allow";
            assert_eq!(
                allowed,
                record["principal"] == "server/user/one",
                "{record}"
            );
        }
    }
}
