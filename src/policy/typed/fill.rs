//! From the arguments of a call to `context.input`. The same arguments are sent: what does not fit is
//! refused, and nothing is made to fit.

use std::sync::LazyLock;

use cedar_policy_core::ast::{Name, RestrictedExpr, Value};
use cedar_policy_core::evaluator::RestrictedEvaluator;
use cedar_policy_core::extensions::Extensions;
use serde_json::{Map, Number, Value as Json};

use super::input::{Input, InputKind, join};

/// What does not fit, without any value of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct Unfit {
    /// Which argument: `edits.0.path`.
    pub(in crate::policy) at: String,
    /// Why: `is not a text`.
    pub(in crate::policy) why: &'static str,
}

/// The arguments as a record.
pub(in crate::policy) fn fill(input: &Input, arguments: &Json) -> Result<Value, Unfit> {
    match arguments {
        Json::Object(members) => record(input, members, ""),
        _ => unfit("", "is not an object"),
    }
}

fn unfit<T>(at: &str, why: &'static str) -> Result<T, Unfit> {
    Err(Unfit {
        at: at.to_owned(),
        why,
    })
}

fn record(input: &Input, members: &Map<String, Json>, at: &str) -> Result<Value, Unfit> {
    if let Some(unknown) = members.keys().find(|name| !input.contains_key(*name)) {
        return unfit(&join(at, unknown), "is not in the tool's input schema");
    }
    let mut filled = Vec::with_capacity(input.len());
    for (name, field) in input {
        let value = match members.get(name) {
            None if field.optional => continue,
            None => return unfit(&join(at, name), "is missing"),
            Some(Json::Null) if field.nullable => continue,
            Some(value) => value,
        };
        if matches!(field.kind, InputKind::Omitted { .. }) {
            continue;
        }
        filled.push((name.as_str(), one(&field.kind, value, &join(at, name))?));
    }
    Ok(Value::record(filled, None))
}

fn one(kind: &InputKind, value: &Json, at: &str) -> Result<Value, Unfit> {
    let fits = match (kind, value) {
        (InputKind::String, Json::String(text)) => Some(Value::from(text.as_str())),
        (InputKind::Bool, Json::Bool(truth)) => Some(Value::from(*truth)),
        (InputKind::Long, Json::Number(number)) => whole(number).map(Value::from),
        (InputKind::Decimal, Json::Number(number)) => decimal(number),
        (InputKind::Set { element }, Json::Array(items)) => {
            let each = items.iter().enumerate();
            let each = each.map(|(index, item)| one(element, item, &join(at, &index.to_string())));
            Some(Value::set(each.collect::<Result<Vec<_>, _>>()?, None))
        }
        (InputKind::Record { attributes }, Json::Object(members)) => {
            Some(record(attributes, members, at)?)
        }
        _ => None,
    };
    fits.map_or_else(|| unfit(at, misfit(kind)), Ok)
}

fn misfit(kind: &InputKind) -> &'static str {
    match kind {
        InputKind::String => "is not a text",
        InputKind::Bool => "is neither true nor false",
        InputKind::Long => "is not a whole number of 64 bits",
        InputKind::Decimal => "is not a number with at most four decimals, or too large for one",
        InputKind::Set { .. } => "is not a list",
        InputKind::Record { .. } => "is not an object",
        InputKind::Omitted { .. } => "is not known to policies",
    }
}

/// Doubles hold whole numbers exactly up to here.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// `5` and `5.0` are the same whole number.
fn whole(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    let double = number.as_f64().filter(|_| number.is_f64())?;
    let exact = double.fract() == 0.0 && double.abs() < EXACT;
    exact.then(|| format!("{double:.0}").parse().ok())?
}

#[expect(clippy::expect_used, reason = "a constant, held by the tests")]
static DECIMAL: LazyLock<Name> = LazyLock::new(|| "decimal".parse().expect("a name of Cedar's"));

fn decimal(number: &Number) -> Option<Value> {
    let written = RestrictedExpr::val(decimal_text(&number.to_string())?);
    let call = RestrictedExpr::call_extension_fn(DECIMAL.clone(), [written]);
    RestrictedEvaluator::new(Extensions::all_available())
        .interpret(call.as_borrowed())
        .ok()
}

/// A JSON number as Cedar writes it: no exponent, one to four decimals; `None` where that would not be
/// the same number.
fn decimal_text(number: &str) -> Option<String> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", number),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i64 = exponent.parse().ok()?;
    let digits = format!("{whole}{fraction}");
    let point = i64::try_from(whole.len()).ok()?.checked_add(exponent)?;
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some("0.0".to_owned());
    }
    // More digits than any decimal has.
    if !(-8..=24).contains(&point) {
        return None;
    }
    shifted(&digits, point).map(|(whole, fraction)| format!("{sign}{whole}.{fraction}"))
}

/// Digits with the point at this place, as whole part and one to four decimals.
fn shifted(digits: &str, point: i64) -> Option<(String, String)> {
    let length = i64::try_from(digits.len()).ok()?;
    let (before, after) = if point <= 0 {
        let zeros = "0".repeat(usize::try_from(-point).ok()?);
        ("0".to_owned(), format!("{zeros}{digits}"))
    } else if point >= length {
        let zeros = "0".repeat(usize::try_from(point - length).ok()?);
        (format!("{digits}{zeros}"), String::new())
    } else {
        let (before, after) = digits.split_at_checked(usize::try_from(point).ok()?)?;
        (before.to_owned(), after.to_owned())
    };
    let before = before.trim_start_matches('0');
    let after = after.trim_end_matches('0');
    let or_zero = |text: &str| if text.is_empty() { "0" } else { text }.to_owned();
    (after.len() <= 4).then(|| (or_zero(before), or_zero(after)))
}

#[cfg(test)]
#[path = "tests/fill.rs"]
mod tests;
