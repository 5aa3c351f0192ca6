//! Phrases by which texts give orders to a model, as lists of words with gaps between them.

/// A phrase: words in this order, one of each list, at most three others between two of them.
pub(super) type Phrase = &'static [&'static [&'static str]];

const SKIPPED_MAX: usize = 3;

const USERS: &[&str] = &[
    "user", "users", "human", "person", "people", "anyone", "anybody", "operator",
];

const NOT: &[&str] = &["not", "never", "dont", "without", "avoid", "nor"];

pub(super) const INSTRUCTIONS: &[Phrase] = &[
    &[
        &["ignore", "disregard", "forget", "override", "bypass"],
        &[
            "previous",
            "prior",
            "above",
            "earlier",
            "preceding",
            "other",
            "all",
            "any",
            "system",
            "your",
            "safety",
        ],
        &[
            "instructions",
            "instruction",
            "prompt",
            "prompts",
            "rules",
            "rule",
            "messages",
            "guidelines",
            "context",
            "directives",
        ],
    ],
    &[&["new", "updated", "real"], &["instructions"]],
    &[&["you"], &["are"], &["now"], &["a", "an", "in", "the"]],
    &[&["system"], &["prompt"]],
    &[
        &["read", "open", "cat", "include", "load"],
        &["contents", "content", "file", "key", "keys"],
        &["pass", "put", "send", "append", "add"],
    ],
    &[
        &["otherwise", "or"],
        &["tool"],
        &["not", "fail", "break", "crash"],
        &["work"],
    ],
];

pub(super) const STEERING: &[Phrase] = &[
    &[
        &["before", "after", "when", "whenever"],
        &["using", "calling", "invoking", "running"],
        &["any", "other", "another", "every", "all"],
        &["tool", "tools"],
    ],
    &[
        &["instead"],
        &["of"],
        &["using", "calling", "the", "other"],
        &["tool", "tools"],
    ],
    &[
        &["must", "always"],
        &["call", "use", "invoke", "run"],
        &["this"],
        &["tool", "function"],
        &["first", "before"],
    ],
    &[
        &["must", "always", "should"],
        &["call", "use", "invoke", "run", "prefer"],
        &["instead"],
    ],
    &[
        &["instead"],
        &["of"],
        &["the", "any", "all"],
        &["other", "others"],
    ],
    &[
        &["do", "never"],
        &["use", "call"],
        &["other", "another"],
        &["tool", "tools"],
    ],
];

pub(super) const SECRECY: &[Phrase] = &[
    &[
        NOT,
        &[
            "tell",
            "telling",
            "mention",
            "mentioning",
            "inform",
            "informing",
            "notify",
            "notifying",
            "reveal",
            "show",
            "showing",
            "disclose",
            "ask",
            "asking",
            "alert",
        ],
        USERS,
    ],
    &[
        &["keep", "hide", "hidden", "conceal", "secret"],
        &["from"],
        USERS,
    ],
    &[
        USERS,
        &["not", "never", "cannot", "wont"],
        &["see", "know", "notice", "aware", "told"],
    ],
    &[
        NOT,
        &["mention", "reveal", "disclose"],
        &["this", "it", "these"],
    ],
    &[
        &["silently", "secretly"],
        &[
            "send", "read", "copy", "add", "include", "append", "upload", "forward",
        ],
    ],
];

/// Whether one of the phrases stands in the words.
pub(super) fn holds(words: &[String], phrases: &[Phrase]) -> bool {
    (0..words.len()).any(|from| {
        let rest = words.get(from..).unwrap_or_default();
        phrases.iter().any(|phrase| begins_with(rest, phrase))
    })
}

fn begins_with(words: &[String], phrase: Phrase) -> bool {
    let mut rest = words;
    for (step, any) in phrase.iter().enumerate() {
        let window = if step == 0 { 1 } else { SKIPPED_MAX + 1 };
        let hit = rest
            .iter()
            .take(window)
            .position(|word| any.contains(&word.as_str()));
        let Some(behind) = hit.and_then(|at| rest.get(at + 1..)) else {
            return false;
        };
        rest = behind;
    }
    true
}
