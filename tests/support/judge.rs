//! Bytes to findings: the path of `analyze` over its public stages, and nothing of its own.
//!
//! In: files of bytes. Out: findings that fire, and what was refused. The rules are read from `queries/` as they lie
//! there, so that editing one needs no rebuild.

use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::{self, Limits};
use a2a_drift::instant::Instant;
use a2a_drift::normalize::Normalizer;
use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::rules::{self, AsOf, Corpus, Engine, Evaluation, Overrides, Prepared};
use a2a_drift::tables::Facts;
use arrow::array::RecordBatch;

use super::Told;

/// One evaluation of so many is also made with fresh plans.
const EACH: usize = 40;

pub use a2a_drift::rules::cases::run::{Files, Verdict};

/// The rules, read once.
///
/// # Errors
/// When the corpus does not hold together.
pub fn engine() -> Told<&'static Engine> {
    static ENGINE: LazyLock<Told<Engine>> = LazyLock::new(|| {
        let corpus =
            Corpus::from_dir(&Path::new(env!("CARGO_MANIFEST_DIR")).join("queries")).map_err(|e| e.to_string())?;
        Engine::new(corpus, &Overrides::new()).map_err(|e| e.to_string())
    });
    ENGINE.as_ref().map_err(Clone::clone)
}

/// Analyses files as of an instant, else as of the last fact of each agent.
///
/// # Errors
/// When the program fails, or a rule does.
pub fn judge(files: &Files, as_of: Option<Instant>) -> Told<Verdict> {
    let (mut facts, rejects) = facts(files);
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts.make_set();
    let count = facts.len();
    let batches = facts.batches().map_err(|e| e.to_string())?;
    let blind = rules::coverage(engine()?.corpus(), &batches).into_iter().filter(|rule| !rule.missing.is_empty());
    let blind = blind.map(|rule| (rule.rule, rule.missing)).collect();
    let as_of = as_of.map_or_else(|| AsOf::last_fact(&batches), AsOf::Fixed);
    let evaluation = evaluate(batches)?;
    if let Some(failure) = evaluation.failures.first() {
        return Err(format!("{} failed: {}", failure.rule, failure.message));
    }
    Ok(Verdict { findings: rules::select(evaluation.findings, &as_of), rejects, facts: count, blind })
}

/// Evaluates facts over plans that are made once a thread; now and then also over fresh ones, which must say the same: always
/// with `FRESH=1`.
///
/// # Errors
/// When the program fails, or the two differ.
pub fn evaluate(batches: Vec<(&'static str, RecordBatch)>) -> Told<Evaluation> {
    static IDLE: Mutex<Vec<Prepared>> = Mutex::new(Vec::new());
    static NTH: AtomicUsize = AtomicUsize::new(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let idle = IDLE.lock().unwrap().pop();
    let mut prepared = idle.map_or_else(|| engine()?.prepare().map_err(|e| e.to_string()), Ok)?;
    let kept = runtime.block_on(prepared.evaluate(batches.clone())).map_err(|e| e.to_string())?;
    IDLE.lock().unwrap().push(prepared);
    let nth = NTH.fetch_add(1, Ordering::Relaxed);
    if nth % EACH == EACH - 1 || std::env::var_os("FRESH").is_some() {
        let fresh = runtime.block_on(engine()?.evaluate(batches)).map_err(|e| e.to_string())?;
        same(&kept, &fresh)?;
    }
    Ok(kept)
}

/// Whether two evaluations say the same.
fn same(kept: &Evaluation, fresh: &Evaluation) -> Told<()> {
    let told = |evaluation: &Evaluation| {
        let findings = evaluation.findings.iter().map(|finding| format!("{finding:?}"));
        let mut generations: Vec<String> = evaluation.generations.iter().map(|g| format!("{g:?}")).collect();
        generations.sort();
        findings.chain(generations).chain(evaluation.failures.iter().map(|f| format!("{f:?}"))).collect::<Vec<_>>()
    };
    let (kept, fresh) = (told(kept), told(fresh));
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|line| !those.contains(line)).cloned().collect()
    };
    match kept == fresh {
        true => Ok(()),
        false => Err(format!(
            "plans that were kept and fresh ones differ\nkept: {:#?}\nfresh: {:#?}",
            only(&kept, &fresh),
            only(&fresh, &kept)
        )),
    }
}

/// The facts of files, identities not resolved, and what was refused.
pub fn facts(files: &Files) -> (Facts, Vec<String>) {
    let mut intake = Intake::default();
    for (name, bytes) in files {
        let source: Arc<str> = name.as_str().into();
        decode::decode(&source, Box::new(Cursor::new(bytes)), &Limits::default(), &mut intake);
    }
    (intake.normalizer.finish().facts, intake.rejects)
}

#[derive(Default)]
struct Intake {
    normalizer: Normalizer,
    rejects: Vec<String>,
}

impl Sink for Intake {
    fn record(&mut self, record: Record) {
        self.normalizer.record(record);
    }

    fn reject(&mut self, reject: Reject) {
        let Reject { origin, reason, detail } = reject;
        self.rejects.push(format!("{}:{} {}: {detail}", origin.source, origin.position, reason.as_str()));
    }

    fn recognised(&mut self, _source: &Arc<str>, _format: &'static str) {}
}
