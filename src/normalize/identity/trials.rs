//! What is known after any order, batches, repetition and removal of facts is what resolving them all at once gives.
//!
//! `SEEDS=1000 cargo test --lib identity` tries more than the short run; `SEED=17` one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Cursor;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use walkdir::WalkDir;

use super::looks::is_look;
use super::{IdentitySettings, Known, resolve};
use crate::decode::record::{Record, Reject, Sink};
use crate::decode::{self, Limits};
use crate::instant::Instant;
use crate::normalize::Normalizer;
use crate::tables::{
    CardColumns, CardEndpointColumns, CardEndpointRow, CardRow, Common, ExchangeColumns, ExchangeRow, Fact, Facts,
    FactsDelta, PushDeliveryColumns, PushDeliveryRow, SigningKeyColumns, SigningKeyRow, TaskEventColumns, TaskEventRow,
};

/// Numbers that look random and follow from a seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }

    pub(super) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn id(&mut self, prefix: &str, of: usize) -> String {
        match self.one_in(4) {
            true => String::new(),
            false => format!("{prefix}{}", self.below(of)),
        }
    }
}

fn seeds(most: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("SEED"), number("SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(seeds)) => 0..seeds,
        (None, None) => 0..most,
    }
}

const PLACES: [&str; 14] = [
    "http://a/a2a",
    "http://a/rest",
    "http://b",
    "http://gw/x",
    "http://gw/y",
    "http://gw/y/z",
    "http://gw/x/rest/v1",
    "http://gw/y/jsonrpc",
    "//c:1",
    "c:1",
    "http://localhost:8000/",
    "http://d/",
    "nonsense with blanks",
    "http://a",
];
/// Addresses behind gateways.
const BEHIND: [&str; 6] = ["a", "b", "c:1", "10.0.0.9:80", "localhost:8000", "nonsense with blanks"];
const NAMES: [&str; 7] =
    ["service:alpha", "service:beta-agent", "service:", "name:Alpha", "name:Beta Agent", "name:gamma", "service:gamma"];
const CLIENTS: [&str; 7] = ["", "10.0.0.1", "10.0.0.2", "planner", "writer", "[::1]", "10.0.0.3"];

fn common(dice: &mut Dice, wide: usize) -> Common {
    let reference = match dice.below(4) {
        0 => String::new(),
        1 => dice.pick(&NAMES).to_owned(),
        _ => dice.pick(&PLACES).to_owned(),
    };
    let record = match dice.below(4) {
        0 => "span/",
        1 => "log/",
        _ => "exchange/",
    };
    Common {
        record_id: dice.id(record, wide),
        call_id: if dice.one_in(3) { dice.id("span:s", wide) } else { String::new() },
        observed_at: Instant(dice.below(1000) as i64),
        observer: dice.pick(&["client", "server", "gateway", "receiver"]).to_owned(),
        observer_name: dice.pick(&["", "tap"]).to_owned(),
        client_ref: dice.pick(&CLIENTS).to_owned(),
        agent_ref: reference,
        trace_id: dice.id("t", wide),
        span_id: dice.id("s", wide),
        source: "mix".to_owned(),
        position: format!("{:04}", dice.below(1000)),
        ..Common::default()
    }
}

