//! A corpus evaluated by keys, tick by tick.
//!
//! In: an engine, then changes of the set of facts. Out: findings. One query's failure stops only what reads it, until it runs
//! again.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use arrow::array::{BooleanArray, RecordBatch, StringViewArray};
use arrow::compute::filter_record_batch;
use arrow::error::ArrowError;

use super::cells::{self, Cell};
use super::opened::{FactTable, Opened, Stale};
use super::reached::{Change, Changes, Rows};
use super::step::Step;
use super::table::{Place, Table};
use crate::findings::{Finding, Generation};
use crate::rules::{self, AsOf, Engine, EngineError, KeptPlans, Kind, RuleFailure};
use crate::tables::{Facts, FactsDelta};

/// Why facts could not be taken.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep the facts")]
pub struct LiveError(#[from] ArrowError);

/// What a tick did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tick {
    /// Facts that came, went or changed.
    pub facts: usize,
    /// Stored views and rules that were run.
    pub runs: usize,
    /// Rows that they were given.
    pub rows: usize,
    /// Rows that their operators looked at.
    pub work: usize,
    /// What each of those that were run took.
    pub took: Vec<(String, Duration)>,
    /// Rules whose findings changed.
    pub rules: BTreeSet<String>,
    /// What failed; its findings are those of the last time it did not.
    pub failures: Vec<RuleFailure>,
}

/// A corpus and all that it said so far of the facts so far.
#[derive(Debug)]
pub struct Keyed {
    engine: Engine,
    plans: KeptPlans,
    facts: Vec<FactTable>,
    tables: Vec<Table>,
    steps: Vec<Step>,
    opened: Opened,
}

impl Keyed {
    /// Plans the corpus of an engine. There are no facts yet.
    ///
    /// # Errors
    /// When the system gives no threads or the tables cannot be set up.
    pub fn new(engine: &Engine) -> Result<Self, EngineError> {
        let plans = engine.keep_plans()?;
        let (mut tables, mut facts, mut numbers) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (name, schema) in Facts::schemas() {
            let mut table = Table::new(schema);
            let number = tables.len();
            if let Some(by_id) = table.index_by(&["fact_id"]) {
                facts.push(FactTable { name, table: number, by_id });
            }
            numbers.insert(name.to_owned(), number);
            tables.push(table);
        }
        for kept in plans.queries() {
            numbers.insert(kept.name.clone(), tables.len());
            let schema = kept.schema.as_ref().map(std::sync::Arc::clone);
            tables.push(Table::new(schema.unwrap_or_else(|_| arrow::datatypes::Schema::empty().into())));
        }
        let first = facts.len();
        let steps = plans.queries().iter().enumerate();
        let steps = steps.map(|(at, kept)| Step::new(kept, first + at, &numbers, &mut tables)).collect();
        Ok(Self { engine: engine.clone(), plans, facts, tables, steps, opened: Opened::default() })
    }

    /// Forgets all facts, and keeps the plans.
    pub fn clear(&mut self) {
        self.tables.iter_mut().for_each(Table::clear);
        self.steps.iter_mut().for_each(Step::clear);
        self.opened.clear();
    }

    /// Takes what became of the facts, and evaluates the keys that it concerns.
    ///
    /// # Errors
    /// When the facts cannot be kept; a query's failure is in the result.
    pub async fn apply(&mut self, delta: &FactsDelta) -> Result<Tick, LiveError> {
        let mut changes = self.take(delta)?;
        let mut tick = Tick {
            facts: changes.values().map(|change| change.came.num_rows().max(change.gone.num_rows())).sum(),
            ..Tick::default()
        };
        let gone: Vec<String> = changes.values().flat_map(|change| fact_ids(&change.gone)).collect();
        let mut failed: BTreeMap<usize, String> = BTreeMap::new();
        let levels: BTreeSet<usize> = self.plans.queries().iter().map(|kept| kept.level).collect();
        for level in levels {
            let jobs = self.due(level, &changes, &mut failed);
            tick.runs += jobs.len();
            tick.rows += jobs.iter().flat_map(|(_, inputs)| inputs).map(RecordBatch::num_rows).sum::<usize>();
            for (position, result) in self.plans.run(jobs).await {
                let rows = result.map(|ran| {
                    tick.work += ran.work;
                    tick.took.extend(self.plans.queries().get(position).map(|kept| (kept.name.clone(), ran.took)));
                    ran.rows
                });
                match rows.and_then(|rows| self.replace(position, &rows)) {
                    Ok(change) => changes.extend(change.map(|change| (self.steps[position].table, change))),
                    Err(message) => drop(failed.insert(position, message)),
                }
            }
        }
        self.renew(&changes, &gone, &mut tick);
        let failures = failed.into_iter().filter_map(|(position, message)| {
            Some(RuleFailure { rule: self.plans.queries().get(position)?.name.clone(), message })
        });
        tick.failures.extend(failures);
        Ok(tick)
    }

