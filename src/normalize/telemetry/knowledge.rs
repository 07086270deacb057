//! What the spans and records of other traces must know of those that are read and gone.
//!
//! In: lessons, each learnt once. Out: whether something was learnt. Holds the newest of each kind, so that memory is
//! bounded however long a service runs; what is forgotten is told, so that it need not be stored either.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use crate::tables::Facts;

use super::hook::HookUrls;
use super::node::Side;

/// Lessons of each kind that a service holds. A webhook may have an url for each task, and a task has its end.
const MOST_LESSONS: usize = 1 << 15;

/// Something that one trace tells and others are judged by.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Lesson {
    /// A service whose requests on the wire are seen, at this end of them.
    OnWire(String, Side),
    /// A service that answers A2A calls.
    Agent(String),
    /// An interface under which calls happened that nothing else is like.
    Base(String),
    /// The url of a webhook, or its host.
    Hook(String),
    /// The end of a task, as a call's answer told it: task and state.
    End(String, String),
    /// There are calls, so what logs mention in passing is no news.
    Calls,
}

/// Lessons learnt.
#[derive(Debug, Clone)]
pub(crate) struct Knowledge {
    on_wire: Recent<(String, Side)>,
    agents: Recent<String>,
    bases: Recent<String>,
    urls: Recent<String>,
    hooks: HookUrls,
    ends: Recent<(String, String)>,
    /// Number of states that a task ended in.
    ended: HashMap<String, usize>,
    calls: bool,
}

/// What learning a lesson did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Learnt {
    /// It was known.
    Known,
    /// It was not, and the oldest of its kind was forgotten if there was no room.
    New(Option<Lesson>),
}

impl Knowledge {
    /// Knows nothing yet, and never more than a service can hold.
    pub(crate) fn bounded() -> Self {
        Self::new(MOST_LESSONS)
    }

    /// Knows nothing yet, and will forget nothing.
    pub(crate) fn unbounded() -> Self {
        Self::new(usize::MAX)
    }

    fn new(most: usize) -> Self {
        Self {
            on_wire: Recent::new(most),
            agents: Recent::new(most),
            bases: Recent::new(most),
            urls: Recent::new(most),
            hooks: HookUrls::default(),
            ends: Recent::new(most),
            ended: HashMap::new(),
            calls: false,
        }
    }

    /// Whether a lesson was learnt, and is not forgotten.
    pub(crate) fn knows(&self, lesson: &Lesson) -> bool {
        match lesson {
            Lesson::OnWire(service, side) => self.on_wire.contains(&(service.clone(), *side)),
            Lesson::Agent(service) => self.agents.contains(service),
            Lesson::Base(base) => self.bases.contains(base),
            Lesson::Hook(url) => self.urls.contains(url),
            Lesson::End(task, state) => self.ends.contains(&(task.clone(), state.clone())),
            Lesson::Calls => self.calls,
        }
    }

    /// Learns a lesson.
    pub(crate) fn learn(&mut self, lesson: Lesson) -> Learnt {
        match lesson {
            Lesson::OnWire(service, side) => {
                self.on_wire.add((service, side)).told(|(service, side)| Lesson::OnWire(service, side))
            }
            Lesson::Agent(service) => self.agents.add(service).told(Lesson::Agent),
            Lesson::Base(base) => self.bases.add(base).told(Lesson::Base),
            Lesson::Hook(url) => self.learn_hook(url),
            Lesson::End(task, state) => self.learn_end(task, state),
            Lesson::Calls if self.calls => Learnt::Known,
            Lesson::Calls => {
                self.calls = true;
                Learnt::New(None)
            }
        }
    }

    fn learn_hook(&mut self, url: String) -> Learnt {
        let added = self.urls.add(url.clone());
        if let Added::New(forgotten) = &added {
            self.hooks.add(&url);
            if let Some(url) = forgotten {
                self.hooks.forget(url);
            }
        }
        added.told(Lesson::Hook)
    }