/// A fact of few words, so that many facts share them.
fn fact(dice: &mut Dice, wide: usize, facts: &mut Facts) {
    let mut common = common(dice, wide);
    match dice.below(10) {
        0..=3 => {
            let own = ExchangeColumns {
                rpc_id: dice.id("", 2),
                message_id: dice.id("m", wide),
                task_id: dice.id("k", wide),
                binding: dice.pick(&["", "jsonrpc", "http+json"]).to_owned(),
                server_address: if dice.one_in(2) { dice.pick(&BEHIND).to_owned() } else { String::new() },
                ..ExchangeColumns::default()
            };
            facts.push_exchange(ExchangeRow { common, own });
        }
        4 | 5 => {
            let own = TaskEventColumns { task_id: dice.id("k", wide), ..TaskEventColumns::default() };
            facts.push_task_event(TaskEventRow { common, own });
        }
        6 => {
            let own = PushDeliveryColumns { task_id: dice.id("k", wide), ..PushDeliveryColumns::default() };
            facts.push_push_delivery(PushDeliveryRow { common, own });
        }
        7 => {
            let own = CardEndpointColumns {
                body_sha256: dice.id("body", 4),
                url: dice.pick(&PLACES).to_owned(),
                ..CardEndpointColumns::default()
            };
            facts.push_card_endpoint(CardEndpointRow { common, own });
        }
        8 => {
            if dice.one_in(2) {
                common.agent_ref = format!(
                    "http://{}/.well-known/agent-card.json",
                    dice.pick(&["a", "b", "gw/x", "gw/y", "c:1", "d"])
                );
            }
            let own = CardColumns {
                url: dice.pick(&PLACES).to_owned(),
                origin: dice.pick(&["fetch", "call", "log"]).to_owned(),
                body_sha256: dice.id("body", 4),
                name: dice.pick(&["", "Alpha", "Beta Agent", "beta agent", "gamma"]).to_owned(),
                ..CardColumns::default()
            };
            facts.push_card(CardRow { common, own });
        }
        _ => facts.push_signing_key(SigningKeyRow { common, own: SigningKeyColumns::default() }),
    }
}

fn mix(seed: u64) -> (Facts, IdentitySettings) {
    let mut dice = Dice::new(seed);
    let mut facts = Facts::default();
    let (wide, count) = (2 + dice.below(12), 1 + dice.below(60));
    for _ in 0..count {
        fact(&mut dice, wide, &mut facts);
    }
    let mut settings = IdentitySettings::default();
    if dice.one_in(3) {
        let names = [("a", "billing"), ("gw/y", "gateway"), ("alpha", "Alpha!"), ("gamma", "third"), ("d", "")];
        settings.agents = names.iter().map(|(from, to)| ((*from).to_owned(), (*to).to_owned())).collect();
        settings.clients = [("10.0.0.1".to_owned(), "edge".to_owned()), ("writer".to_owned(), "w".to_owned())].into();
    }
    (facts, settings)
}

#[derive(Default)]
struct Intake(Normalizer);

impl Sink for Intake {
    fn record(&mut self, record: Record) {
        self.0.record(record);
    }
    fn reject(&mut self, _reject: Reject) {}
    fn recognised(&mut self, _source: &Arc<str>, _format: &'static str) {}
}

/// Facts of the captures, each capture by itself, as many as a trial can resolve often.
pub(super) static CAPTURES: LazyLock<Vec<Facts>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures");
    let files = WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let captures =
        files.filter(|file| file.file_type().is_file() && !file.path().to_string_lossy().contains("unthinned"));
    let read = captures.map(|file| {
        let mut intake = Intake::default();
        let bytes = std::fs::read(file.path()).unwrap();
        let source = file.file_name().to_string_lossy().as_ref().into();
        decode::decode(&source, Box::new(Cursor::new(bytes)), &Limits::default(), &mut intake);
        intake.0.finish().facts
    });
    read.filter(|facts| !facts.is_empty()).collect()
});

/// What was told so far, by `fact_id`.
#[derive(Default)]
struct Told(BTreeMap<String, Fact>);

impl Told {
    fn hear(&mut self, delta: FactsDelta) {
        for id in &delta.removed {
            assert!(self.0.remove(id).is_some(), "a fact is told to have gone that was not there");
        }
        for fact in delta.added.into_rows() {
            let before = self.0.insert(fact.common().fact_id.clone(), fact.clone());
            assert_ne!(before.as_ref(), Some(&fact), "no change is told as one");
        }
    }
}

fn at_once(given: &Facts, settings: &IdentitySettings) -> BTreeMap<String, Fact> {
    let mut facts = given.clone();
    facts.make_set();
    resolve(&mut facts, settings);
    facts.into_rows().map(|fact| (fact.common().fact_id.clone(), fact)).collect()
}

