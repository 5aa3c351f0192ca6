//! What a person sees where policy asks before a server's request is passed on.

use crate::enforce::sheet::Sheet;
use crate::request::{Asked, CreateSample, ElicitForm, ElicitUrl, IncludeContext, LinkScheme};

/// Said of what comes by itself.
const OUT_OF_THE_BLUE: &str = "no tool of this server was being used when it asked";

/// The question about a form.
pub(super) fn form(form: &ElicitForm) -> Asked {
    let server = clean_name(&form.server.id.to_string());
    let mut sheet = Sheet::new(format!("Let the server {server} put a form to you?"));
    sheet.full("its words", &form.message);
    sheet.lines("fields", &form.fields);
    if form.sensitive {
        sheet.warn("it seems to ask for a credential or a payment card");
    }
    if !form.during_call {
        sheet.warn(OUT_OF_THE_BLUE);
    }
    sheet.asked
}

/// The question about a link.
pub(super) fn link(link: &ElicitUrl, words: &str) -> Asked {
    let server = clean_name(&link.server.id.to_string());
    let host = link.host.as_str();
    let mut sheet = Sheet::new(format!("Let the server {server} send you to {host}?"));
    sheet.line("host", host);
    if let Some(readable) = link.host.in_other_letters() {
        sheet.line("in other letters", &readable);
        sheet.warn(
            "the name has letters of other scripts, which can look like those of another name",
        );
    }
    sheet.full("link", &link.url);
    sheet.full("its words", words);
    if link.scheme == LinkScheme::Http {
        sheet.warn("it is not encrypted");
    }
    if link.host.address().is_some() {
        sheet.warn("it is an address without a name, so nothing tells whose it is");
    }
    if !link.during_call {
        sheet.warn(OUT_OF_THE_BLUE);
    }
    sheet.asked
}

/// The question about a request to a model.
pub(super) fn sample(sample: &CreateSample, told: &[(String, String)]) -> Asked {
    let server = clean_name(&sample.server.id.to_string());
    let mut sheet = Sheet::new(format!(
        "Let the server {server} ask the model of your client?"
    ));
    for (label, text) in told {
        sheet.full(label, text);
    }
    sheet.lines("tools of the server", &sample.tools);
    sheet.line("longest answer", &format!("{} tokens", sample.max_tokens));
    let nth = sample.this_session + 1;
    sheet.line("requests", &format!("number {nth} of this session"));
    if sample.depth > 1 {
        sheet.warn(&format!(
            "{} models may stand in a row: one asked a server, which asks again",
            sample.depth
        ));
    }
    if sample.include_context != IncludeContext::None {
        sheet.warn("it wants the model to see your conversation, which is not passed on");
    }
    if !sample.during_call {
        sheet.warn(OUT_OF_THE_BLUE);
    }
    sheet.asked
}

fn clean_name(name: &str) -> String {
    crate::clean::line(name, 120)
}
