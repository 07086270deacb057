//! Reading: every input through `receive`, `decode` and `normalize`, with an account of what was understood.
//!
//! In: paths. Out: facts, and the account that the report shows. Keeps the first reject of each reason, not all.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decode::record::{Record, Reject, RejectReason, Sink};
use crate::findings::{Intake, RejectCount, SourceIntake};
use crate::normalize::Normalizer;

/// Takes what `decode` delivers: records go on to the normalizer, everything is counted.
pub(super) struct Gathering<'a> {
    normalizer: &'a mut Normalizer,
    account: &'a mut Account,
}

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Account {
    sources: Vec<SourceIntake>,
    rejects: BTreeMap<RejectReason, RejectCount>,
}

impl<'a> Gathering<'a> {
    /// Begins with an input.
    pub(super) fn of(name: &Arc<str>, normalizer: &'a mut Normalizer, account: &'a mut Account) -> Self {
        account.sources.push(SourceIntake { name: name.to_string(), ..SourceIntake::default() });
        Self { normalizer, account }
    }
}

impl Sink for Gathering<'_> {
    fn record(&mut self, record: Record) {
        if let Some(source) = self.account.sources.last_mut() {
            source.records += 1;
        }
        self.normalizer.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        if let Some(source) = self.account.sources.last_mut() {
            source.rejects += 1;
        }
        self.account.reject(reject);
    }

    fn recognised(&mut self, _source: &Arc<str>, format: &'static str) {
        if let Some(source) = self.account.sources.last_mut()
            && !source.formats.contains(&format)
        {
            source.formats.push(format);
        }
    }
}

impl Account {
    /// Counts something not understood.
    pub(super) fn reject(&mut self, reject: Reject) {
        let Reject { origin, reason, detail } = reject;
        let first = || RejectCount {
            reason: reason.as_str(),
            count: 0,
            source: origin.source.to_string(),
            position: origin.position.to_string(),
            detail,
        };
        self.rejects.entry(reason).or_insert_with(first).count += 1;
    }

    /// Closes the account.
    pub(super) fn close(self, facts: usize) -> Intake {
        let mut rejects: Vec<RejectCount> = self.rejects.into_values().collect();
        rejects.sort_by(|a, b| b.count.cmp(&a.count).then(a.reason.cmp(b.reason)));
        Intake { sources: self.sources, rejects, facts: facts as u64 }
    }
}
