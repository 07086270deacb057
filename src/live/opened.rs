//! Findings of the rules' rows, kept by key.
//!
//! In: rows of rules whose keys changed, facts that they name. Out: findings, made again only where a row or a fact that
//! it names changed. Knows no time: which findings fire is asked elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use arrow::array::RecordBatch;
use arrow::error::ArrowError;

use super::cells::{self, Cell};
use super::table::{By, Place, Table};
use crate::findings::Finding;
use crate::rules::{FactIndex, Rule, evidence_ids, judge};

/// Findings of all rules.
#[derive(Debug, Default)]
pub(super) struct Opened {
    rules: BTreeMap<usize, HashMap<Cell, Vec<Finding>>>,
    /// Rules and keys whose findings name a fact.
    naming: HashMap<String, HashSet<(usize, Cell)>>,
}

/// A fact table, where facts are looked up.
#[derive(Debug)]
pub(super) struct FactTable {
    pub(super) name: &'static str,
    /// Its number.
    pub(super) table: usize,
    /// Its index by `fact_id`.
    pub(super) by_id: By,
}

/// Keys of a rule whose findings are to be made again.
pub(super) struct Stale<'a> {
    /// Position of the rule among the queries.
    pub(super) position: usize,
    pub(super) rule: &'a Rule,
    /// Its rows, and their index by key.
    pub(super) rows: (&'a Table, By),
    pub(super) keys: BTreeSet<Cell>,
}

impl Opened {
    /// Forgets all findings.
    pub(super) fn clear(&mut self) {
        self.rules.clear();
        self.naming.clear();
    }

    /// Rules and keys whose findings name any of some facts.
    pub(super) fn naming<'a>(&self, facts: impl Iterator<Item = &'a str>) -> BTreeSet<(usize, Cell)> {
        facts.filter_map(|fact| self.naming.get(fact)).flatten().copied().collect()
    }

    /// Findings of a rule, in the order of their ids.
    pub(super) fn of(&self, position: usize) -> Vec<&Finding> {
        let mut findings: Vec<&Finding> =
            self.rules.get(&position).into_iter().flat_map(HashMap::values).flatten().collect();
        findings.sort_by(|a, b| a.id.cmp(&b.id));
        findings
    }

    /// Makes the findings of some keys of a rule again; what its rows did wrong.
    ///
    /// # Errors
    /// When rows cannot be gathered.
    pub(super) fn renew(
        &mut self,
        stale: &Stale<'_>,
        facts: &[FactTable],
        tables: &[Table],
    ) -> Result<Vec<String>, ArrowError> {
        let (table, by) = stale.rows;
        let places: Vec<(Cell, Vec<Place>)> =
            stale.keys.iter().map(|key| (*key, table.find(by, *key).collect())).collect();
        let all: Vec<Place> = places.iter().flat_map(|(_, places)| places).copied().collect();
        let rows = table.rows(&all)?;
        let index = fact_index(&rows, facts, tables)?;
        let (mut at, mut wrongs) = (0, BTreeSet::new());
        for (key, places) in places {
            let rows = rows.slice(at, places.len());
            at += places.len();
            self.forget(stale.position, key);
            if places.is_empty() {
                continue;
            }
            let judged = judge(stale.rule, &rows, &index);
            wrongs.extend(judged.failures);
            for evidence in judged.findings.iter().flat_map(|finding| &finding.evidence) {
                self.naming.entry(evidence.fact_id.clone()).or_default().insert((stale.position, key));
            }
            self.rules.entry(stale.position).or_default().insert(key, judged.findings);
        }
        Ok(wrongs.into_iter().collect())
    }

    fn forget(&mut self, position: usize, key: Cell) {
        let Some(findings) = self.rules.get_mut(&position).and_then(|rule| rule.remove(&key)) else { return };
        for evidence in findings.iter().flat_map(|finding| &finding.evidence) {
            if let Some(named) = self.naming.get_mut(&evidence.fact_id) {
                named.remove(&(position, key));
                if named.is_empty() {
                    self.naming.remove(&evidence.fact_id);
                }
            }
        }
    }
}

/// The facts that some rows name.
fn fact_index(rows: &RecordBatch, facts: &[FactTable], tables: &[Table]) -> Result<FactIndex, ArrowError> {
    let ids: HashSet<Cell> = evidence_ids(rows).iter().map(|id| cells::of_text(id)).collect();
    let mut named = Vec::new();
    for FactTable { name, table, by_id } in facts {
        if let Some(table) = tables.get(*table) {
            named.push((*name, table.rows(&table.find_all(*by_id, &ids))?));
        }
    }
    Ok(FactIndex::over(named, std::iter::once(rows)))
}