    fn learn_end(&mut self, task: String, state: String) -> Learnt {
        let added = self.ends.add((task.clone(), state));
        if let Added::New(forgotten) = &added {
            *self.ended.entry(task).or_default() += 1;
            if let Some((task, _)) = forgotten
                && let Some(states) = self.ended.get_mut(task)
            {
                *states -= 1;
                if *states == 0 {
                    self.ended.remove(task);
                }
            }
        }
        added.told(|(task, state)| Lesson::End(task, state))
    }

    /// Whether requests on the wire are seen at this end of a service.
    pub(super) fn is_on_wire(&self, service: &str, side: Side) -> bool {
        self.on_wire.contains(&(service.to_owned(), side))
    }

    /// Whether a service answers A2A calls.
    pub(super) fn is_agent(&self, service: &str) -> bool {
        self.agents.contains(service)
    }

    /// Whether calls happened under an interface that nothing else is like.
    pub(super) fn is_base(&self, base: &str) -> bool {
        self.bases.contains(base)
    }

    /// Urls of webhooks.
    pub(super) fn hooks(&self) -> &HookUrls {
        &self.hooks
    }

    /// Whether a task's end was told, and whether as this state.
    pub(super) fn ended(&self, task: &str, state: &str) -> (bool, bool) {
        let ended = self.ended.contains_key(task);
        (ended, ended && self.ends.contains(&(task.to_owned(), state.to_owned())))
    }

    /// Whether there are calls.
    pub(super) fn has_calls(&self) -> bool {
        self.calls
    }

    /// What facts teach that are final.
    pub(crate) fn of_facts(facts: &Facts) -> impl Iterator<Item = Lesson> {
        let calls = (!facts.exchanges.is_empty()).then_some(Lesson::Calls);
        let hooks = hook_urls(facts).map(|url| Lesson::Hook(url.clone()));
        calls.into_iter().chain(hooks).chain(rest_bases(facts).map(|base| Lesson::Base(base.to_owned())))
    }
}

/// Interfaces of the HTTP+JSON binding that were called, each once.
fn rest_bases(facts: &Facts) -> impl Iterator<Item = &str> {
    let of_rest = facts.exchanges.iter().filter(|row| row.own.binding == "http+json");
    let urls = of_rest.map(|row| row.common.agent_ref.as_str()).filter(|reference| reference.contains("//"));
    BTreeSet::from_iter(urls.map(|url| url.trim_end_matches('/'))).into_iter()
}

/// Urls of webhooks in facts.
pub(super) fn hook_urls(facts: &Facts) -> impl Iterator<Item = &String> {
    let configured = facts.exchanges.iter().map(|row| &row.own.push_url);
    let delivered = facts.push_deliveries.iter().map(|row| &row.own.url);
    configured.chain(delivered).filter(|url| !url.is_empty())
}

/// The newest of things, each once.
#[derive(Debug, Clone)]
pub(crate) struct Recent<T> {
    most: usize,
    all: HashSet<T>,
    order: VecDeque<T>,
}

/// What adding to [`Recent`] things did.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Added<T> {
    /// It is there already.
    Known,
    /// It is new, and the oldest went if there was no room.
    New(Option<T>),
}

impl<T> Added<T> {
    fn told(self, lesson: impl Fn(T) -> Lesson) -> Learnt {
        match self {
            Self::Known => Learnt::Known,
            Self::New(forgotten) => Learnt::New(forgotten.map(lesson)),
        }
    }
}

impl<T: Hash + Eq + Clone> Recent<T> {
    /// None yet, and never more than so many.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, all: HashSet::new(), order: VecDeque::new() }
    }

    /// Adds one.
    pub(crate) fn add(&mut self, item: T) -> Added<T> {
        if self.all.contains(&item) {
            return Added::Known;
        }
        let forgotten = if self.order.len() >= self.most { self.order.pop_front() } else { None };
        if let Some(forgotten) = &forgotten {
            self.all.remove(forgotten);
        }
        self.all.insert(item.clone());
        self.order.push_back(item);
        Added::New(forgotten)
    }

    /// Whether it is one of these.
    pub(crate) fn contains<Q>(&self, item: &Q) -> bool
    where
        T: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.all.contains(item)
    }
}
