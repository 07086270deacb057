//! Which rules an input can feed, what the others lack, and what would give it to them.
//!
//! In: what `rules` made of facts and needs. Out: what `publish` renders. Plain types; judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::Intake;

/// What one input can feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    /// What was read.
    pub intake: Intake,
    /// Facts of each source by table, in the order of the sources; tables without any are left out.
    pub yields: Vec<Vec<(&'static str, u64)>>,
    /// Agents that facts are about.
    pub agents: Vec<String>,
    /// How clients come to be named, where no fact names one.
    pub clients: Option<String>,
    /// Emitters that were told in the sources.
    pub emitters: Vec<Told>,
    /// One entry for each rule that was asked for, in order of rule id.
    pub rules: Vec<Sight>,
    /// What to turn on, the cheapest first, of those the most useful.
    pub gains: Vec<Gain>,
}

/// An emitter that was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// Its name in files and output.
    pub id: String,
    /// Its name for people.
    pub title: String,
}

/// How well a rule can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// All its fields are filled, for every agent.
    Able,
    /// It judges, but not of every agent, or not by every field that would do.
    Partly,
    /// A field that it needs is filled nowhere.
    Blind,
}

impl State {
    /// The word in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Able => "able",
            Self::Partly => "partly",
            Self::Blind => "blind",
        }
    }
}

/// What a rule sees of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sight {
    /// Rule id.
    pub rule: String,
    /// How well it can see.
    pub state: State,
    /// Fields that are filled nowhere. Without one it is blind, unless another is enough.
    pub missing: Vec<Missing>,
    /// Agents of which it cannot judge, with the fields that lack for each; empty for a blind rule.
    pub unseen: Vec<Unseen>,
    /// It judges facts that name no agent.
    pub nameless: bool,
}

/// A field that is filled nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The need, as the rule states it.
    pub need: String,
    /// Another field does as well and is filled: the rule is not blind for want of this one.
    pub has_other: bool,
    /// How it comes to be filled, by an emitter in use if one of them can.
    pub advice: String,
    /// What did not happen, where an emitter in use is set to fill it.
    pub unseen: Option<String>,
    /// Why emitters in use cannot fill it.
    pub never: Vec<String>,
}

/// An agent of which a rule cannot judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// The agent.
    pub agent: String,
    /// Needs that no fact about it fills.
    pub missing: Vec<String>,
}

/// Something to turn on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gain {
    /// Whose setting it is; empty for advice that holds for any.
    pub emitter: String,
    /// The setting, as it is written there; empty for advice.
    pub set: String,
    /// What else to know, or the advice.
    pub note: String,
    /// Where the setting is documented.
    pub source: String,
    /// Needs that it fills.
    pub fills: Vec<String>,
    /// Rules that then see, beside those that see after what stands before it.
    pub wakes: Vec<String>,
    /// Rules that then see as well where somebody says what nobody must, such as the skill that a message asks for.
    pub perhaps: Vec<String>,
    /// Needs that are filled then.
    pub if_said: Vec<String>,
    /// Rules that still lack something else then.
    pub helps: Vec<String>,
}

impl Coverage {
    /// What did not happen, though an emitter in use is set to write it, with the blind rules that wait for it.
    pub fn unseen(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut waiting: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for rule in self.of(State::Blind) {
            for what in rule.missing.iter().filter_map(|missing| missing.unseen.as_deref()) {
                waiting.entry(what).or_default().insert(&rule.rule);
            }
        }
        waiting
    }

    /// Rules that see once this step and those before it are taken.
    pub fn seeing_after(&self, step: usize) -> usize {
        let now = self.rules.len() - self.of(State::Blind).count();
        now + self.gains.iter().take(step + 1).map(|gain| gain.wakes.len()).sum::<usize>()
    }

    /// Rules in one state.
    pub fn of(&self, state: State) -> impl Iterator<Item = &Sight> {
        self.rules.iter().filter(move |rule| rule.state == state)
    }
}
