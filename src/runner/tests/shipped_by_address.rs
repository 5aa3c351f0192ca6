//! A bundle at an https address: fetched, kept, replaced, tampered with on the way, out of reach.

use std::path::Path;

use super::bundles::Machine;
use super::server::Server;
use crate::runner::release::read_bundle;

fn authority(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/bundles");
    folder.join(name).to_string_lossy().into_owned()
}

/// The bundle as one file.
pub(super) fn packed(machine: &Machine) -> String {
    read_bundle(&machine.release().to_string_lossy(), None)
        .unwrap()
        .pack()
}

/// A machine whose bundle comes from the server, with the test's authority in root's hand.
pub(super) fn machine(server: &Server) -> Machine {
    let mut machine = Machine::new();
    let file = machine.org().join("authority.pem");
    std::fs::copy(authority("authority.pem"), &file).unwrap();
    machine.pin("bundle", server.url().into());
    machine.pin("authority", file.to_string_lossy().into());
    machine.pin("refresh_minutes", 0.into());
    machine
}

#[test]
fn a_bundle_is_fetched_replaced_and_kept() {
    if !Machine::can_be_played() {
        return;
    }
    let server = Server::start();
    let mut machine = machine(&server);
    machine.ship_now(1);
    server.answers("200 OK", &packed(&machine));
    machine.takes(1);
    machine.ship_now(2);
    server.answers("200 OK", &packed(&machine));
    machine.takes(2);
    // Within the hour the address is not asked again.
    machine.pin("refresh_minutes", 60.into());
    let before = server.asked();
    machine.takes(2);
    assert_eq!(server.asked(), before);
    machine.pin("refresh_minutes", 0.into());
    machine.takes(2);
    assert_eq!(server.asked(), before + 1);
}

#[test]
fn what_comes_by_an_address_is_believed_by_its_signature_alone() {
    if !Machine::can_be_played() {
        return;
    }
    let server = Server::start();
    let machine = machine(&server);
    machine.ship_now(1);
    let first = packed(&machine);
    machine.ship_now(2);
    let second = packed(&machine);
    server.answers("200 OK", &second);
    machine.takes(2);
    let tampered = second.replace("move_file", "other");
    for (head, body, why) in [
        ("200 OK", first.as_str(), "older than 2"),
        ("200 OK", tampered.as_str(), "is not what was signed"),
        ("200 OK", "<html>", "no bundle"),
        (
            "200 OK",
            "{\"creance_bundle\": 1, \"manifest\": \"\", \"signature\": \"\", \"files\": {}}",
            "it is not signed",
        ),
        (
            "200 OK",
            "{\"creance_bundle\": 2, \"manifest\": \"\", \"signature\": \"\", \"files\": {}}",
            "form 2",
        ),
        ("404 Not Found", "", "404"),
        (
            "302 Found\r\nLocation: https://127.0.0.1/other",
            "",
            "leads elsewhere",
        ),
    ] {
        server.answers(head, body);
        machine.refuses(why, Some(2));
    }
    machine.forget();
    machine.refuses("leads elsewhere", None);
}

#[test]
fn the_server_is_who_it_should_be() {
    if !Machine::can_be_played() {
        return;
    }
    let server = Server::start();
    let mut machine = machine(&server);
    machine.ship_now(1);
    server.answers("200 OK", &packed(&machine));
    let other = machine.org().join("other.pem");
    std::fs::copy(authority("other-authority.pem"), &other).unwrap();
    machine.pin("authority", other.to_string_lossy().into());
    machine.refuses("certificate", None);
    std::fs::write(&other, "no certificate").unwrap();
    machine.refuses("holds no certificate", None);
    machine.pin(
        "authority",
        machine.org().join("authority.pem").to_string_lossy().into(),
    );
    machine.takes(1);
}

#[test]
fn out_of_reach_the_last_good_one_goes_on() {
    if !Machine::can_be_played() {
        return;
    }
    let server = Server::start();
    let mut machine = machine(&server);
    machine.ship_now(1);
    server.answers("200 OK", &packed(&machine));
    machine.takes(1);
    machine.pin("bundle", "https://127.0.0.1:1/acme.bundle".into());
    machine.refuses("127.0.0.1:1", Some(1));
    machine.forget();
    machine.refuses("127.0.0.1:1", None);
}