/// Facts, looks apart, of the units that are older than an instant altogether.
fn past(told: &Told, before: Instant) -> BTreeSet<String> {
    let mut units: BTreeMap<[String; 3], Vec<(&String, Instant)>> = BTreeMap::new();
    for (id, fact) in told.0.iter().filter(|(_, fact)| !is_look(fact)) {
        let common = fact.common();
        let unit = match (fact.task_id().unwrap_or_default(), common.trace_id.as_str()) {
            ("", "") => [id.clone(), String::new(), String::new()],
            ("", trace) => [String::new(), trace.to_owned(), String::new()],
            (task, _) => [String::new(), common.agent.clone(), format!("task {task}")],
        };
        units.entry(unit).or_default().push((id, common.observed_at));
    }
    let units = units.into_values().filter(|facts| facts.iter().all(|(_, at)| *at < before));
    units.flatten().map(|(id, _)| id.clone()).collect()
}

/// Delivers facts in random order and batches, some twice, and forgets some, looking after each step.
fn deliver(facts: &Facts, settings: &IdentitySettings, dice: &mut Dice, steps: usize) {
    let mut coming: Vec<Fact> = facts.clone().into_rows().collect();
    for last in (1..coming.len()).rev() {
        coming.swap(last, dice.below(last + 1));
    }
    let (mut known, mut told, mut given) = (Known::new(settings.clone()), Told::default(), Facts::default());
    let size = coming.len() / steps + 1;
    while !coming.is_empty() {
        let mut batch = Facts::default();
        for fact in coming.split_off(coming.len().saturating_sub(1 + dice.below(2 * size))) {
            if dice.one_in(6) {
                coming.insert(dice.below(coming.len() + 1), fact.clone());
            }
            batch.put(fact);
        }
        given.append(batch.clone());
        told.hear(known.add(batch).delta);
        assert_eq!(told.0, at_once(&given, settings));
        if dice.one_in(3) {
            let part = 2 + dice.below(6);
            let mut gone: BTreeSet<String> = BTreeSet::from(["never seen".to_owned()]);
            gone.extend(given.commons().filter(|_| dice.one_in(part)).map(|common| common.fact_id.clone()));
            given.retain(|common| !gone.contains(&common.fact_id));
            told.hear(known.remove(gone.iter().map(String::as_str)));
            assert_eq!(told.0, at_once(&given, settings));
        }
        if dice.one_in(3) {
            let before = Instant(dice.below(1000) as i64);
            let past = past(&told, before);
            let evicted = known.evict(before, Instant(0)).delta;
            let of_looks = |id: &&String| told.0.get(*id).is_some_and(is_look);
            assert_eq!(evicted.removed.iter().filter(|id| !of_looks(id)).cloned().collect::<BTreeSet<_>>(), past);
            given.retain(|common| !evicted.removed.contains(&common.fact_id));
            told.hear(evicted);
            assert_eq!(told.0, at_once(&given, settings));
        }
        assert_eq!(known.len(), told.0.len());
    }
    let all: Vec<String> = told.0.keys().cloned().collect();
    told.hear(known.remove(all.iter().map(String::as_str)));
    assert!(known.is_empty() && told.0.is_empty() && known.is_forgotten());
}

#[test]
fn facts_of_few_words_are_known_as_resolved_at_once_whatever_comes_and_goes() {
    for seed in seeds(400) {
        let (facts, settings) = mix(seed);
        let mut dice = Dice::new(seed ^ 0xabcd);
        let steps = 1 + dice.below(20);
        println!("seed {seed}");
        deliver(&facts, &settings, &mut dice, steps);
    }
}

#[test]
fn facts_of_captures_are_known_as_resolved_at_once_whatever_comes_and_goes() {
    for seed in seeds(4) {
        let mut dice = Dice::new(seed);
        println!("seed {seed}");
        for _ in 0..3 {
            let mut facts = Facts::default();
            while facts.len() < 300 {
                facts.append(CAPTURES[dice.below(CAPTURES.len())].clone());
            }
            deliver(&facts, &IdentitySettings::default(), &mut dice, 8);
        }
    }
}
