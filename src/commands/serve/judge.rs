//! Judging: news of facts to findings, and findings to everybody who wants to know.
//!
//! In: [`News`]. Out: metrics, alerts, the state that the API shows. Judges nothing itself: rules do, at the cost of what is new.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant as Stopwatch};

use arc_swap::ArcSwap;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::coverage::Coverage;
use super::horizon::Horizon;
use super::memory::{Heard, Learnt, Memory};
use super::news::News;
use super::reload::{Fresh, Reloading};
use super::standing::{Around, Standing};
use super::{clock, state};
use crate::api::{Readiness, Reload, Snapshot};
use crate::findings::active;
use crate::findings::track::{Changes, Counted};
use crate::findings::{Accepted, Active, Finding, Severity, Suppression, Tracker};
use crate::instant::Instant;
use crate::live::{Keyed, LiveError};
use crate::measures::{self, Measures};
use crate::publish::alertmanager::Alerts;
use crate::publish::clean;
use crate::publish::prometheus::{Exporter, Look};
use crate::rules::{Corpus, Engine, Rule, RuleFailure};
use crate::tables::FactsDelta;
use crate::telemetry::Instruments;

/// Facts whose arrival is remembered, for the delay from arrival to finding.
const MOST_ARRIVALS: usize = 200_000;

/// What takes longer than this is no judging any more: it hangs. A start over all that memory may hold takes a minute.
const LONGEST_TICK: Duration = Duration::from_mins(5);

/// Judges.
pub(super) struct Judge {
    pub(super) engine: Engine,
    pub(super) keyed: Keyed,
    pub(super) memory: Memory,
    pub(super) heard: Heard,
    /// Facts of before the start, until they are judged.
    pub(super) stored: Option<News>,
    /// What they said, until it is judged.
    pub(super) begun: FactsDelta,
    pub(super) board: Board,
    pub(super) measures: Measures,
    pub(super) snapshot: Arc<ArcSwap<Snapshot>>,
    pub(super) standing: Standing,
    /// What is accepted for now, as the configuration says.
    pub(super) accepted: Accepted,
    pub(super) tracker: Tracker,
    pub(super) coverage: Coverage,
    pub(super) arrivals: Arrivals,
    pub(super) horizon: Arc<Horizon>,
    /// Up to when all that arrived is judged.
    pub(super) up_to: Instant,
    pub(super) exporter: Arc<Exporter>,
    pub(super) alerts: Alerts,
    /// Alertmanagers are told of findings from this severity on.
    pub(super) told_from: Severity,
    pub(super) instruments: Instruments,
    pub(super) most_agents: usize,
    /// Where what is open is remembered.
    pub(super) state: PathBuf,
}

