//! What is counted, and that it follows from the facts and not from how they came.

use std::collections::{BTreeMap, BTreeSet};

use super::{Measures, Snapshot, Value};
use crate::instant::Instant;
use crate::tables::{
    CardColumns, CardRow, Common, ExchangeColumns, ExchangeRow, Fact, Facts, FactsDelta, PushDeliveryColumns,
    PushDeliveryRow, TaskEventColumns, TaskEventRow,
};

const SECOND: i64 = 1_000_000_000;

fn common(at: i64, agent: &str, observer: &str, call: &str) -> Common {
    Common {
        observed_at: Instant(at * SECOND),
        agent: agent.to_owned(),
        agent_ref: format!("{agent} {call}"),
        observer: observer.to_owned(),
        call_id: call.to_owned(),
        trace_id: format!("trace-{call}"),
        ..Common::default()
    }
}

fn exchange(common: Common, task: &str, outcome: &str) -> ExchangeRow {
    let own = ExchangeColumns {
        operation: "SendMessage".to_owned(),
        outcome: outcome.to_owned(),
        task_id: task.to_owned(),
        ..ExchangeColumns::default()
    };
    ExchangeRow { common, own }
}

fn event(common: Common, task: &str, state: &str) -> TaskEventRow {
    let own = TaskEventColumns { task_id: task.to_owned(), state: state.to_owned(), ..TaskEventColumns::default() };
    TaskEventRow { common, own }
}

fn card(common: Common, version: &str) -> CardRow {
    let fingerprint = format!("{version}0123456789abcdef");
    let own = CardColumns {
        body_sha256: format!("body {version}"),
        version: version.to_owned(),
        fingerprint,
        ..CardColumns::default()
    };
    CardRow { common, own }
}

fn came(fill: impl FnOnce(&mut Facts)) -> FactsDelta {
    let mut added = Facts::default();
    fill(&mut added);
    FactsDelta { added, ..FactsDelta::default() }
}

fn went(facts: &Facts) -> FactsDelta {
    FactsDelta { removed: facts.commons().map(|c| c.fact_id.clone()).collect(), ..FactsDelta::default() }
}

/// Values of counters and gauges, by name and labels.
fn values(snapshot: &Snapshot) -> BTreeMap<String, f64> {
    let series = snapshot.families.iter().flat_map(|family| family.series.iter().map(move |series| (family, series)));
    let value = |value: &Value| match value {
        Value::Count { count, .. } => *count as f64,
        Value::Level(level) => *level,
        Value::Sizes { buckets, .. } => buckets.last().map_or(0.0, |all| all.count as f64),
    };
    series
        .map(|(family, series)| (format!("{} {}", family.name, series.labels.join(" ")), value(&series.value)))
        .collect()
}

fn value(measures: &mut Measures, series: &str) -> Option<f64> {
    values(&measures.snapshot()).get(series).copied()
}

#[test]
fn a_call_seen_by_several_observers_counts_once_and_a_failure_that_one_saw_is_its_outcome() {
    let mut measures = Measures::default();
    measures.apply(&came(|facts| {
        facts.push_exchange(exchange(common(1, "a", "server", "c1"), "", "ok"));
        facts.push_exchange(exchange(common(1, "a", "client", "c1"), "", "transport"));
        facts.push_exchange(exchange(common(2, "a", "server", "c2"), "", "ok"));
        facts.push_exchange(exchange(common(3, "", "server", ""), "", ""));
    }));
    assert_eq!(value(&mut measures, "a2a_exchanges_total a SendMessage transport"), Some(1.0));
    assert_eq!(value(&mut measures, "a2a_exchanges_total a SendMessage ok"), Some(1.0));
    assert_eq!(value(&mut measures, "a2a_exchanges_total unknown SendMessage unknown"), Some(1.0));
}

