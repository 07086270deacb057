//! Captures in memory to a verdict: the path of `analyze`, for cases.
//!
//! In: files of bytes, how they are read, rules. Out: what fires, what was refused, which rules are blind. Prints nothing.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::bail;
use arrow::array::RecordBatch;

use crate::decode::key_map::KeyMap;
use crate::decode::record::{Record, Reject, Sink};
use crate::decode::{self, Limits};
use crate::instant::Instant;
use crate::normalize::identity::{self, IdentitySettings};
use crate::normalize::{Normalizer, NormalizerSettings, date_what_came_first};
use crate::rules::cases::run::{Files, Verdict};
use crate::rules::{self, AsOf, Corpus, Evaluation};
use crate::tables::Facts;

/// How captures are read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What decoding may cost.
    pub limits: Limits,
    /// The spellings of home-made recorders.
    pub keys: KeyMap,
    /// How records become facts.
    pub words: NormalizerSettings,
    /// Who is who.
    pub names: IdentitySettings,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            keys: KeyMap::built_in().clone(),
            words: NormalizerSettings::default(),
            names: IdentitySettings::default(),
        }
    }
}

impl Reading {
    /// The facts of files, identities not resolved, and what was refused.
    pub fn facts(&self, files: &Files) -> (Facts, Vec<String>) {
        let mut taking = Taking { normalizer: Normalizer::new(self.words.clone()), rejects: Vec::new() };
        for (name, bytes) in files {
            let source: Arc<str> = name.as_str().into();
            decode::decode_with(&source, Box::new(Cursor::new(bytes)), &self.limits, &self.keys, &mut taking);
        }
        (taking.normalizer.finish().facts, taking.rejects)
    }

    /// What rules say of files as of an instant, else as of the last fact of each agent.
    ///
    /// # Errors
    /// When the facts are no tables, or a rule fails.
    pub fn judge(
        &self,
        files: &Files,
        as_of: Option<Instant>,
        corpus: &Corpus,
        evaluate: impl FnOnce(Vec<(&'static str, RecordBatch)>) -> anyhow::Result<Evaluation>,
    ) -> anyhow::Result<Verdict> {
        let (mut facts, rejects) = self.facts(files);
        date_what_came_first(&mut facts);
        identity::resolve(&mut facts, &self.names);
        facts.make_set();
        let (count, batches) = (facts.len(), facts.batches()?);
        let blind = rules::coverage(corpus, &batches).into_iter().filter(|rule| !rule.missing.is_empty());
        let blind = blind.map(|rule| (rule.rule, rule.missing)).collect();
        let as_of = as_of.map_or_else(|| AsOf::last_fact(&batches), AsOf::Fixed);
        let evaluation = evaluate(batches)?;
        if let Some(failure) = evaluation.failures.first() {
            bail!("{} failed: {}", failure.rule, failure.message);
        }
        Ok(Verdict { findings: rules::select(evaluation.findings, &as_of), rejects, facts: count, blind })
    }
}

struct Taking {
    normalizer: Normalizer,
    rejects: Vec<String>,
}

impl Sink for Taking {
    fn record(&mut self, record: Record) {
        self.normalizer.record(record);
        for cut in self.normalizer.rejects() {
            self.reject(cut);
        }
    }

    fn reject(&mut self, reject: Reject) {
        let Reject { origin, reason, detail } = reject;
        self.rejects.push(format!("{}:{} {}: {detail}", origin.source, origin.position, reason.as_str()));
    }

    fn recognised(&mut self, _source: &Arc<str>, _format: &'static str) {}
}
