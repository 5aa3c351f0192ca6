//! What is claimed of a store, and the questions that it takes to prove it: one for each kind of
//! request that the schema knows.

use std::sync::Arc;

use cedar_policy::{Effect, Policy, PolicyId, PolicySet as Cedar, RequestEnv, Schema};
use serde_json::{Value, json};

use crate::policy::load::{Loaded, load_with};
use crate::policy::polarity::{self, FLAGS};
use crate::policy::set::PolicySet;
use crate::policy::source::PolicySource;
use crate::policy::typed::{Locks, misses_typed};
use crate::policy::vocabulary::Vocabulary;
use crate::request::Layer;

use super::invariants::{Invariants, is_never};
use super::spots::places;

/// A claim about all requests.
pub(crate) struct Claim {
    /// `guard-rails`, `invariant/secrets`.
    pub(crate) name: String,
    /// The claim in words.
    pub(crate) says: String,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// Whatever the narrow set allows, the wide one allows.
    Implies(Box<Implies>),
    /// No policy ends in an error.
    NoErrors(PolicySet),
}

/// Two sets of policies.
pub(super) struct Implies {
    pub(super) narrow: Side,
    pub(super) wide: Side,
    /// What decides as it should: says what a test of an example expects.
    pub(super) mended: PolicySet,
}

/// A set, to be judged by and to be compiled.
pub(super) struct Side {
    pub(super) store: PolicySet,
    pub(super) cedar: Cedar,
}

impl Side {
    fn new(store: PolicySet) -> Result<Self, String> {
        let policies = store.loaded().map(|loaded| loaded.policy.clone());
        let cedar = Cedar::from_policies(policies).map_err(|why| why.to_string())?;
        Ok(Self { store, cedar })
    }

    /// The same, allowing nothing that cannot be.
    fn assuming(store: PolicySet) -> Result<Self, String> {
        let mut side = Self::new(store)?;
        for policy in assumed()? {
            side.cedar.add(policy).map_err(|why| why.to_string())?;
        }
        Ok(side)
    }
}

/// What holds of every request that is judged. These read the flags of answers as no policy may.
pub(super) fn assumed() -> Result<Vec<Policy>, String> {
    let text = format!("{ASSUMED}\n{}", one_place());
    let all: Cedar = text.parse().map_err(|why| format!("{why}"))?;
    let apart = |policy: &Policy| {
        let id = policy.annotation("id").unwrap_or_default();
        policy.new_id(PolicyId::new(format!("assumed/{id}")))
    };
    Ok(all.policies().map(apart).collect())
}

const ASSUMED: &str = include_str!("assumed.cedar");

/// A path is in one place alone.
fn one_place() -> String {
    let within = |place: &&str| format!("resource in Place::\"{place}\"");
    let places: Vec<&str> = places().collect();
    let both = places.iter().enumerate().map(|(at, place)| {
        let others: Vec<String> = places.iter().skip(at + 1).map(within).collect();
        let others = if others.is_empty() {
            "false".to_owned()
        } else {
            others.join(" || ")
        };
        format!("({} && ({others}))", within(place))
    });
    let both: Vec<String> = both.collect();
    format!(
        "@id(\"one-place\") forbid (principal, action, resource is Path) when {{ {} }};",
        both.join(" || ")
    )
}

/// One question: a kind of request, and the policy when it is about one alone.
pub(crate) struct Question {
    pub(super) env: RequestEnv,
    pub(super) policy: Option<Policy>,
}

impl Question {
    /// `Agent tool.call Tool`
    pub(super) fn environment(&self) -> String {
        environment(&self.env)
    }
}

fn environment(env: &RequestEnv) -> String {
    let action: &str = env.action().id().unescaped();
    format!("{} {action} {}", env.principal(), env.resource())
}

/// All kinds of requests, in a fixed order.
fn environments(schema: &Schema) -> Vec<RequestEnv> {
    let mut all: Vec<RequestEnv> = schema.request_envs().collect();
    all.sort_by_cached_key(environment);
    all
}