#[test]
fn a_task_counts_once_a_state_is_open_until_it_ends_and_its_time_is_from_submission_to_end() {
    let mut measures = Measures::default();
    measures.apply(&came(|facts| {
        facts.push_exchange(exchange(common(10, "a", "client", "c1"), "t1", "ok"));
        for (at, observer) in [(11, "client"), (12, "server")] {
            facts.push_task_event(event(common(at, "a", observer, ""), "t1", "working"));
        }
    }));
    assert_eq!(value(&mut measures, "a2a_task_states_total a working"), Some(1.0));
    assert_eq!(value(&mut measures, "a2a_tasks_open a"), Some(1.0));
    measures.apply(&came(|facts| {
        facts.push_task_event(event(common(14, "a", "client", ""), "t1", "completed"));
        // Another observer's clock is ahead.
        facts.push_task_event(event(common(20, "a", "server", ""), "t1", "working"));
    }));
    assert_eq!(value(&mut measures, "a2a_tasks_open a"), Some(0.0));
    let snapshot = measures.snapshot();
    let durations = snapshot.families.iter().find(|family| family.name == "a2a_task_duration_seconds").unwrap();
    let Value::Sizes { buckets, sum } = &durations.series[0].value else { panic!("a histogram") };
    assert_eq!((durations.series[0].labels.as_slice(), *sum), (["a", "completed"].map(str::to_owned).as_slice(), 4.0));
    let counts: Vec<(f64, u64)> = buckets.iter().map(|bucket| (bucket.up_to, bucket.count)).collect();
    assert_eq!((counts[3], counts[4], counts.last().copied()), ((2.5, 0), (5.0, 1), Some((f64::INFINITY, 1))));
    assert_eq!(buckets[4].exemplar.as_ref().map(|e| (e.trace_id.as_str(), e.value)), Some(("trace-", 4.0)));
}

#[test]
fn a_task_whose_beginning_was_not_seen_has_no_duration() {
    let mut measures = Measures::default();
    measures.apply(&came(|facts| facts.push_task_event(event(common(1, "a", "client", ""), "t1", "failed"))));
    assert_eq!(value(&mut measures, "a2a_task_states_total a failed"), Some(1.0));
    assert_eq!(value(&mut measures, "a2a_task_duration_seconds a failed"), None);
}

#[test]
fn what_leaves_stays_counted_and_is_not_counted_again_when_it_comes_back() {
    let mut measures = Measures::default();
    let facts = came(|facts| {
        facts.push_exchange(exchange(common(1, "a", "client", "c1"), "t1", "ok"));
        facts.push_task_event(event(common(2, "a", "client", ""), "t1", "working"));
        facts.push_task_event(event(common(2, "a", "client", ""), "t2", "completed"));
    });
    measures.apply(&facts);
    let before = values(&measures.snapshot());
    measures.apply(&went(&facts.added));
    let mut after = values(&measures.snapshot());
    assert_eq!(after.insert("a2a_tasks_open a".to_owned(), 1.0), Some(0.0));
    assert_eq!(after, before);
    measures.apply(&facts);
    assert_eq!(values(&measures.snapshot()), before);
}

#[test]
fn a_call_that_turns_out_to_be_another_agents_moves_and_no_counter_goes_down() {
    let mut measures = Measures::default();
    let row = |agent: &str, call: &str| {
        let mut row = exchange(common(1, "x", "client", call), "", "ok");
        row.common.agent = agent.to_owned();
        row
    };
    measures.apply(&came(|facts| facts.push_exchange(row("", "c1"))));
    assert_eq!(value(&mut measures, "a2a_exchanges_total unknown SendMessage ok"), Some(1.0));
    measures.apply(&came(|facts| facts.push_exchange(row("a", "c1"))));
    assert_eq!(value(&mut measures, "a2a_exchanges_total a SendMessage ok"), Some(1.0));
    assert_eq!(value(&mut measures, "a2a_exchanges_total unknown SendMessage ok"), Some(1.0));
    measures.apply(&came(|facts| facts.push_exchange(row("", "c2"))));
    assert_eq!(value(&mut measures, "a2a_exchanges_total unknown SendMessage ok"), Some(1.0), "it was ahead by one");
    measures.apply(&came(|facts| facts.push_exchange(row("", "c3"))));
    assert_eq!(value(&mut measures, "a2a_exchanges_total unknown SendMessage ok"), Some(2.0));
}

#[test]
fn deliveries_count_by_what_became_of_them() {
    let mut measures = Measures::default();
    measures.apply(&came(|facts| {
        for (at, class, status) in [(1, "", Some(200)), (2, "auth", Some(401)), (3, "", None)] {
            let own = PushDeliveryColumns {
                failure_class: class.to_owned(),
                http_status: status,
                ..PushDeliveryColumns::default()
            };
            facts.push_push_delivery(PushDeliveryRow { common: common(at, "a", "server", ""), own });
        }
    }));
    for outcome in ["ok", "auth", "unknown"] {
        assert_eq!(value(&mut measures, &format!("a2a_push_deliveries_total a {outcome}")), Some(1.0), "{outcome}");
    }
}

