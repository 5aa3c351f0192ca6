//! How a refusal is told, in the words of the protocol that the program spoke.

use super::gate::Wanted;
use super::refusal::Refusal;
use super::socks::Code;

/// How the program speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    /// HTTP.
    Http,
    /// SOCKS5, before its reply.
    Socks,
    /// Whatever it likes: the tunnel stands, and no answer of ours would be understood.
    Tunnel,
}

/// The last words to a program that was denied by the gate.
pub(super) fn denied(speech: Speech, wanted: &Wanted, reason: &str) -> Vec<u8> {
    match speech {
        Speech::Http => {
            let target = &wanted.target;
            let text = format!("creance: this program may not connect to {target}: {reason}");
            http(403, &format!("Denied: {target}"), &text)
        }
        Speech::Socks => Code::NotAllowed.message().to_vec(),
        Speech::Tunnel => Vec::new(),
    }
}

/// The last words to a program that the proxy refused.
pub(super) fn refused(speech: Speech, wanted: Option<&Wanted>, refusal: &Refusal) -> Vec<u8> {
    match speech {
        Speech::Http => {
            let (status, phrase) = status(refusal);
            let what = wanted.map_or_else(
                || "the request is refused".to_owned(),
                |wanted| format!("no connection to {}", wanted.target),
            );
            http(status, phrase, &format!("creance: {what}: {refusal}"))
        }
        Speech::Socks => code(refusal).message().to_vec(),
        Speech::Tunnel => Vec::new(),
    }
}

fn status(refusal: &Refusal) -> (u16, &'static str) {
    match refusal {
        Refusal::Misfit(_)
        | Refusal::NoSuchCommand
        | Refusal::NoSuchAddress
        | Refusal::Target(_) => (400, "Bad Request"),
        Refusal::Late(_) => (408, "Request Timeout"),
        Refusal::Lookup(_) | Refusal::Dial(_) => (502, "Bad Gateway"),
        Refusal::Busy | Refusal::Closed | Refusal::Unsettled => (503, "Service Unavailable"),
        Refusal::Unreachable(_)
        | Refusal::OwnAddress
        | Refusal::Hello(_)
        | Refusal::Spent
        | Refusal::Cut
        | Refusal::Left => (403, "Forbidden"),
    }
}

fn code(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::Target(_)
        | Refusal::Unreachable(_)
        | Refusal::OwnAddress
        | Refusal::Hello(_)
        | Refusal::Spent
        | Refusal::Cut => Code::NotAllowed,
        Refusal::NoSuchCommand => Code::NoSuchCommand,
        Refusal::NoSuchAddress => Code::NoSuchAddress,
        Refusal::Lookup(_) => Code::HostUnreachable,
        Refusal::Dial(_) => Code::Refused,
        Refusal::Misfit(_)
        | Refusal::Busy
        | Refusal::Left
        | Refusal::Closed
        | Refusal::Late(_)
        | Refusal::Unsettled => Code::Failed,
    }
}

/// A whole answer. The phrase and the text are brought to one line each.
pub(super) fn http(status: u16, phrase: &str, text: &str) -> Vec<u8> {
    let phrase = one_line(phrase, |c| c.is_ascii_graphic());
    let text = one_line(text, |c| !c.is_control());
    let length = text.len() + 1;
    format!(
        "HTTP/1.1 {status} {phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{text}\n"
    )
    .into_bytes()
}

fn one_line(text: &str, keep: impl Fn(char) -> bool) -> String {
    let keep = |c| if c == ' ' || keep(c) { c } else { ' ' };
    text.chars().map(keep).collect()
}
