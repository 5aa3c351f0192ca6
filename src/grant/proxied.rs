//! How programs are told to reach hosts through the proxy of their sandbox: the variables that each
//! family of tools reads. A tool that heeds none of them reaches nothing.

use std::collections::BTreeMap;

/// The port on the sandbox's own loopback. Above the range from which the kernel gives ports to
/// clients, so that no program has it by chance.
pub(crate) const PROXY_PORT: u16 = 61_128;

/// What stays inside the sandbox.
const OWN: &str = "localhost,127.0.0.1,::1";

/// The variables for a sandbox whose hosts are decided one by one.
///
/// `ALL_PROXY` is no `socks5h` address, although the port speaks that too: Python's `httpx` reads it
/// whenever a client is made, and fails where its SOCKS extra is not installed.
pub(crate) fn proxy_variables() -> BTreeMap<String, String> {
    let proxy = format!("http://127.0.0.1:{PROXY_PORT}");
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        variables.insert(name.to_owned(), value.to_owned());
    };
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        set(name, &proxy);
        set(&name.to_ascii_lowercase(), &proxy);
    }
    for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy"] {
        set(name, OWN);
    }
    // A project's `.npmrc` comes after these and before the plain ones.
    for name in ["npm_config_proxy", "npm_config_https_proxy"] {
        set(name, &proxy);
    }
    // Node's own `fetch` and `https`: Node 22.21 and 24.5 or later. Older ones reach nothing with it.
    set("NODE_USE_ENV_PROXY", "1");
    set("CARGO_HTTP_PROXY", &proxy);
    set("JAVA_TOOL_OPTIONS", &java());
    variables
}

/// Java reads no such variable, only properties. Web addresses go by the first two, any other
/// connection by the third.
fn java() -> String {
    let own = "localhost|127.*|[::1]";
    let mut options: Vec<String> = ["http", "https"]
        .iter()
        .flat_map(|scheme| {
            [
                format!("-D{scheme}.proxyHost=127.0.0.1"),
                format!("-D{scheme}.proxyPort={PROXY_PORT}"),
            ]
        })
        .collect();
    options.push(format!("-Dhttp.nonProxyHosts={own}"));
    options.push("-DsocksProxyHost=127.0.0.1".to_owned());
    options.push(format!("-DsocksProxyPort={PROXY_PORT}"));
    options.push(format!("-DsocksNonProxyHosts={own}"));
    options.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_of_tools_is_told() {
        let variables = proxy_variables();
        let get = |name: &str| variables.get(name).map_or("", String::as_str);
        for name in [
            "HTTP_PROXY",
            "http_proxy",
            "https_proxy",
            "ALL_PROXY",
            "npm_config_proxy",
        ] {
            assert_eq!(get(name), "http://127.0.0.1:61128", "{name}");
        }
        assert_eq!(get("no_proxy"), "localhost,127.0.0.1,::1");
        assert!(get("JAVA_TOOL_OPTIONS").contains("-Dhttps.proxyPort=61128"));
    }
}