#[test]
fn the_newest_card_is_shown_with_the_first_look_since_which_it_is_the_same() {
    let mut measures = Measures::default();
    measures.apply(&came(|facts| {
        for (at, version) in [(1, "1"), (2, "2"), (3, "2"), (0, "2")] {
            facts.push_card(card(common(at, "a", "client", ""), version));
        }
    }));
    assert_eq!(value(&mut measures, "a2a_card_info a 2 20123456789a"), Some(1.0));
    assert_eq!(value(&mut measures, "a2a_card_changed_timestamp_seconds a"), Some(2.0));
}

#[test]
fn agents_beyond_the_cap_are_others_and_keep_what_they_got() {
    let mut measures = Measures::new(2);
    let call =
        |at: i64, agent: &str| came(|facts| facts.push_exchange(exchange(common(at, agent, "client", ""), "", "ok")));
    let shown = |measures: &mut Measures| -> BTreeMap<String, f64> {
        let values = values(&measures.snapshot()).into_iter();
        values
            .filter_map(|(s, v)| Some((s.strip_prefix("a2a_exchanges_total ")?.split(' ').next()?.to_owned(), v)))
            .collect()
    };
    let expected = |pairs: &[(&str, f64)]| pairs.iter().map(|(s, v)| ((*s).to_owned(), *v)).collect::<BTreeMap<_, _>>();
    for (at, agent) in [(9, "late"), (2, "b"), (1, "a"), (3, "")] {
        measures.apply(&call(at, agent));
    }
    assert_eq!(shown(&mut measures), expected(&[("a", 1.0), ("b", 1.0), ("__other__", 1.0), ("unknown", 1.0)]));
    measures.apply(&call(20, "b"));
    assert_eq!(measures.drop_unseen(Instant(5 * SECOND)), ["a", "unknown"]);
    measures.apply(&call(21, "late"));
    measures.apply(&call(22, "new"));
    assert_eq!(shown(&mut measures), expected(&[("b", 2.0), ("new", 1.0), ("__other__", 2.0)]));
    assert_eq!(measures.drop_unseen(Instant(30 * SECOND)), ["b", "late", "new"]);
    assert_eq!(shown(&mut measures), expected(&[("__other__", 2.0)]), "what others counted stays");
}

#[test]
fn an_agent_that_is_called_as_a_word_of_the_labels_is_told_from_what_that_means() {
    let mut measures = Measures::new(2);
    for (at, agent) in [(1, "__other__"), (2, "unknown"), (3, "late"), (4, "")] {
        measures.apply(&came(|facts| facts.push_exchange(exchange(common(at, agent, "client", ""), "", "ok"))));
    }
    let mut of_agents: Vec<String> = values(&measures.snapshot())
        .into_keys()
        .filter_map(|series| Some(series.strip_prefix("a2a_exchanges_total ")?.split(' ').next()?.to_owned()))
        .collect();
    of_agents.sort();
    assert_eq!(of_agents, ["___other__", "__other__", "_unknown", "unknown"]);
}

#[test]
fn an_agent_with_open_tasks_is_not_dropped() {
    let mut measures = Measures::default();
    measures.apply(&came(|facts| facts.push_task_event(event(common(1, "a", "client", ""), "t1", "working"))));
    assert!(measures.drop_unseen(Instant(i64::MAX)).is_empty());
    measures.apply(&came(|facts| facts.push_task_event(event(common(2, "a", "client", ""), "t1", "failed"))));
    assert_eq!(measures.drop_unseen(Instant(i64::MAX)), ["a"]);
}