impl Judge {
    /// Judges every `tick` until told to stop, and once more then.
    pub(super) async fn run(
        mut self,
        mut news: mpsc::Receiver<News>,
        mut reloading: Reloading,
        tick: Duration,
        stop: CancellationToken,
        readiness: Arc<Readiness>,
    ) {
        self.exporter.service().loaded(clock());
        let stored = self.stored.take();
        self.begin(stored);
        let mut ticking = tokio::time::interval(tick);
        ticking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let stopped = tokio::select! {
                biased;
                () = stop.cancelled() => true,
                Some(reload) = reloading.reloads.recv() => {
                    self.reload(reload, &reloading).await;
                    false
                }
                _ = ticking.tick() => false,
                Some(next) = news.recv(), if self.heard.has_room() => {
                    self.heard.push(next);
                    if self.heard.has_room() {
                        continue;
                    }
                    false
                }
            };
            let horizon = self.horizon.get(clock());
            self.heard.drain(&mut news);
            if news.is_empty() {
                self.up_to = self.up_to.max(horizon);
            }
            self.tick(&mut news).await;
            readiness.ready(Readiness::RULES);
            readiness.turned(Readiness::RULES, tick.saturating_add(LONGEST_TICK));
            if stopped {
                break;
            }
        }
    }

    /// Learns what was stored before the start, of which no more is judged than may stay.
    fn begin(&mut self, stored: Option<News>) {
        let Learnt { delta, came, .. } = self.memory.learn(stored);
        self.instruments.facts.add(came as u64, &[]);
        self.begun = delta;
        if let Some(left) = self.memory.evict(clock()) {
            self.begun.then(left);
        }
    }

    /// Judges what was heard.
    async fn tick(&mut self, news: &mut mpsc::Receiver<News>) {
        let watch = Stopwatch::now();
        let span = tracing::info_span!("tick", news = tracing::field::Empty);
        self.forget(clock()).await;
        let heard = self.heard.take();
        span.record("news", heard.len());
        let Learnt { delta: learnt, came, again } = self.memory.learn(heard);
        let mut delta = std::mem::take(&mut self.begun);
        delta.then(learnt);
        self.instruments.facts.add(came as u64, &[]);
        self.exporter.service().duplicates(again as u64);
        let heard = &mut self.heard;
        let hear = async || {
            while let Some(next) = news.recv().await {
                heard.push(next);
            }
        };
        delta.then(self.memory.recall(hear).await);
        self.judge_or_log(&delta).await;
        let now = clock();
        drop(span);
        self.show(now);
        let took = watch.elapsed();
        self.heard.drain(news);
        let lag = self.heard.oldest().map_or(0, |oldest| now.0.saturating_sub(oldest.0));
        let lag = Duration::from_nanos(u64::try_from(lag).unwrap_or(0));
        self.instruments.tick.record(took.as_secs_f64(), &[]);
        self.exporter.service().ticked(took, now, lag);
    }

    /// Lets go what is too old, and the series of agents that were not seen since.
    async fn forget(&mut self, now: Instant) {
        let Some(delta) = self.memory.evict(now) else { return };
        self.judge_or_log(&delta).await;
        let gone = self.measures.drop_unseen(self.memory.oldest(now));
        self.board.forget(&gone);
    }

    /// Puts other rules in the place of these, if they are good.
    async fn reload(&mut self, reload: Reload, reloading: &Reloading) {
        let result = match reloading.read() {
            Ok(fresh) => match self.replace(&fresh).await {
                Ok(()) => Ok(reloading.apply(fresh).await),
                Err(wrong) => Err(wrong),
            },
            Err(wrong) => Err(wrong),
        };
        match &result {
            Ok(_) => tracing::info!("rules and settings were read anew"),
            Err(wrong) => tracing::error!(%wrong, "the new rules or settings are not good: the old ones stay"),
        }
        self.exporter.service().reloaded(result.is_ok(), clock());
        // Who asked may be gone.
        _ = reload.answer.send(result);
    }

    /// Judges all anew by other rules and names; if they do not do, all stays as it was.
    async fn replace(&mut self, fresh: &Fresh) -> Result<(), String> {
        let (facts, before) = self.memory.rename(fresh.names.clone());
        let is_renamed = before != fresh.names;
        let all = FactsDelta { added: facts, ..FactsDelta::default() };
        let keyed = match Self::judged(&fresh.engine, &all).await {
            Ok(keyed) => keyed,
            Err(wrong) => {
                self.memory.rename(before);
                return Err(wrong);
            }
        };
        if is_renamed {
            self.board = Board::default();
            self.board.add(&all);
            self.measures.apply(&all);
        }
        let engine = fresh.engine.clone();
        self.accepted = accept(fresh.suppressions.clone());
        self.standing = Standing::new(fresh.active, self.memory.retention(), engine.corpus());
        self.tracker.count_from_zero(&counted(engine.corpus()));
        self.exporter.service().begin_rules(engine.corpus().rules.iter().map(|rule| rule.id.as_str()));
        self.coverage = Coverage::new(&engine);
        self.coverage.add(&engine, &all.added).map_err(|error| error.to_string())?;
        (self.keyed, self.engine) = (keyed, engine);
        Ok(())
    }

    /// What rules say of facts.
    async fn judged(engine: &Engine, facts: &FactsDelta) -> Result<Keyed, String> {
        let mut keyed = Keyed::new(engine).map_err(|error| error.to_string())?;
        let tick = keyed.apply(facts).await.map_err(|error| error.to_string())?;
        match tick.failures.first() {
            Some(RuleFailure { rule, message }) => Err(format!("{rule} fails over the facts that are here: {message}")),
            None => Ok(keyed),
        }
    }

    async fn judge_or_log(&mut self, delta: &FactsDelta) {
        if let Err(error) = self.judge(delta).await {
            tracing::error!(error = &error as &dyn std::error::Error, "facts could not be judged");
        }
    }

    async fn judge(&mut self, delta: &FactsDelta) -> Result<(), LiveError> {
        if delta.added.is_empty() && delta.removed.is_empty() {
            return Ok(());
        }
        self.arrivals.note(delta.added.commons());
        self.board.add(delta);
        self.measures.apply(delta);
        self.coverage.add(&self.engine, &delta.added)?;
        let tick = self.keyed.apply(delta).await?;
        for (query, took) in tick.took.iter().filter(|(query, _)| self.engine.corpus().rule(query).is_some()) {
            self.exporter.service().evaluated(query, *took);
        }
        for failure in &tick.failures {
            tracing::error!(rule = %failure.rule, message = %failure.message, "a rule failed");
            self.exporter.service().evaluation_failed(&failure.rule);
        }
        Ok(())
    }

    /// Publishes what fires, as of when all is known.
    fn show(&mut self, now: Instant) {
        let mut firing = self.keyed.findings(&self.board.as_of(self.up_to));
        self.coverage.fired(&firing);
        let oldest = self.memory.oldest(now);
        firing.retain(|finding| {
            let (arrived, agent_seen) = (self.arrivals.newest(finding), self.board.last_seen(&finding.agent));
            self.standing.holds(finding, Around { now, arrived, agent_seen, oldest })
        });
        let accepted = self.accepted.take_from(&mut firing, now);
        self.exporter.service().suppressed(accepted.suppressed as u64);
        let changes = self.tracker.look(&firing, now, |finding| self.arrivals.newest(finding));
        Self::log(&changes);
        let active = active::group(self.tracker.open(), self.most_agents);
        let look =
            Look { tracker: &self.tracker, active: &active, changes: &changes, coverage: &self.coverage.rules, now };
        let fleet = self.measures.snapshot();
        let open = open_tasks(&fleet);
        self.exporter.publish(look, fleet.families);
        let is_told = |group: &&Active| group.labels.severity >= self.told_from;
        self.alerts.publish(&active.iter().filter(is_told).cloned().collect::<Vec<Active>>());
        self.keyed.sizes().for_each(|(table, rows)| self.exporter.service().facts(table, rows as u64));
        self.snapshot.store(Arc::new(Snapshot::new(now, firing, self.board.agents(&open))));
        let is_new = !(changes.opened.is_empty() && changes.changed.is_empty() && changes.ended.is_empty());
        if is_new && let Err(error) = state::write(&self.state, &self.tracker.state()) {
            tracing::error!(%error, "what is open cannot be remembered");
        }
    }

    fn log(changes: &Changes) {
        for opened in &changes.opened {
            let open = &opened.open;
            // Names are whatever a peer sent: they must not write lines of this log.
            let (agent, summary, severity) = (clean(&open.agent), clean(&open.summary), open.severity.as_str());
            if open.severity == Severity::Info {
                tracing::info!(rule = %open.rule, severity, %agent, id = %open.id, %summary, "finding");
            } else {
                tracing::warn!(rule = %open.rule, severity, %agent, id = %open.id, %summary, "finding");
            }
        }
        for ended in &changes.ended {
            tracing::info!(rule = %ended.rule, agent = %clean(&ended.agent), id = %ended.id, "finding ended");
        }
    }
}