impl Claim {
    /// What the policies are written in: the kinds of requests.
    pub(super) fn schema(&self) -> &Schema {
        let store = match &self.kind {
            Kind::Implies(sides) => &sides.narrow.store,
            Kind::NoErrors(store) => store,
        };
        store.0.vocabulary.schema()
    }

    /// The questions that it takes.
    pub(crate) fn questions(&self) -> Vec<Question> {
        match &self.kind {
            Kind::Implies(_) => {
                let all = environments(self.schema()).into_iter();
                all.map(|env| Question { env, policy: None }).collect()
            }
            Kind::NoErrors(store) => store
                .loaded()
                .flat_map(|one| alone(one, self.schema()))
                .collect(),
        }
    }

    /// Whatever the first store allows, the second allows. The third decides as it should.
    fn implies(
        name: impl Into<String>,
        says: impl Into<String>,
        (narrow, wide, mended): (PolicySet, PolicySet, PolicySet),
    ) -> Result<Self, String> {
        Ok(Self {
            name: name.into(),
            says: says.into(),
            kind: Kind::Implies(Box::new(Implies {
                narrow: Side::assuming(narrow)?,
                wide: Side::new(wide)?,
                mended,
            })),
        })
    }
}

/// A policy in each kind of request that it can hold for.
fn alone(loaded: &Loaded, schema: &Schema) -> Vec<Question> {
    let policy = &loaded.policy;
    let mut all: Vec<RequestEnv> = policy.get_valid_request_envs(schema).collect();
    all.sort_by_cached_key(environment);
    let question = |env| Question {
        env,
        policy: Some(policy.clone()),
    };
    all.into_iter().map(question).collect()
}

impl PolicySet {
    /// What is claimed of every store.
    ///
    /// # Errors
    /// When the parts make no set.
    pub(crate) fn claims(&self, invariants: &Invariants) -> Result<Vec<Claim>, String> {
        let mut claims = vec![
            self.rails_hold()?,
            self.project_tightens()?,
            self.answers_add()?,
        ];
        for invariant in &invariants.0 {
            claims.push(self.holds(invariant)?);
        }
        claims.push(Claim {
            name: "no-errors".to_owned(),
            says: "no policy ends in an error, whatever is asked".to_owned(),
            kind: Kind::NoErrors(self.clone()),
        });
        Ok(claims)
    }

    /// What another store may allow, as this one does, and the other way round.
    ///
    /// # Errors
    /// When the parts make no set.
    pub(crate) fn claims_beside(&self, other: &Self) -> Result<[Claim; 2], String> {
        let words = self.words_with(other)?;
        let (first, second) = (self.under(&words)?, other.under(&words)?);
        let sides = |narrow: &Self, wide: &Self| (narrow.clone(), wide.clone(), first.clone());
        Ok([
            Claim::implies(
                "allows-no-more",
                "whatever the second allows, the first allows",
                sides(&second, &first),
            )?,
            Claim::implies(
                "allows-no-less",
                "whatever the first allows, the second allows",
                sides(&first, &second),
            )?,
        ])
    }

    /// No policy of the user or of a project lifts a forbid from above.
    fn rails_hold(&self) -> Result<Claim, String> {
        let rails = self.loaded().filter(|one| {
            matches!(one.layer, Layer::Builtin | Layer::Org)
                && one.policy.effect() == Effect::Forbid
        });
        let rails = self.of(rails.cloned().chain([everything()?]))?;
        Claim::implies(
            "guard-rails",
            "no policy of the user or a project allows what a built-in or organisation's policy forbids",
            (self.clone(), rails.clone(), rails),
        )
    }

    /// With a longer answer, whatever was allowed still is: the store beside itself, each flag of
    /// answers raised by one step.
    fn answers_add(&self) -> Result<Claim, String> {
        let raised: Result<Vec<Arc<Loaded>>, String> = self.loaded().map(raised).collect();
        Claim::implies(
            "answers-add",
            "an answer never takes away what is allowed without it",
            (self.clone(), self.of(raised?)?, self.clone()),
        )
    }

