//! What fits and what does not; and that nothing is made to fit.

use serde_json::json;

use super::*;
use crate::policy::typed::read::input_of;

fn input() -> Input {
    input_of(&json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "n": {"type": "integer"},
            "price": {"type": "number"},
            "force": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "opt": {"type": "object", "properties": {"deep": {"type": "integer"}}, "required": ["deep"]},
            "null": {"type": ["string", "null"]},
            "any": {},
        },
        "required": ["path", "any"],
    }))
    .unwrap()
}

fn fits(more: &Json, want: &str) {
    let arguments = with(more);
    let value = fill(&input(), &arguments).unwrap();
    assert_eq!(value.to_string(), want, "{arguments}");
}

fn refused(more: &Json, at: &str, why: &str) {
    let arguments = with(more);
    let unfit = fill(&input(), &arguments).unwrap_err();
    assert_eq!((unfit.at.as_str(), unfit.why), (at, why), "{arguments}");
}

/// The required arguments and more; what is given as `"-"` is taken out.
fn with(more: &Json) -> Json {
    let mut arguments = json!({"path": "x", "any": 1});
    let members = arguments.as_object_mut().unwrap();
    for (name, value) in more.as_object().unwrap() {
        if value == "-" {
            members.remove(name);
        } else {
            members.insert(name.clone(), value.clone());
        }
    }
    arguments
}

#[test]
fn what_fits_is_filled_in() {
    fits(&json!({}), r#"{path: "x"}"#);
    fits(&json!({"any": null}), r#"{path: "x"}"#);
    fits(&json!({"any": [1, {"x": 2}]}), r#"{path: "x"}"#);
    fits(&json!({"n": -7}), r#"{n: -7, path: "x"}"#);
    fits(&json!({"n": 5.0}), r#"{n: 5, path: "x"}"#);
    fits(
        &json!({"n": i64::MIN}),
        r#"{n: (-9223372036854775808), path: "x"}"#.replace(['(', ')'], "").as_str(),
    );
    fits(
        &json!({"force": true, "null": null}),
        r#"{force: true, path: "x"}"#,
    );
    fits(&json!({"null": "y"}), r#"{null: "y", path: "x"}"#);
    fits(
        &json!({"tags": ["b", "a", "b"]}),
        r#"{path: "x", tags: ["a", "b"]}"#,
    );
    fits(&json!({"tags": []}), r#"{path: "x", tags: []}"#);
    fits(
        &json!({"opt": {"deep": 1}}),
        r#"{opt: {deep: 1}, path: "x"}"#,
    );
    fits(
        &json!({"price": 12.5}),
        r#"{path: "x", price: decimal("12.5")}"#,
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    refused(&json!({"path": "-"}), "path", "is missing");
    refused(&json!({"any": "-"}), "any", "is missing");
    refused(&json!({"path": null}), "path", "is not a text");
    refused(&json!({"path": 5}), "path", "is not a text");
    refused(&json!({"path": ["x"]}), "path", "is not a text");
    refused(
        &json!({"Path": "y"}),
        "Path",
        "is not in the tool's input schema",
    );
    refused(&json!({"n": "5"}), "n", "is not a whole number of 64 bits");
    refused(&json!({"n": 5.5}), "n", "is not a whole number of 64 bits");
    refused(&json!({"n": 1e19}), "n", "is not a whole number of 64 bits");
    refused(
        &json!({"n": u64::MAX}),
        "n",
        "is not a whole number of 64 bits",
    );
    refused(&json!({"n": null}), "n", "is not a whole number of 64 bits");
    refused(
        &json!({"force": "true"}),
        "force",
        "is neither true nor false",
    );
    refused(&json!({"force": 1}), "force", "is neither true nor false");
    refused(&json!({"tags": "a"}), "tags", "is not a list");
    refused(&json!({"tags": ["a", 1]}), "tags.1", "is not a text");
    refused(&json!({"opt": {}}), "opt.deep", "is missing");
    refused(
        &json!({"opt": {"deep": 1, "x": 2}}),
        "opt.x",
        "is not in the tool's input schema",
    );
    refused(&json!({"opt": []}), "opt", "is not an object");
    let many = "is not a number with at most four decimals, or too large for one";
    refused(&json!({"price": 0.00001}), "price", many);
    refused(&json!({"price": 1e300}), "price", many);
    refused(&json!({"price": "1.0"}), "price", many);
    let unfit = fill(&input(), &json!([])).unwrap_err();
    assert_eq!(unfit.why, "is not an object");
}

#[test]
fn decimals_are_exact_or_none() {
    let check = |number: &str, want: Option<&str>| {
        assert_eq!(decimal_text(number).as_deref(), want, "{number}");
    };
    check("0", Some("0.0"));
    check("-0.0", Some("0.0"));
    check("12", Some("12.0"));
    check("-12.5000", Some("-12.5"));
    check("0.0001", Some("0.0001"));
    check("0.00010", Some("0.0001"));
    check("0.00001", None);
    check("1e3", Some("1000.0"));
    check("1.25E-2", Some("0.0125"));
    check("1.25e-3", None);
    check("123456e-4", Some("12.3456"));
    check("1e+2", Some("100.0"));
    check("922337203685477.5807", Some("922337203685477.5807"));
    check("1e300", None);
    check("1e-300", None);
    check("1e99999999999999999999", None);
}
