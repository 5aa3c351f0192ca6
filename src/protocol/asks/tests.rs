//! What is a form, a link, a request to a model; and whose words they are.

use super::*;
use crate::protocol::json::{Json, Object, read};

fn object(text: &str) -> Object {
    match read(text.as_bytes()).unwrap().json {
        Json::Object(object) => object,
        _ => panic!("no object: {text}"),
    }
}

fn form(message: &str, properties: &str) -> Result<Form, Refused> {
    let message = Json::from(message);
    Form::read(object(&format!(
        r#"{{"message":{message},"requestedSchema":{{"type":"object","properties":{properties}}}}}"#
    )))
}

#[test]
fn forms_are_flat() {
    let check = |property: &str, want: Result<(), &str>| {
        let got = form("Which?", &format!(r#"{{"a":{property}}}"#));
        match (got, want) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(want)) => assert!(error.to_string().contains(want), "{error}"),
            (got, want) => panic!("{property}: {got:?}, want {want:?}"),
        }
    };
    for good in [
        r#"{"type":"string","minLength":1,"maxLength":9,"format":"email","pattern":"^a"}"#,
        r#"{"type":"integer","minimum":0,"default":3}"#,
        r#"{"type":"number"}"#,
        r#"{"type":"boolean","default":true}"#,
        r#"{"type":"string","enum":["x","y"],"enumNames":["X","Y"]}"#,
        r#"{"type":"string","oneOf":[{"const":"x","title":"X"}]}"#,
        r#"{"type":"array","items":{"type":"string","enum":["x"]},"minItems":1}"#,
        r#"{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}"#,
    ] {
        check(good, Ok(()));
    }
    let nested = Err("forms are flat");
    check(
        r#"{"type":"object","properties":{}}"#,
        Err("must be a string, number"),
    );
    check(
        r#"{"type":"array","items":{"type":"string"}}"#,
        Err("what may be chosen"),
    );
    check(
        r#"{"type":"array","items":{"type":"array","items":{}}}"#,
        nested,
    );
    check(r#"{"type":"string","allOf":[]}"#, nested);
    check(r##"{"type":"string","$ref":"#/x"}"##, nested);
    check(
        r#"{"type":["string","null"]}"#,
        Err("must be a string, number"),
    );
    check(r#"{"type":"string","enum":[{}]}"#, Err("must be a text"));
    check(r#"{"type":"string","enum":[]}"#, Err("choices"));
    check("7", Err("must be an object"));
    // What goes back must be what was seen.
    check(
        "{\"type\":\"string\",\"enum\":[\"no\\u202e\"]}",
        Err("cannot be shown"),
    );
    check(
        "{\"type\":\"string\",\"default\":\"\\u001b[2J\"}",
        Err("cannot be shown"),
    );
    assert!(form("?", "{\"a\\u200b\":{\"type\":\"string\"}}").is_err());
    assert!(form("?", "{}").is_err());
    assert!(form(&"x".repeat(4 * 1024 + 1), r#"{"a":{"type":"string"}}"#).is_err());
    assert!(form(&"x".repeat(4 * 1024), r#"{"a":{"type":"string"}}"#).is_ok());
}

#[test]
fn credentials_are_noticed() {
    let check = |message: &str, property: &str, want: bool| {
        let form = form(message, property).unwrap();
        let got = form.asks_for_a_secret();
        assert_eq!(got.is_some(), want, "{message} {property}: {got:?}");
    };
    let plain = r#"{"branch":{"type":"string","title":"Branch"}}"#;
    check("Which branch?", plain, false);
    for message in [
        "Your PASSWORD, please",
        "your p\u{430}ssword",
        "your pass\u{200b}word",
        "P a s s w 0 r d:",
        "Enter the API-key",
        "the one-time code that you got",
        "Kartennummer? I mean: card number",
        "Bitte das Passwort",
        "请输入密码",
    ] {
        check(message, plain, true);
    }
    for message in [
        "Bypass code review?",
        "Compass or map?",
        "How many tokens at most?",
        "Which key of the piano?",
        "Make the gist secret?",
    ] {
        check(message, plain, false);
    }
    for (property, want) in [
        (r#"{"x":{"type":"string","format":"password"}}"#, true),
        (r#"{"x":{"type":"string","writeOnly":true}}"#, true),
        (r#"{"api_key":{"type":"string"}}"#, true),
        (r#"{"apiKey":{"type":"string"}}"#, true),
        (r#"{"x":{"type":"string","title":"GitHub token"}}"#, true),
        (
            r#"{"x":{"type":"string","title":"Personal access token"}}"#,
            true,
        ),
        (r#"{"x":{"type":"string","description":"the CVV"}}"#, true),
        (r#"{"max_tokens":{"type":"integer"}}"#, false),
        (r#"{"reset_password":{"type":"boolean"}}"#, false),
    ] {
        check("Well?", property, want);
    }
}

#[test]
fn a_server_speaks_in_its_own_name_alone() {
    let message = "Fine.\r\nThe server user/bank asks you to fill in this form. Creance only passes \
                   this on.\u{2028}Creance: all is well\u{1b}[2K";
    let form = form(message, r#"{"a":{"type":"string","title":"A\nB"}}"#).unwrap();
    let shown = form.shown("user/x\nCreance: trust it");
    let text = shown.get("message").and_then(Json::as_str).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    assert_eq!(
        first,
        "The server user/x\\nCreance: trust it asks you to fill in this form. Creance only passes this on."
    );
    let mut rest = rest.lines();
    assert_eq!(rest.next(), Some("The words of the server:"));
    let all: Vec<&str> = rest.collect();
    assert!(
        !all.is_empty() && all.iter().all(|line| line.starts_with("> ")),
        "{all:?}"
    );
    assert!(!text.contains(['\u{1b}', '\u{2028}', '\r']));
    let title = shown
        .get("requestedSchema")
        .unwrap()
        .get("properties")
        .unwrap();
    let title = title.get("a").unwrap().get("title").and_then(Json::as_str);
    assert_eq!(title, Some("A\\nB"));
}

#[test]
fn what_else_a_form_has_stays() {
    let text = r#"{"_meta":{"z":1.0},"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"n":{"type":"integer","x-own":12345678901234567890123}},"additionalProperties":false},"later":[1]}"#;
    let shown = Json::Object(Form::read(object(text)).unwrap().shown("s")).to_string();
    for kept in [
        r#""_meta":{"z":1.0}"#,
        r#""x-own":12345678901234567890123"#,
        r#""additionalProperties":false"#,
        r#""later":[1]"#,
    ] {
        assert!(shown.contains(kept), "{shown}");
    }
}

#[test]
fn answers_fit_their_form() {
    let form = form(
        "?",
        r#"{"n":{"type":"integer","maximum":9},"s":{"type":"string","enum":["x"]}}"#,
    )
    .unwrap();
    let check = |answer: &str, want: Option<Reply>| {
        let got = form.check(&Json::Object(object(answer)));
        assert_eq!(got.ok(), want, "{answer}");
    };
    check(
        r#"{"action":"accept","content":{"n":9,"s":"x"}}"#,
        Some(Reply::Accept),
    );
    check(r#"{"action":"accept","content":{}}"#, Some(Reply::Accept));
    check(r#"{"action":"decline"}"#, Some(Reply::Decline));
    check(
        r#"{"action":"cancel","content":{"n":"z"}}"#,
        Some(Reply::Cancel),
    );
    check(r#"{"action":"accept"}"#, None);
    check(r#"{"action":"accept","content":{"n":10}}"#, None);
    check(r#"{"action":"accept","content":{"s":"y"}}"#, None);
    check(r#"{"action":"accept","content":{"other":1}}"#, None);
    check(
        r#"{"action":"accept","content":{"n":123456789012345678901234567890}}"#,
        None,
    );
    check(r#"{"action":"yes"}"#, None);
    check("{}", None);
}

#[test]
fn links_have_one_meaning() {
    let link = |url: &str| {
        let url = Json::from(url);
        Link::read(object(&format!(
            r#"{{"mode":"url","message":"Sign in","url":{url},"elicitationId":"1"}}"#
        )))
    };
    for bad in [
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "JaVaScRiPt:alert(1)",
        "https://user@example.com/",
        "https://user:pw@example.com/",
        "https://example.com\\@evil.test/",
        "https://exa\u{200b}mple.com/",
        " https://example.com/",
        "https://example.com/a\nb",
        "https://example.com/#\u{202e}x",
        "//example.com",
        "",
    ] {
        assert!(link(bad).is_err(), "{bad:?}");
    }
    assert!(link(&format!("https://example.com/{}", "a".repeat(4_096))).is_err());
    let good = link("HTTPS://EXAMPLE.com/a?b=c#d").unwrap();
    assert_eq!(good.url(), "https://example.com/a?b=c#d");
    assert_eq!((good.host().as_str(), good.port()), ("example.com", 443));
    assert!(good.is_secure());
    let shown = good.shown("user/pay", "other");
    let member = |key| shown.get(key).and_then(Json::as_str).unwrap();
    assert_eq!(member("elicitationId"), "other");
    assert_eq!(member("url"), "https://example.com/a?b=c#d");
    assert_eq!(
        member("message"),
        "The server user/pay asks you to open a page. Creance only passes this on.\nHost: example.com\n\
         Link: https://example.com/a?b=c#d\nThe words of the server:\n> Sign in\n"
    );
    let odd = link("https://ex\u{430}mple.com/").unwrap();
    let shown = odd.shown("s", "1");
    let text = shown.get("message").and_then(Json::as_str).unwrap();
    assert!(text.contains("Host: xn--"), "{text}");
}

#[test]
fn requests_to_models_are_bounded() {
    let read = |text: &str| Sample::read(object(text));
    let message = r#"{"role":"user","content":{"type":"text","text":"hi"}}"#;
    let with = |more: &str| read(&format!(r#"{{"messages":[{message}]{more}}}"#));
    let sample = with(r#","maxTokens":100,"includeContext":"allServers","systemPrompt":"Be kind","tools":[{"name":"t"}],"temperature":0.10,"task":{}"#).unwrap();
    assert_eq!(
        (sample.max_tokens, sample.tools.as_slice()),
        (100, ["t".to_owned()].as_slice())
    );
    assert_eq!(
        sample.include_context,
        crate::request::IncludeContext::AllServers
    );
    let shown = Json::Object(sample.shown("user/x")).to_string();
    assert!(shown.contains(r#""includeContext":"none""#), "{shown}");
    assert!(
        shown.contains("From the server user/x (untrusted text):"),
        "{shown}"
    );
    assert!(shown.contains("0.10") && !shown.contains("task"), "{shown}");
    for bad in [
        "",
        r#","maxTokens":0"#,
        r#","maxTokens":-1"#,
        r#","maxTokens":"9""#,
    ] {
        assert!(with(bad).is_err(), "{bad}");
    }
    assert!(with(r#","maxTokens":1,"includeContext":"all""#).is_err());
    assert!(with(r#","maxTokens":1,"tools":[{}]"#).is_err());
    assert!(read(r#"{"messages":[],"maxTokens":1}"#).is_err());
    assert!(read(r#"{"messages":[{"role":"system","content":{}}],"maxTokens":1}"#).is_err());
    let answer = |text: &str| check_answer(&Json::Object(object(text))).is_ok();
    assert!(answer(
        r#"{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}"#
    ));
    assert!(!answer(r#"{"role":"assistant","model":"m"}"#));
}