    /// The project's layer takes away only.
    fn project_tightens(&self) -> Result<Claim, String> {
        let rest = self.loaded().filter(|one| one.layer != Layer::Project);
        let rest = self.of(rest.cloned())?;
        Claim::implies(
            "project-tightens",
            "the project's policies allow nothing that would not be allowed without them",
            (self.clone(), rest.clone(), rest),
        )
    }

    fn holds(&self, invariant: &Arc<Loaded>) -> Result<Claim, String> {
        let alone = [Arc::clone(invariant)];
        let mended = self.of(self.loaded().cloned().chain(alone.clone()))?;
        let (narrow, wide) = if is_never(invariant) {
            let wide = self.of(alone.into_iter().chain([everything()?]))?;
            (self.clone(), wide)
        } else {
            (self.of(alone)?, self.clone())
        };
        let id = invariant.policy.id().to_string();
        Claim::implies(id, invariant.reason.clone(), (narrow, wide, mended))
    }

    /// A store of these policies, with what else this one has.
    fn of(&self, policies: impl IntoIterator<Item = Arc<Loaded>>) -> Result<Self, String> {
        let words = (Arc::clone(&self.0.vocabulary), self.0.locks.clone());
        Self::with(
            policies.into_iter().collect(),
            self.0.members.clone(),
            words,
        )
    }

    /// A vocabulary with the tools that either store names as actions.
    fn words_with(&self, other: &Self) -> Result<Arc<Vocabulary>, String> {
        let mut tools = self.0.vocabulary.typed().clone();
        for (name, typed) in other.0.vocabulary.typed() {
            let known = tools.entry(name.clone()).or_insert_with(|| typed.clone());
            if known.tool != typed.tool {
                return Err(format!(
                    "the tool `{name}` is locked otherwise in the two, so its calls cannot be compared"
                ));
            }
        }
        Vocabulary::with(tools)
    }

    /// This store in a vocabulary with more tools.
    fn under(&self, words: &Arc<Vocabulary>) -> Result<Self, String> {
        let misses = |one: &&Arc<Loaded>| misses_typed(&one.policy.as_ref().condition());
        if !words.typed().is_empty()
            && let Some(one) = self.loaded().find(misses)
        {
            return Err(format!(
                "{} says `action == Action::\"tool.call\"` and the other store names tools as actions: write `action in`",
                one.policy.id()
            ));
        }
        let words = (Arc::clone(words), self.0.locks.clone());
        Self::with(
            self.loaded().cloned().collect(),
            self.0.members.clone(),
            words,
        )
    }
}

/// A policy as it reads when the answer is one step stronger.
pub(super) fn raised(loaded: &Arc<Loaded>) -> Result<Arc<Loaded>, String> {
    if !loaded.heeds_answers {
        return Ok(Arc::clone(loaded));
    }
    let mut json = loaded.json()?;
    raise(&mut json);
    let id = Some(loaded.policy.id().clone());
    let policy = Policy::from_json(id, json).map_err(|why| why.to_string())?;
    Ok(Arc::new(Loaded {
        policy,
        ..(**loaded).clone()
    }))
}

/// Puts the next flag in the place of each; what is weaker than the first holds always.
fn raise(expression: &mut Value) {
    if let Some(flag) = polarity::flag_of(expression) {
        let below = flag.checked_sub(1).and_then(|below| FLAGS.get(below));
        *expression = match below {
            Some(below) => json!({ ".": { "left": { "Var": "context" }, "attr": below } }),
            None => json!({ "Value": true }),
        };
        return;
    }
    match expression {
        Value::Object(members) => members.values_mut().for_each(raise),
        Value::Array(members) => members.iter_mut().for_each(raise),
        _ => {}
    }
}

/// A permit of everything.
fn everything() -> Result<Arc<Loaded>, String> {
    let source = PolicySource {
        layer: Layer::Builtin,
        file: "everything.cedar".to_owned(),
        text: "@id(\"everything\") @reason(\"Everything.\") permit (principal, action, resource);"
            .to_owned(),
    };
    let loaded = load_with(&[source], &Locks::default(), &[])
        .ok()
        .and_then(|all| all.policies.into_iter().next());
    loaded
        .map(Arc::new)
        .ok_or_else(|| "a permit of everything is no policy".to_owned())
}
