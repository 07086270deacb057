//! Random streams: parts of captures and of cases, each on hosts and with ids of its own, cut into batches.
//!
//! In: a seed, the cases and the captures. Out: facts and the order in which they are delivered, some twice. The same seed
//! gives the same stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use a2a_drift::tables::Facts;
use regex::Regex;

use super::assemble::Capture;
use super::case::Case;
use super::ids::{Fresh, rename};
use super::judge::{self, Files};
use super::{Told, library};

/// Numbers that look random and follow from a seed.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall as the seed says.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed);
        dice.roll();
        dice
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound.max(1) as u64) as usize
    }

    /// Whether one of `of` chances came.
    pub fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// Puts things in another order.
    pub fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            things.swap(last, self.below(last + 1));
        }
    }
}

/// What streams are made of.
#[derive(Debug)]
pub struct Shelf {
    /// Cases in which a rule fires, so that those of one rule do not follow each other.
    fires: Vec<Case>,
    quiet: Vec<Case>,
    captures: Vec<&'static str>,
}

/// Facts and how they are delivered.
#[derive(Debug, Clone)]
pub struct Stream {
    /// All facts, as their records gave them.
    pub facts: Facts,
    /// Batches of records: groups of facts that come together.
    pub batches: Vec<Vec<usize>>,
    /// Groups that each fact is in: the record that it comes with; for what a card body says each look at that body.
    groups: BTreeMap<String, BTreeSet<usize>>,
    /// What it was made of.
    pub parts: Vec<String>,
    /// The bytes that it was read of.
    pub files: Files,
}

impl Shelf {
    /// All cases and captures. What does not read is told where the cases are run.
    pub fn read() -> Self {
        let cases = library::all_cases().into_iter().filter_map(Result::ok);
        let cases = cases.filter(|case| Capture::of(&case.text, library::shelf()).is_ok());
        let (fires, quiet): (Vec<Case>, Vec<Case>) = cases.partition(Case::fires);
        let mut nth: BTreeMap<String, usize> = BTreeMap::new();
        let mut ranked: Vec<(usize, Case)> = fires
            .into_iter()
            .map(|case| {
                let nth = nth.entry(case.rule.clone()).or_default();
                *nth += 1;
                (*nth, case)
            })
            .collect();
        ranked.sort_by_key(|(nth, _)| *nth);
        let is_lines = |file: &str| {
            [".exchanges.ndjson", ".otlp.jsonl", ".events.ndjson", ".har"].iter().any(|end| file.ends_with(end))
        };
        let captures =
            library::files().iter().map(String::as_str).filter(|file| is_lines(file) && !file.contains("unthinned"));
        Self { fires: ranked.into_iter().map(|(_, case)| case).collect(), quiet, captures: captures.collect() }
    }

    /// Number of cases in which a rule fires.
    pub fn fires(&self) -> usize {
        self.fires.len()
    }

    /// The stream of a seed. The cases in which rules fire are drawn in turn, `each` a stream.
    ///
    /// # Errors
    /// When a case or capture does not read.
    pub fn stream(&self, seed: u64, each: usize) -> Told<Stream> {
        let mut dice = Dice::new(seed);
        let mut parts = Vec::new();
        let mut texts = Vec::new();
        let first = (seed as usize).wrapping_mul(each);
        for at in 0..each {
            let Some(case) = self.fires.get(first.wrapping_add(at) % self.fires.len().max(1)) else { break };
            parts.push(format!("{}::{}", case.rule, case.name));
            texts.push(Capture::of(&case.text, library::shelf())?.files());
        }
        if let (false, Some(case)) = (dice.one_in(2), self.quiet.get(dice.below(self.quiet.len()))) {
            parts.push(format!("{}::{}", case.rule, case.name));
            texts.push(Capture::of(&case.text, library::shelf())?.files());
        }
        for _ in 0..2 + dice.below(3) {
            let file = self.captures[dice.below(self.captures.len())];
            let lines = library::lines(file)?;
            let count = 1 + dice.below(if file.contains("otlp") { 8 } else { 24 });
            let from = dice.below(lines.len());
            let text: String = lines.iter().skip(from).take(count).flat_map(|line| [line, "\n"]).collect();
            parts.push(format!("{file}:{}+{count}", from + 1));
            texts.push(Files::from([("capture.ndjson".to_owned(), text.into_bytes())]));
        }
        let mut files = Files::new();
        let mut host = dice.below(200);
        for (part, text) in texts.into_iter().enumerate() {
            // Now and then two parts are on the same hosts, and even of the same ids.
            let same_host = dice.one_in(5);
            host += usize::from(!same_host);
            let ids = if dice.one_in(12) { 0 } else { part };
            for (name, bytes) in text {
                let text = String::from_utf8(bytes).map_err(|_| format!("{name} is no text"))?;
                files.insert(format!("{part}-{name}"), moved(&text, seed, ids, host).into_bytes());
            }
        }
        Ok(Stream::cut(files, parts, &mut dice))
    }
}

