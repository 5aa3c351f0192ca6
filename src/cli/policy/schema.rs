//! `creance policy schema`: the vocabulary, as people and editors read it.

use creance::PolicySet;

use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

pub(super) fn run(form: Form) -> Outcome {
    let text = if form.is_json() {
        PolicySet::schema_json()
    } else {
        PolicySet::schema()
    };
    out::line(text.trim_end());
    Ok(Exit::Done)
}
