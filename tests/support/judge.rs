//! Bytes to findings: the path of `analyze`, and nothing of its own.
//!
//! In: files of bytes. Out: findings that fire, and what was refused. The rules are read from `queries/` as they lie
//! there, so that editing one needs no rebuild.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use a2a_drift::commands::verdict::Reading;
use a2a_drift::instant::Instant;
use a2a_drift::rules::{Corpus, Engine, Evaluation, Overrides, Prepared};
use a2a_drift::tables::Facts;
use arrow::array::RecordBatch;

use super::Told;

/// One evaluation of so many is also made with fresh plans.
const EACH: usize = 40;

pub use a2a_drift::rules::cases::run::{Files, Verdict};

/// As without a configuration.
static READING: LazyLock<Reading> = LazyLock::new(Reading::default);

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
    let evaluate = |batches| evaluate(batches).map_err(anyhow::Error::msg);
    READING.judge(files, as_of, engine()?.corpus(), evaluate).map_err(|e| format!("{e:#}"))
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
    READING.facts(files)
}
