//! The facts known so far, and what more or fewer of them change in who is who.
//!
//! In: facts as their records gave them, in any order and any number of times, and facts to forget. Out: the facts that came,
//! went or are now of another agent, client or call. A function of the set: after the same facts the same are known, however
//! they came.

use std::collections::{BTreeSet, HashMap};

use super::IdentitySettings;
use super::entry::Entry;
use super::looks;
use super::relation::{Key, Slot};
use super::retention::MOST_EVICTED;
use super::units::Units;
use super::web::Web;
use crate::tables::{Common, Fact, Facts, FactsDelta, Remembered};

/// Facts and their identities.
#[derive(Debug, Clone)]
pub struct Known {
    settings: IdentitySettings,
    pub(super) web: Web,
    /// Where each fact is, by `fact_id`.
    slots: HashMap<Key, Slot>,
    pub(super) units: Units,
    /// Facts of looks at cards, key sets and policies.
    pub(super) looks: BTreeSet<Slot>,
    /// Tasks of which facts were evicted.
    pub(super) evicted: Remembered,
}

/// What facts changed that came.
#[derive(Debug, Clone, Default)]
pub struct Added {
    /// Facts that are new or of another agent, client or call now.
    pub delta: FactsDelta,
    /// Tasks that facts came for after others of theirs were evicted, each told once: to judge them, the caller has to add
    /// the others again, identities not resolved.
    pub late: Vec<String>,
}

impl Default for Known {
    fn default() -> Self {
        Self::new(IdentitySettings::default())
    }
}

impl Known {
    /// No facts.
    pub fn new(settings: IdentitySettings) -> Self {
        Self {
            settings,
            web: Web::default(),
            slots: HashMap::new(),
            units: Units::default(),
            looks: BTreeSet::new(),
            evicted: Remembered::new(MOST_EVICTED),
        }
    }

    /// Takes facts, identities not resolved, and tells what changed.
    pub fn add(&mut self, facts: Facts) -> Added {
        let mut late = Vec::new();
        for fact in facts.into_rows() {
            late.extend(self.late(&fact));
            self.take(fact);
        }
        Added { delta: FactsDelta { added: self.changed(), ..FactsDelta::default() }, late }
    }

    /// Takes facts that are told anew because their call or record is another now: they replace what is known of them, wherever
    /// that stood.
    pub fn renew(&mut self, facts: Facts) -> Added {
        for common in facts.commons() {
            let id = self.web.keys.of(&[&common.fact_id]);
            if let Some(slot) = self.slots.remove(&id) {
                self.drop_slot(slot);
            }
        }
        self.add(facts)
    }

    /// Puts other settings in the place of these, and tells all facts with who is who by them.
    pub fn rename(&mut self, settings: IdentitySettings) -> Facts {
        let facts: Vec<Fact> = self.web.iter().map(Entry::given).collect();
        let evicted = std::mem::replace(&mut self.evicted, Remembered::new(MOST_EVICTED));
        *self = Self { evicted, ..Self::new(settings) };
        facts.into_iter().for_each(|fact| self.take(fact));
        self.changed()
    }

    /// Who is who by the user.
    pub fn settings(&self) -> &IdentitySettings {
        &self.settings
    }

    /// Forgets facts by `fact_id`, and tells what changed. What is not known is passed over.
    pub fn remove<'a>(&mut self, fact_ids: impl IntoIterator<Item = &'a str>) -> FactsDelta {
        let mut removed = BTreeSet::new();
        for id in fact_ids {
            let key = self.web.keys.of(&[id]);
            if let Some(slot) = self.slots.remove(&key) {
                self.drop_slot(slot);
                removed.insert(id.to_owned());
            }
        }
        FactsDelta { added: self.changed(), removed }
    }

    /// All facts, identities resolved.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        self.web.iter().for_each(|entry| facts.put(entry.fact.clone()));
        facts.make_set();
        facts
    }

    /// Number of facts.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether a fact is known.
    pub fn contains(&self, fact_id: &str) -> bool {
        self.slots.contains_key(&self.web.keys.some(fact_id))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether nothing at all is left of the facts that were known.
    #[cfg(test)]
    pub(super) fn is_forgotten(&self) -> bool {
        self.web.is_empty() && self.units.is_empty() && self.looks.is_empty()
    }

    /// Takes a fact; of one that is known already the one that stands further ahead in its source.
    fn take(&mut self, fact: Fact) {
        let id = self.web.keys.of(&[&fact.common().fact_id]);
        if let Some(&slot) = self.slots.get(&id) {
            let is_ahead = self.web.get(slot).is_none_or(|known| place(fact.common()) < place(known.fact.common()));
            if !is_ahead {
                return;
            }
            self.drop_slot(slot);
        }
        let is_look = looks::is_look(&fact);
        let slot = self.web.insert(fact);
        self.slots.insert(id, slot);
        if is_look {
            self.looks.insert(slot);
        }
    }

    fn drop_slot(&mut self, slot: Slot) {
        if let Some(entry) = self.web.remove(slot) {
            self.units.leave(entry.keys.unit, slot, entry.fact.common().observed_at);
            self.looks.remove(&slot);
        }
    }

    /// The facts whose identity is another than was told.
    fn changed(&mut self) -> Facts {
        let mut facts = Facts::default();
        for slot in self.web.resolve(&self.settings) {
            self.settle_unit(slot);
            if let Some(entry) = self.web.get(slot) {
                facts.put(entry.fact.clone());
            }
        }
        facts.make_set();
        facts
    }
}

