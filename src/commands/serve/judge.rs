//! Judging: news of facts to findings, and findings to everybody who wants to know.
//!
//! In: [`News`]. Out: metrics, alerts, the state that the API shows. Judges nothing itself: rules do, at the cost of what is new.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::clock;
use super::intake::News;
use super::state;
use crate::findings::active;
use crate::findings::track::Changes;
use crate::findings::{Finding, RuleCoverage, Tracker};
use crate::instant::Instant;
use crate::live::{Keyed, LiveError};
use crate::normalize::identity::Known;
use crate::publish::alertmanager::Alerts;
use crate::publish::prometheus::{Exporter, Look};
use crate::rules::{self, AsOf, Engine};
use crate::tables::FactsDelta;
use crate::telemetry::Instruments;

/// News that are judged together.
const MOST_NEWS: usize = 64;
/// Facts whose arrival is remembered, for the delay from arrival to finding.
const MOST_ARRIVALS: usize = 200_000;

/// Judges.
pub(super) struct Judge {
    pub(super) engine: Engine,
    pub(super) keyed: Keyed,
    pub(super) known: Known,
    pub(super) tracker: Tracker,
    pub(super) coverage: Coverage,
    pub(super) arrivals: Arrivals,
    pub(super) exporter: Arc<Exporter>,
    pub(super) alerts: Alerts,
    pub(super) instruments: Instruments,
    pub(super) most_agents: usize,
    /// Where what is open is remembered.
    pub(super) state: PathBuf,
}

impl Judge {
    /// Judges every `tick` until told to stop, and once more then.
    pub(super) async fn run(mut self, mut news: mpsc::Receiver<News>, tick: Duration, stop: CancellationToken) {
        let mut ticking = tokio::time::interval(tick);
        ticking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let stopped = tokio::select! {
                () = stop.cancelled() => true,
                _ = ticking.tick() => false,
            };
            self.tick(&mut news).await;
            if stopped && news.is_empty() {
                break;
            }
        }
    }

    async fn tick(&mut self, news: &mut mpsc::Receiver<News>) {
        let watch = Stopwatch::now();
        let mut together = Vec::new();
        while together.len() < MOST_NEWS {
            let Ok(next) = news.try_recv() else { break };
            together.push(next);
        }
        let span = tracing::info_span!("tick", news = together.len());
        let delta = self.learn(together);
        if let Err(error) = self.judge(&delta).await {
            tracing::error!(error = &error as &dyn std::error::Error, "facts could not be judged");
        }
        let now = clock();
        drop(span);
        self.show(now);
        let took = watch.elapsed();
        self.instruments.tick.record(took.as_secs_f64(), &[]);
        self.exporter.service().ticked(took, now, took);
    }

    /// What the news change in who is who.
    fn learn(&mut self, news: Vec<News>) -> FactsDelta {
        let mut delta = FactsDelta::default();
        for News { came, went } in news {
            self.arrivals.note(came.commons());
            let new = came.len() as u64;
            delta.then(self.known.add(came));
            delta.then(self.known.remove(went.iter().map(String::as_str)));
            self.instruments.facts.add(new, &[]);
        }
        delta
    }

    async fn judge(&mut self, delta: &FactsDelta) -> Result<(), LiveError> {
        if delta.added.is_empty() && delta.removed.is_empty() {
            return Ok(());
        }
        self.coverage.add(&self.engine, &delta.added)?;
        let tick = self.keyed.apply(delta).await?;
        for failure in &tick.failures {
            tracing::error!(rule = %failure.rule, message = %failure.message, "a rule failed");
            self.exporter.service().evaluation_failed(&failure.rule);
        }
        for (rule, took) in &tick.elapsed {
            self.exporter.service().evaluated(rule, *took);
        }
        Ok(())
    }

    /// Publishes what fires now.
    fn show(&mut self, now: Instant) {
        let firing = self.keyed.findings(&AsOf::Fixed(now));
        let changes = self.tracker.look(&firing, now, |finding| self.arrivals.newest(finding));
        self.log(&changes);
        let active = active::group(self.tracker.open(), self.most_agents);
        let look = Look {
            tracker: &self.tracker,
            active: &active,
            changes: &changes,
            coverage: &self.coverage.rules,
            now,
        };
        self.exporter.publish(look, Vec::new());
        self.alerts.publish(&active);
        if !(changes.opened.is_empty() && changes.changed.is_empty() && changes.ended.is_empty()) {
            if let Err(error) = state::write(&self.state, &self.tracker.state()) {
                tracing::error!(%error, "what is open cannot be remembered");
            }
        }
    }

    fn log(&self, changes: &Changes) {
        for opened in &changes.opened {
            let open = &opened.open;
            tracing::warn!(
                rule = %open.rule, severity = open.severity.as_str(), agent = %open.agent, id = %open.id,
                summary = %open.summary, "finding"
            );
        }
        for ended in &changes.ended {
            tracing::info!(rule = %ended.rule, agent = %ended.agent, id = %ended.id, "finding ended");
        }
    }
}

/// Which rules could have fired so far.
pub(super) struct Coverage {
    pub(super) rules: Vec<RuleCoverage>,
}

impl Coverage {
    /// Nothing was seen.
    pub(super) fn new(engine: &Engine) -> Self {
        Self { rules: rules::coverage(engine.corpus(), &[]) }
    }

    /// A field that was filled once is not missing any more.
    fn add(&mut self, engine: &Engine, facts: &crate::tables::Facts) -> Result<(), LiveError> {
        if self.rules.iter().all(|rule| rule.missing.is_empty()) {
            return Ok(());
        }
        let seen = rules::coverage(engine.corpus(), &facts.batches()?);
        for (rule, seen) in self.rules.iter_mut().zip(seen) {
            rule.missing.retain(|need| seen.missing.contains(need));
        }
        Ok(())
    }
}

/// When facts arrived; the oldest are forgotten.
#[derive(Default)]
pub(super) struct Arrivals {
    at: HashMap<String, Instant>,
    order: VecDeque<String>,
}

impl Arrivals {
    fn note<'a>(&mut self, facts: impl Iterator<Item = &'a crate::tables::Common>) {
        for common in facts {
            let Some(received) = common.received_at else { continue };
            if self.at.insert(common.fact_id.clone(), received).is_none() {
                self.order.push_back(common.fact_id.clone());
            }
        }
        while self.order.len() > MOST_ARRIVALS {
            if let Some(oldest) = self.order.pop_front() {
                self.at.remove(&oldest);
            }
        }
    }

    /// When the newest evidence of a finding arrived.
    fn newest(&self, finding: &Finding) -> Option<Instant> {
        finding.evidence.iter().filter_map(|fact| self.at.get(&fact.fact_id)).max().copied()
    }
}