#[test]
fn names_and_labels_are_those_of_the_published_metrics() {
    let names: Vec<(&str, String)> =
        Measures::default().snapshot().families.iter().map(|f| (f.name, f.labels.join(","))).collect();
    let expected = [
        ("a2a_exchanges_total", "agent,operation,outcome"),
        ("a2a_task_states_total", "agent,state"),
        ("a2a_tasks_open", "agent"),
        ("a2a_task_duration_seconds", "agent,state"),
        ("a2a_push_deliveries_total", "agent,outcome"),
        ("a2a_card_info", "agent,version,fingerprint"),
        ("a2a_card_changed_timestamp_seconds", "agent"),
    ];
    assert_eq!(names, expected.map(|(name, labels)| (name, labels.to_owned())));
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % bound.max(1) as u64) as usize
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// Facts of few agents, calls and tasks.
fn mix(dice: &mut Dice) -> Vec<Fact> {
    let mut facts = Facts::default();
    for _ in 0..1 + dice.below(60) {
        let (agent, observer) = (dice.pick(&["", "a", "b", "c"]), dice.pick(&["client", "server", "gateway"]));
        let call = if dice.below(3) == 0 { String::new() } else { format!("c{}", dice.below(12)) };
        let common = common(dice.below(100) as i64, agent, observer, &call);
        let task = dice.pick(&["", "t1", "t2", "t3"]);
        match dice.below(4) {
            0 => facts.push_exchange(exchange(common, task, dice.pick(&["ok", "transport", "auth", ""]))),
            1 | 2 => {
                let state = dice.pick(&["submitted", "working", "completed", "failed", ""]);
                facts.push_task_event(event(common, task, state));
            }
            _ => facts.push_card(card(common, dice.pick(&["1", "2"]))),
        }
    }
    facts.make_set();
    facts.into_rows().collect()
}

fn deltas(mut facts: Vec<Fact>, dice: &mut Dice) -> Vec<FactsDelta> {
    for last in (1..facts.len()).rev() {
        facts.swap(last, dice.below(last + 1));
    }
    let mut deltas = Vec::new();
    while !facts.is_empty() {
        let mut added = Facts::default();
        for fact in facts.split_off(facts.len().saturating_sub(1 + dice.below(10))) {
            if dice.below(5) == 0 {
                facts.insert(dice.below(facts.len() + 1), fact.clone());
            }
            if dice.below(5) == 0 {
                added.put(fact.clone());
            }
            added.put(fact);
        }
        deltas.push(FactsDelta { added, ..FactsDelta::default() });
    }
    deltas
}

/// Without exemplars: which of two that were seen at once is shown is of no matter.
fn numbers(measures: &mut Measures) -> (BTreeMap<String, f64>, Vec<Vec<u64>>) {
    let snapshot = measures.snapshot();
    let series = snapshot.families.iter().flat_map(|family| &family.series);
    let buckets = series.filter_map(|series| match &series.value {
        Value::Sizes { buckets, .. } => Some(buckets.iter().map(|bucket| bucket.count).collect()),
        _ => None,
    });
    (values(&snapshot), buckets.collect())
}

#[test]
fn the_numbers_follow_from_the_facts_whatever_order_batches_and_repetition_they_come_in() {
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let facts = mix(&mut dice);
        let mut at_once = Measures::new(2);
        let mut whole = Facts::default();
        facts.iter().cloned().for_each(|fact| whole.put(fact));
        at_once.apply(&FactsDelta { added: whole, ..FactsDelta::default() });
        let mut bit_by_bit = Measures::new(2);
        for delta in deltas(facts.clone(), &mut dice) {
            // Some are told first as of nobody, as they are while their names are not known.
            let mut unknown = delta.clone();
            unknown.added.commons_mut().filter(|_| dice.below(2) == 0).for_each(|common| common.agent.clear());
            bit_by_bit.apply(&unknown);
            bit_by_bit.apply(&delta);
        }
        assert_eq!(numbers(&mut bit_by_bit), numbers(&mut at_once), "seed {seed}");
    }
}

#[test]
fn no_counter_goes_down_whatever_comes_goes_and_changes() {
    for seed in 0..100 {
        let mut dice = Dice(seed);
        let facts = mix(&mut dice);
        let mut measures = Measures::new(2);
        let mut before = BTreeMap::new();
        for mut delta in deltas(facts.clone(), &mut dice) {
            delta.added.commons_mut().filter(|_| dice.below(3) == 0).for_each(|common| common.agent.clear());
            let gone = facts.iter().filter(|_| dice.below(9) == 0).map(|fact| fact.common().fact_id.clone());
            delta.removed = gone.collect::<BTreeSet<_>>();
            measures.apply(&delta);
            let now = values(&measures.snapshot());
            for (series, value) in before
                .iter()
                .filter(|(series, _): &(&String, &f64)| !series.contains("open") && !series.contains("card"))
            {
                assert!(now.get(series).is_some_and(|now| now >= value), "seed {seed}: {series} was {value}");
            }
            before = now;
        }
    }
}