    /// Findings that fire, by rule and id.
    pub fn findings(&self, as_of: &AsOf) -> Vec<Finding> {
        rules::select(self.all_findings(), as_of)
    }

    /// Findings of all instants, by rule and id.
    pub fn all_findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for rule in &self.engine.corpus().rules {
            let position = self.plans.queries().iter().position(|kept| kept.name == rule.id);
            findings.extend(position.into_iter().flat_map(|position| self.opened.of(position)).cloned());
        }
        findings
    }

    /// Rows of a stored view or a rule; none when the rules need no such.
    ///
    /// # Errors
    /// When rows cannot be gathered.
    pub fn rows(&self, name: &str) -> Result<Option<RecordBatch>, LiveError> {
        let position = self.plans.queries().iter().position(|kept| kept.name == name);
        let table = position.and_then(|position| self.tables.get(self.steps.get(position)?.table));
        Ok(table.map(|table| table.rows(&table.all())).transpose()?)
    }

    /// Generations of cards, if the corpus has the view that knows them.
    ///
    /// # Errors
    /// When rows cannot be gathered.
    pub fn generations(&self) -> Result<Vec<Generation>, LiveError> {
        Ok(self.rows(rules::GENERATIONS)?.map(|rows| rules::read_generations(&rows)).unwrap_or_default())
    }

    /// Number of facts of each table.
    pub fn sizes(&self) -> impl Iterator<Item = (&'static str, usize)> {
        self.facts.iter().filter_map(|facts| Some((facts.name, self.tables.get(facts.table)?.len())))
    }

    /// Number of facts.
    pub fn len(&self) -> usize {
        self.sizes().map(|(_, rows)| rows).sum()
    }

    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Changes the tables of facts; what became different by that.
    fn take(&mut self, delta: &FactsDelta) -> Result<Changes, ArrowError> {
        let mut changes = Changes::new();
        let removed: HashSet<Cell> = delta.removed.iter().map(|id| cells::of_text(id)).collect();
        let batches: HashMap<&str, RecordBatch> = delta.added.batches()?.into_iter().collect();
        for FactTable { name, table: number, by_id } in &self.facts {
            let (Some(table), Some(added)) = (self.tables.get_mut(*number), batches.get(name)) else { continue };
            let mut places = table.find_all(*by_id, &removed);
            let mut known: HashMap<Cell, Cell> = HashMap::new();
            let ids = ids(added);
            let again: Vec<Place> = table.find_all(*by_id, &ids.iter().copied().collect());
            let before = table.rows(&again)?;
            known.extend(self::ids(&before).into_iter().zip(contents(&before)));
            let mut seen = HashSet::new();
            let is_new: Vec<bool> = ids
                .iter()
                .zip(contents(added))
                .map(|(id, content)| seen.insert(*id) && (removed.contains(id) || known.get(id) != Some(&content)))
                .collect();
            let new: HashSet<&Cell> = ids.iter().zip(&is_new).filter(|(_, new)| **new).map(|(id, _)| id).collect();
            places.extend(
                self::ids(&before).iter().zip(again).filter(|(id, _)| new.contains(id)).map(|(_, place)| place),
            );
            places.sort_unstable();
            places.dedup();
            let came = filter_record_batch(added, &BooleanArray::from(is_new))?;
            if places.is_empty() && came.num_rows() == 0 {
                continue;
            }
            let gone = table.rows(&places)?;
            table.remove(&places);
            table.add(&came)?;
            changes.insert(*number, Change { gone, came });
        }
        Ok(changes)
    }

    /// Queries of a level that have something to evaluate, each with the rows for it.
    fn due(
        &mut self,
        level: usize,
        changes: &Changes,
        failed: &mut BTreeMap<usize, String>,
    ) -> Vec<(usize, Vec<RecordBatch>)> {
        let mut jobs = Vec::new();
        for (position, (kept, step)) in self.plans.queries().iter().zip(&mut self.steps).enumerate() {
            if kept.level != level {
                continue;
            }
            let seen = step.see(Rows { tables: &self.tables, changes });
            let names = failed.keys().filter_map(|failed| Some(self.plans.queries().get(*failed)?.name.as_str()));
            let reads = |name: &&str| kept.readings.iter().any(|reading| reading.input == **name);
            let waits_for = names.filter(|name| reads(name)).map(str::to_owned).next();
            let job = match waits_for {
                Some(input) => Err(format!("`{input}`, which it reads, failed")),
                None if !step.is_due() => continue,
                None => seen.and_then(|()| step.cut(&self.tables)).map_err(|error| error.to_string()),
            };
            match job {
                Ok(inputs) => jobs.push((position, inputs)),
                Err(message) => drop(failed.insert(position, message)),
            }
        }
        jobs
    }

    fn replace(&mut self, position: usize, rows: &RecordBatch) -> Result<Option<Change>, String> {
        match self.steps.get_mut(position) {
            Some(step) => step.replace(rows, &mut self.tables).map_err(|error| error.to_string()),
            None => Ok(None),
        }
    }

    /// Makes the findings again of rows that changed, and of those that name facts which changed.
    fn renew(&mut self, changes: &Changes, gone: &[String], tick: &mut Tick) {
        let mut stale = self.opened.naming(gone.iter().map(String::as_str));
        for (position, step) in self.steps.iter().enumerate() {
            let Some(change) = changes.get(&step.table) else { continue };
            for rows in [&change.gone, &change.came] {
                stale.extend(step.keys(rows).into_iter().map(|key| (position, key)));
            }
        }
        let mut by_rule: BTreeMap<usize, BTreeSet<Cell>> = BTreeMap::new();
        for (position, key) in stale {
            by_rule.entry(position).or_default().insert(key);
        }
        for (position, keys) in by_rule {
            let (Some(kept), Some(step)) = (self.plans.queries().get(position), self.steps.get(position)) else {
                continue;
            };
            let (Some(rule), Some(table)) = (self.engine.corpus().rule(&kept.name), self.tables.get(step.table)) else {
                continue;
            };
            if kept.kind != Kind::Rule || !self.engine.wants(&rule.id) {
                continue;
            }
            let Some(by) = step.key else { continue };
            let stale = Stale { position, rule, rows: (table, by), keys };
            let wrongs = match self.opened.renew(&stale, &self.facts, &self.tables) {
                Ok(wrongs) => wrongs,
                Err(error) => vec![error.to_string()],
            };
            tick.rules.insert(kept.name.clone());
            tick.failures.extend(wrongs.into_iter().map(|message| RuleFailure { rule: kept.name.clone(), message }));
        }
    }
}

fn ids(batch: &RecordBatch) -> Vec<Cell> {
    batch.column_by_name("fact_id").map(cells::of_column).unwrap_or_default()
}

fn fact_ids(batch: &RecordBatch) -> Vec<String> {
    let ids = batch.column_by_name("fact_id").and_then(|ids| ids.as_any().downcast_ref::<StringViewArray>());
    ids.into_iter().flatten().flatten().map(str::to_owned).collect()
}

/// All columns of each row, together.
fn contents(batch: &RecordBatch) -> Vec<Cell> {
    cells::of_rows(batch, &(0..batch.num_columns()).collect::<Vec<_>>())
}
