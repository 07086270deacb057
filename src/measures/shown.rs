//! What was shown of counters, so that they never go down.
//!
//! In: how many things belong to each series now, and the labels of agents. Out: series with values at least those of the last
//! time. Series of forgotten agents end, but what `__other__` was made of stays in it.

use std::collections::{BTreeMap, HashMap};

use super::agents::{AgentId, Agents};
use super::counters::{Counted, Counters, Sighting, see};
use super::durations::{BOUNDS, Durations, Sizes, seconds};
use super::ids::Word;
use super::snapshot::{Bucket, Exemplar, OTHER, Series, Value};

#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    counts: HashMap<(Counted, Vec<Word>), u64>,
    sizes: HashMap<Vec<Word>, Floor>,
    /// Of agents that were forgotten while they were shown as others.
    others: BTreeMap<(Counted, [Word; 2]), u64>,
    other_sizes: BTreeMap<Word, Sizes>,
}

/// Least values of a histogram.
#[derive(Debug, Clone, Default)]
struct Floor {
    buckets: [u64; BOUNDS.len() + 1],
    sum: i128,
}

impl Shown {
    /// Series of a family of counters with an agent and so many labels more.
    pub(super) fn counts(&mut self, family: Counted, more: usize, counters: &Counters, agents: &Agents) -> Vec<Series> {
        let labels = |agent: &Word, words: &[Word; 2]| -> Vec<Word> {
            std::iter::once(agent).chain(words.iter().take(more)).cloned().collect()
        };
        let mut series: BTreeMap<Vec<Word>, (u64, Option<Sighting>)> = BTreeMap::new();
        for (key, count) in counters.iter().filter(|(key, _)| key.family == family) {
            let Some(agent) = agents.label_of(key.agent) else { continue };
            let (sum, last) = series.entry(labels(agent, &key.words)).or_default();
            *sum += count.now;
            see(last, count.last.as_ref());
        }
        for ((_, words), count) in self.others.iter().filter(|((of, _), _)| *of == family) {
            series.entry(labels(&OTHER.into(), words)).or_default().0 += count;
        }
        for (labels, least) in self.counts.iter().filter(|((of, _), _)| *of == family).map(|((_, l), c)| (l, c)) {
            let (count, _) = series.entry(labels.clone()).or_default();
            *count = (*count).max(*least);
        }
        self.counts.extend(series.iter().map(|(labels, (count, _))| ((family, labels.clone()), *count)));
        let series = series.into_iter().map(|(labels, (count, last))| {
            let exemplar = last.map(|seen| Exemplar { trace_id: seen.trace_id, value: 1.0, at: seen.at });
            Series { labels: texts(&labels), value: Value::Count { count, exemplar } }
        });
        series.collect()
    }

    /// Series of durations.
    pub(super) fn sizes(&mut self, durations: &Durations, agents: &Agents) -> Vec<Series> {
        let mut series: BTreeMap<Vec<Word>, Sizes> = BTreeMap::new();
        for ((agent, state), sizes) in durations.iter() {
            if let Some(agent) = agents.label_of(*agent) {
                merge(series.entry(vec![agent.clone(), state.clone()]).or_default(), sizes);
            }
        }
        for (state, sizes) in &self.other_sizes {
            merge(series.entry(vec![OTHER.into(), state.clone()]).or_default(), sizes);
        }
        for labels in self.sizes.keys() {
            series.entry(labels.clone()).or_default();
        }
        series
            .into_iter()
            .map(|(labels, sizes)| {
                let floor = self.sizes.entry(labels.clone()).or_default();
                Series { labels: texts(&labels), value: histogram(&sizes, floor) }
            })
            .collect()
    }

    /// Ends the series of an agent, or keeps them in those of the others.
    pub(super) fn forget(
        &mut self,
        agent: AgentId,
        label: Option<&Word>,
        counters: &mut Counters,
        durations: &mut Durations,
    ) {
        let (counts, sizes) = (counters.forget(agent), durations.forget(agent));
        match label {
            Some(label) if &**label == OTHER => {
                for (key, count) in counts {
                    *self.others.entry((key.family, key.words)).or_default() += count;
                }
                for (state, sizes) in sizes {
                    merge(self.other_sizes.entry(state).or_default(), &sizes);
                }
            }
            Some(label) => {
                self.counts.retain(|(_, labels), _| labels.first() != Some(label));
                self.sizes.retain(|labels, _| labels.first() != Some(label));
            }
            None => {}
        }
    }
}

fn texts(labels: &[Word]) -> Vec<String> {
    labels.iter().map(ToString::to_string).collect()
}

fn merge(into: &mut Sizes, sizes: &Sizes) {
    into.sum += sizes.sum;
    for (into, size) in into.buckets.iter_mut().zip(&sizes.buckets) {
        into.count += size.count;
        see(&mut into.last, size.last.as_ref());
        if size.last.is_some() && into.last == size.last {
            into.nanos = size.nanos;
        }
    }
}

/// Buckets by upper bound, none less than it was.
fn histogram(sizes: &Sizes, floor: &mut Floor) -> Value {
    floor.sum = floor.sum.max(sizes.sum);
    let mut count = 0;
    let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
    let buckets = bounds.zip(sizes.buckets.iter().zip(&mut floor.buckets)).map(|(up_to, (size, least))| {
        *least = size.count.max(*least);
        count += *least;
        let last = size.last.clone();
        let value = seconds(i128::from(size.nanos));
        let exemplar = last.map(|seen| Exemplar { trace_id: seen.trace_id, value, at: seen.at });
        Bucket { up_to, count, exemplar }
    });
    Value::Sizes { buckets: buckets.collect(), sum: seconds(floor.sum) }
}