/// Which of two readings of one fact is kept.
fn place(common: &Common) -> (&str, &str) {
    (&common.source, &common.position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::Instant;
    use crate::tables::{CardColumns, CardRow, CardSkillColumns, CardSkillRow, ExchangeColumns, ExchangeRow};

    fn call(at: i64, client: &str, trace: &str, position: &str) -> ExchangeRow {
        ExchangeRow {
            common: Common {
                observed_at: Instant(at),
                observer: "client".to_owned(),
                client_ref: client.to_owned(),
                agent_ref: "http://a.example/".to_owned(),
                trace_id: trace.to_owned(),
                source: "capture".to_owned(),
                position: position.to_owned(),
                ..Common::default()
            },
            own: ExchangeColumns::default(),
        }
    }

    fn add(known: &mut Known, rows: impl IntoIterator<Item = ExchangeRow>) -> Vec<(i64, String)> {
        let mut facts = Facts::default();
        rows.into_iter().for_each(|row| facts.push_exchange(row));
        let Added { delta, late } = known.add(facts);
        assert!(late.is_empty());
        assert!(delta.removed.is_empty());
        delta.added.exchanges.into_iter().map(|row| (row.common.observed_at.0, row.common.client)).collect()
    }

    #[test]
    fn a_name_that_comes_late_changes_the_facts_that_it_names_and_no_others() {
        let mut known = Known::new(IdentitySettings::default());
        let told = add(&mut known, [call(1, "10.0.0.7", "t1", "1"), call(2, "10.0.0.8", "t2", "2")]);
        assert_eq!(told, [(1, "10.0.0.7".to_owned()), (2, "10.0.0.8".to_owned())]);
        let told = add(&mut known, [call(3, "planner", "t1", "3")]);
        assert_eq!(told, [(1, "planner".to_owned()), (3, "planner".to_owned())]);
        assert_eq!(known.len(), 3);
    }

    #[test]
    fn after_other_settings_all_is_as_if_they_had_been_there_from_the_start() {
        let settings = |name: &str| IdentitySettings {
            clients: [("10.0.0.7".to_owned(), name.to_owned())].into(),
            ..IdentitySettings::default()
        };
        let calls = || [call(1, "10.0.0.7", "t1", "1"), call(2, "10.0.0.8", "t2", "2")];
        let (mut renamed, mut fresh) = (Known::new(settings("before")), Known::new(settings("after")));
        add(&mut renamed, calls());
        add(&mut fresh, calls());
        assert_eq!(renamed.rename(settings("after")).exchanges, fresh.facts().exchanges);
        assert_eq!(renamed.facts().exchanges, fresh.facts().exchanges);
        assert_eq!(
            (fresh.facts().exchanges[0].common.client.as_str(), renamed.settings()),
            ("after", &settings("after"))
        );
        assert_eq!(add(&mut renamed, calls()), []);
    }

    #[test]
    fn a_fact_read_again_is_told_again_only_if_it_stood_further_ahead() {
        let mut known = Known::new(IdentitySettings::default());
        add(&mut known, [call(1, "c", "", "5")]);
        assert_eq!(add(&mut known, [call(1, "c", "", "7")]), []);
        assert_eq!(add(&mut known, [call(1, "c", "", "3")]).len(), 1);
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn a_fact_told_anew_with_another_call_replaces_the_one_before() {
        let mut known = Known::new(IdentitySettings::default());
        let told = |call: &str| {
            let mut row = call_of(1);
            row.common.call_id = call.to_owned();
            let mut facts = Facts::default();
            facts.push_exchange(row);
            facts
        };
        known.add(told("first"));
        assert_eq!(known.renew(told("second")).delta.added.exchanges[0].common.call_id, "second");
        assert_eq!((known.len(), known.facts().exchanges[0].common.call_id.as_str()), (1, "second"));
    }

    fn call_of(at: i64) -> ExchangeRow {
        call(at, "c", "", "1")
    }

    fn look(at: i64, body: &str, facts: &mut Facts) {
        let common = Common {
            observed_at: Instant(at),
            observer: "client".to_owned(),
            agent_ref: "http://a.example/".to_owned(),
            record_id: format!("look {at}"),
            ..Common::default()
        };
        let own = CardColumns { body_sha256: body.to_owned(), http_status: Some(200), ..CardColumns::default() };
        facts.push_card(CardRow { common: common.clone(), own });
        let own = CardSkillColumns { body_sha256: body.to_owned(), ..CardSkillColumns::default() };
        facts.push_card_skill(CardSkillRow { common, own });
    }

    #[test]
    fn of_old_looks_the_ends_of_runs_stay_and_of_older_ones_the_last_of_all() {
        let mut known = Known::default();
        let mut facts = Facts::default();
        for (at, body) in (1..).zip(["x", "x", "a", "a", "a", "a", "b", "b", "a", "a", "a", "a"]) {
            look(at, body, &mut facts);
        }
        let left = |known: &Known, all: &Facts, gone: &BTreeSet<String>| -> Vec<i64> {
            let left = all.cards.iter().filter(|row| !gone.contains(&row.common.fact_id));
            let left: Vec<i64> = left.map(|row| row.common.observed_at.0).collect();
            assert_eq!(known.len(), 2 * left.len(), "skills go with their look");
            left
        };
        known.add(facts.clone());
        let evicted = known.evict(Instant(11), Instant(3));
        assert_eq!(evicted.looks, 5);
        let mut gone = evicted.delta.removed;
        assert_eq!(left(&known, &facts, &gone), [3, 6, 7, 8, 9, 11, 12]);
        gone.extend(known.evict(Instant(1000), Instant(1000)).delta.removed);
        assert_eq!(left(&known, &facts, &gone), [12]);
    }

    #[test]
    fn what_a_body_lists_stays_as_long_as_a_look_that_saw_it() {
        let mut known = Known::default();
        let mut facts = Facts::default();
        for (at, body) in [(1, "a"), (2, "b"), (3, "a"), (4, "c")] {
            look(at, body, &mut facts);
        }
        // As the normaliser gives them: the same with every look at the body, and of no time.
        facts.card_skills.iter_mut().for_each(|row| {
            row.common.observed_at = Instant::default();
            row.common.record_id.clear();
            row.common.fact_id = format!("skill of {}", row.own.body_sha256);
        });
        known.add(facts);
        let mut listed = |before: i64| -> BTreeSet<String> {
            known.evict(Instant(before), Instant(before));
            known.facts().card_skills.into_iter().map(|row| row.own.body_sha256).collect()
        };
        assert_eq!(listed(1), ["a", "b", "c"].map(str::to_owned).into());
        assert_eq!(listed(3), ["a", "c"].map(str::to_owned).into());
        assert_eq!(listed(100), ["c".to_owned()].into());
    }

    #[test]
    fn a_task_leaves_as_a_whole_and_is_asked_for_once_when_a_late_fact_comes() {
        let mut known = Known::default();
        let of_task = |at: i64, task: &str| {
            let mut row = call(at, "c", "", &at.to_string());
            row.own.task_id = task.to_owned();
            let mut facts = Facts::default();
            facts.push_exchange(row);
            facts
        };
        for (at, task) in [(1, "t1"), (9, "t1"), (2, "t2")] {
            known.add(of_task(at, task));
        }
        let evicted = known.evict(Instant(9), Instant(0));
        assert_eq!((evicted.delta.removed.len(), evicted.tasks, known.len()), (1, 1, 2));
        assert_eq!(known.add(of_task(3, "t1")).late, [] as [&str; 0]);
        assert_eq!(known.add(of_task(4, "t2")).late, ["t2"]);
        assert_eq!(known.add(of_task(2, "t2")).late, [] as [&str; 0]);
    }
}