/// A text with ids of its own, on hosts of its own.
fn moved(text: &str, seed: u64, ids: usize, host: usize) -> String {
    static LOCAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b127\.0\.0\.(\d+)\b").unwrap());
    let own_ids = rename(text, &format!("{seed}/{ids}"), Fresh::All);
    LOCAL.replace_all(&own_ids, format!("127.0.{}.$1", host % 250)).into_owned()
}

impl Stream {
    fn cut(files: Files, parts: Vec<String>, dice: &mut Dice) -> Self {
        let facts = judge::facts(&files).0;
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        let mut number = |record: String| {
            let next = numbers.len();
            *numbers.entry(record).or_insert(next)
        };
        let mut looks: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        let mut groups: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for common in facts.commons().filter(|common| !common.record_id.is_empty()) {
            groups.entry(common.fact_id.clone()).or_default().insert(number(common.record_id.clone()));
        }
        for card in &facts.cards {
            let look = groups.get(&card.common.fact_id).cloned().unwrap_or_default();
            looks.entry(card.own.body_sha256.clone()).or_default().extend(look);
        }
        // Now and then what a card body says comes by itself.
        let alone = dice.one_in(6);
        let skills = facts.card_skills.iter().map(|row| (&row.common.fact_id, &row.own.body_sha256));
        let endpoints = facts.card_endpoints.iter().map(|row| (&row.common.fact_id, &row.own.body_sha256));
        for (fact, body) in skills.chain(endpoints) {
            let with = if alone { None } else { looks.get(body).filter(|looks| !looks.is_empty()).cloned() };
            let with = with.unwrap_or_else(|| BTreeSet::from([number(format!("body {body}"))]));
            groups.insert(fact.clone(), with);
        }
        for common in facts.commons() {
            groups.entry(common.fact_id.clone()).or_insert_with(|| BTreeSet::from([number(common.fact_id.clone())]));
        }
        let mut order: Vec<usize> = (0..numbers.len()).collect();
        dice.shuffle(&mut order);
        let mut batches: Vec<Vec<usize>> = Vec::new();
        let most = 2 + dice.below(10);
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let size = (1 + dice.below(1 + 2 * order.len() / most)).min(rest.len());
            let (batch, later) = rest.split_at(size);
            let mut batch = batch.to_vec();
            for _ in 0..dice.below(3) {
                // Delivered before, and again.
                batch.push(order[dice.below(order.len() - later.len())]);
            }
            batches.push(batch);
            rest = later;
        }
        Self { facts, batches, groups, parts, files }
    }

    /// The facts of some groups.
    pub fn of_groups(&self, groups: impl IntoIterator<Item = usize>) -> Facts {
        let groups: BTreeSet<usize> = groups.into_iter().collect();
        let mut facts = self.facts.clone();
        facts.retain(|common| self.groups.get(&common.fact_id).is_some_and(|of| !of.is_disjoint(&groups)));
        facts
    }
}