/// What a configuration accepts for now. Those of its suppressions that are over are told: somebody has to look again.
pub(super) fn accept(suppressions: Vec<Suppression>) -> Accepted {
    let accepted = Accepted { suppressions, ..Accepted::default() };
    for over in accepted.expired(clock()) {
        let (since, reason) = (over.expires.to_rfc3339(), clean(&over.reason));
        tracing::warn!(place = %over.place, %since, %reason, "a suppression is over");
    }
    accepted
}

/// Open tasks by agent.
fn open_tasks(fleet: &measures::Snapshot) -> BTreeMap<String, u64> {
    let families = fleet.families.iter().filter(|family| family.name == "a2a_tasks_open");
    let series = families.flat_map(|family| &family.series);
    let open = series.filter_map(|series| match series.value {
        measures::Value::Level(level) => Some((series.labels.first()?.clone(), level as u64)),
        _ => None,
    });
    open.collect()
}

/// The rules, as their findings are counted.
pub(super) fn counted(corpus: &Corpus) -> Vec<Counted> {
    let counted = |rule: &Rule| Counted {
        rule: rule.id.clone(),
        category: rule.category.clone(),
        severity: rule.header.severity,
    };
    corpus.rules.iter().map(counted).collect()
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
            // What is told again did not arrive again.
            if let Entry::Vacant(entry) = self.at.entry(common.fact_id.clone()) {
                self.order.push_back(entry.key().clone());
                entry.insert(received);
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
