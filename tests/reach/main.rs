//! The network that is decided host by host, end to end: a real sandbox, a real proxy, real clients,
//! and an internet of two namespaces and a wire, where every packet that arrives is counted
//! (`world.py`). A program of its own, because the helper is this program again and must come first.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::too_many_lines,
    reason = "a test program with its own `main`, which the lints do not know as tests"
)]

#[cfg(target_os = "linux")]
mod apart;
#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod clients;
#[cfg(target_os = "linux")]
mod inside;
#[cfg(target_os = "linux")]
mod killed;
#[cfg(target_os = "linux")]
mod packages;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
#[path = "../gateway/real.rs"]
#[expect(
    dead_code,
    reason = "these tests use a part of what the gateway's tests install"
)]
mod real;
#[cfg(target_os = "linux")]
mod rows;
#[cfg(target_os = "linux")]
mod world;

fn main() {
    creance::helper::run_if_requested();
    #[cfg(target_os = "linux")]
    world::main(&[
        ("rows", rows::every_way_out),
        ("nothing", rows::nothing_is_granted),
        ("clients", clients::real_clients),
        ("packages", packages::a_package_is_fetched_once),
        ("answers", inside::answers),
        ("servers", inside::servers),
        ("changes", inside::changes),
        ("apart", apart::neighbours),
        ("sbx_14", cases::a_list_is_enforced),
        ("web_10", cases::packed_answers_stay_packed),
        ("killed", killed::the_proxy_dies),
    ]);
    #[cfg(not(target_os = "linux"))]
    println!("skipped: this system has no sandbox backend yet");
}
