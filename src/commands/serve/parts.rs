//! The parts of the service, made and wired.
//!
//! In: settings and sockets. Out: tasks and threads that run until they are told to stop, and end in order: listeners first,
//! then the intake when it has nothing left, then the judge.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant as Stopwatch};

use anyhow::Context;
use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::board::Board;
use super::intake::{Intake, News, Work};
use super::judge::{Arrivals, Coverage, Judge};
use super::reading::Reading;
use super::reload::Reloading;
use super::saving::Saving;
use super::{clock, following, state};
use crate::api::{self, Api, Readiness, Reload, Snapshot, Token};
use crate::cli::Global;
use crate::commands::setup::{engine, identities, key_map, limits, vocabulary};
use crate::config::{Config, ServeSettings};
use crate::findings::Tracker;
use crate::findings::active;
use crate::findings::track::{Counted, State};
use crate::instant::Instant;
use crate::live::Keyed;
use crate::measures::Measures;
use crate::normalize::identity::Known;
use crate::normalize::open::{OpenNormalizer, Piece};
use crate::publish::alertmanager::{self, Alerts};
use crate::publish::prometheus::Exporter;
use crate::receive::Follower;
use crate::receive::listen::{Delivery, Listen, ListenSettings, TlsSettings};
use crate::rules::Corpus;
use crate::rules::render::alert_name;
use crate::store::{LogSettings, Retention, Store, StoreSettings};
use crate::tables::Facts;
use crate::telemetry::Instruments;

/// Requests that may wait for the intake.
const WAITING_REQUESTS: usize = 1024;
/// News that may wait for the judge.
const WAITING_NEWS: usize = 64;

/// Names of parts whose readiness is told.
pub(super) const INTAKE: &str = "intake";
pub(super) const JUDGE: &str = "rules";

/// A running service.
pub(super) struct Service {
    reload: mpsc::Sender<Reload>,
    tasks: TaskTracker,
    intake: JoinHandle<()>,
    judge: JoinHandle<()>,
    /// Ends the intake, once nobody can send any more.
    end_intake: CancellationToken,
    /// Ends the judge, once there is no more news.
    end_judge: CancellationToken,
}

impl Service {
    /// Starts everything.
    pub(super) async fn start(
        config: Config,
        global: Global,
        sockets: Vec<TcpListener>,
        admin: TcpListener,
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let serve = config.serve.clone();
        let exporter = Arc::new(Exporter::new(&Measures::default().snapshot().into_families())?);
        let readiness = Arc::new(Readiness::starting(&[INTAKE, JUDGE]));
        let snapshot = Arc::new(ArcSwap::from_pointee(Snapshot::default()));
        let (reload, reloads) = mpsc::channel(4);
        let tasks = TaskTracker::new();

        // Health can be asked while what was stored is read.
        let token = token(&serve)?;
        let api = Api {
            snapshot: Arc::clone(&snapshot),
            exporter: Arc::clone(&exporter),
            readiness: Arc::clone(&readiness),
            reload: reload.clone(),
            token: token.as_deref().map(Token::new),
        };
        tasks.spawn(api::serve(admin, api.router(), api::Limits::default(), stop.clone()));

        let (store, recovered) = open(&serve)?;
        let known_facts =
            store.load(Instant(clock().0.saturating_sub(nanos(serve.retention.memory)))..Instant(i64::MAX))?;
        tracing::info!(facts = known_facts.len(), pieces = recovered.pieces.len(), "what was stored is read");

        let (work, queue) = mpsc::channel::<Work>(WAITING_REQUESTS);
        let (news, heard) = mpsc::channel::<News>(WAITING_NEWS);
        let mut normalizer = OpenNormalizer::new(vocabulary(&config)?);
        normalizer.restore(pieces(recovered.pieces), &known_facts);
        let intake = Intake {
            reading: Reading {
                limits: limits(&config.limits),
                keys: key_map(&config.exchange_keys)?,
                observers: config.observers.clone(),
            },
            normalizer,
            saving: Saving::new(store, &known_facts, serve.lake_every),
            judge: news,
            service: exporter.service().clone(),
            instruments: Instruments::new(),
            settle: serve.settle,
            stirred: true,
            settled: Stopwatch::now(),
        };
        let judge = judge(&config, known_facts, &exporter, &snapshot)?;
        push(&serve, &judge, &exporter, &tasks, &stop)?;

        let (end_intake, end_judge) = (CancellationToken::new(), CancellationToken::new());
        let reloading = Reloading { global, reloads, running: config };
        let listen = Listen::new(listen_settings_of(&serve, token)?, deliveries(work.clone(), &tasks))?;
        if !sockets.is_empty() {
            tasks.spawn(listen.serve(sockets, stop.clone()));
        }
        if !serve.follow.is_empty() {
            let marks = serve.data.join("follow.json");
            let follower = Follower::new(serve.follow.clone(), state::read(&marks), 64 << 20);
            tasks.spawn(following::follow(follower, marks, work, stop));
        } else {
            drop(work);
        }
        readiness.ready(INTAKE);
        let end = end_intake.clone();
        let intake = thread("intake", move || intake.run(queue, end))?;
        let end = end_judge.clone();
        let judge = thread("judge", move || judge.run(heard, reloading, serve.tick, end, readiness))?;
        Ok(Self { reload, tasks, intake, judge, end_intake, end_judge })
    }

    /// Reads configuration and rules anew; what is wrong with them is logged.
    pub(super) async fn reload(&self) {
        let (answer, told) = oneshot::channel();
        if self.reload.send(Reload { answer }).await.is_ok() {
            _ = told.await;
        }
    }

    /// Waits until everything ended.
    pub(super) async fn ended(self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.end_intake.cancel();
        join(self.intake).await;
        self.end_judge.cancel();
        join(self.judge).await;
    }
}

async fn join(thread: JoinHandle<()>) {
    if tokio::task::spawn_blocking(move || thread.join()).await.is_ok_and(|ended| ended.is_err()) {
        tracing::error!("a part of the service panicked");
    }
}

/// Runs a part on a thread of its own: its work is long, and no other task should wait for it.
fn thread<F: Future<Output = ()>>(
    name: &str,
    part: impl FnOnce() -> F + Send + 'static,
) -> anyhow::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(std::thread::Builder::new().name(name.to_owned()).spawn(move || runtime.block_on(part()))?)
}

/// Hands deliveries of the listeners to the intake.
fn deliveries(work: mpsc::Sender<Work>, tasks: &TaskTracker) -> mpsc::Sender<Delivery> {
    let (sender, mut deliveries) = mpsc::channel::<Delivery>(WAITING_REQUESTS);
    tasks.spawn(async move {
        while let Some(delivery) = deliveries.recv().await {
            if work.send(Work::Request(Box::new(delivery))).await.is_err() {
                break;
            }
        }
    });
    sender
}

fn open(serve: &ServeSettings) -> anyhow::Result<(Store, crate::store::Recovered)> {
    let retention = Retention {
        max_age: Some(serve.retention.disk),
        max_bytes: Some(serve.retention.disk_bytes).filter(|bytes| *bytes > 0),
    };
    let log = LogSettings::default();
    let log = LogSettings { segment_age: log.segment_age.min(serve.lake_every), ..log };
    let settings = StoreSettings { log, retention };
    let opened = Store::open(&serve.data, settings);
    let (store, recovered) = opened.with_context(|| format!("cannot use {}", serve.data.display()))?;
    for damage in recovered.damage.iter().filter(|damage| !damage.is_tail) {
        tracing::error!(
            segment = damage.segment,
            offset = damage.offset,
            bytes = damage.bytes,
            "a part of the log is damaged"
        );
    }
    Ok((store, recovered))
}

fn pieces(stored: Vec<crate::store::Piece>) -> Vec<Piece> {
    let read = |piece: crate::store::Piece| {
        Piece::from_bytes(&piece.bytes).map_err(|error| tracing::error!(%error, "a stored piece cannot be read")).ok()
    };
    stored.into_iter().filter_map(read).collect()
}

fn judge(
    config: &Config,
    facts: Facts,
    exporter: &Arc<Exporter>,
    snapshot: &Arc<ArcSwap<Snapshot>>,
) -> anyhow::Result<Judge> {
    let engine = engine(config)?;
    let keyed = Keyed::new(&engine)?;
    let state_file = config.serve.data.join("state.json");
    let remembered: State = state::read(&state_file);
    let tracker = Tracker::restore(&counted(engine.corpus()), remembered);
    exporter.service().begin_rules(engine.corpus().rules.iter().map(|rule| rule.id.as_str()));
    let most_agents = config.serve.limits.max_agents;
    Ok(Judge {
        coverage: Coverage::new(&engine),
        alerts: Alerts::new(active::group(tracker.open(), most_agents)),
        keyed,
        engine,
        known: Known::new(identities(config)),
        stored: Some(facts),
        late: Vec::new(),
        tracker,
        arrivals: Arrivals::default(),
        board: Board::default(),
        measures: Measures::new(most_agents),
        exporter: Arc::clone(exporter),
        snapshot: Arc::clone(snapshot),
        instruments: Instruments::new(),
        most_agents,
        retention: config.serve.retention.clone(),
        active: config.serve.active,
        forgot: Stopwatch::now(),
        state: state_file,
    })
}

/// The rules, as their findings are counted.
pub(super) fn counted(corpus: &Corpus) -> Vec<Counted> {
    let counted = |rule: &crate::rules::Rule| Counted {
        rule: rule.id.clone(),
        category: rule.category.clone(),
        severity: rule.header.severity,
    };
    corpus.rules.iter().map(counted).collect()
}

/// Starts to tell Alertmanagers, where any are named.
fn push(
    serve: &ServeSettings,
    judge: &Judge,
    exporter: &Exporter,
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    let Some(settings) = &serve.alertmanager else { return Ok(()) };
    let client = alertmanager::client()?;
    for url in &settings.urls {
        let mut to = alertmanager::Settings::new(url, alert_name)?;
        to.runbooks.clone_from(&serve.runbook_base);
        let pusher = judge.alerts.pusher(client.clone(), to, exporter.service().clone(), clock);
        tasks.spawn(pusher.run(stop.clone()));
    }
    Ok(())
}

/// The token that senders and readers must show.
fn token(serve: &ServeSettings) -> anyhow::Result<Option<String>> {
    let Some(path) = &serve.token_file else { return Ok(None) };
    let token = secret(path)?;
    anyhow::ensure!(!token.is_empty(), "{}: there is no token in it", path.display());
    Ok(Some(token))
}

fn secret(path: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Ok(text.trim().to_owned())
}

/// How the listeners behave.
pub(super) fn listen_settings(config: &Config) -> anyhow::Result<ListenSettings> {
    listen_settings_of(&config.serve, token(&config.serve)?)
}

fn listen_settings_of(serve: &ServeSettings, token: Option<String>) -> anyhow::Result<ListenSettings> {
    let limits = &serve.limits;
    let tls = serve.tls.as_ref().map(|files| TlsSettings {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        client_authorities: files.client_authority.clone(),
    });
    for file in tls.iter().flat_map(|tls| [&tls.certificate, &tls.key]) {
        fs::metadata(file).with_context(|| file.display().to_string())?;
    }
    Ok(ListenSettings {
        max_wire_bytes: limits.max_request_bytes,
        max_inflated_bytes: limits.max_request_bytes,
        max_in_flight_bytes: limits.max_waiting_bytes,
        max_connections: limits.max_connections,
        tls,
        bearer_token: token,
        allowed_origins: serve.cors_origins.clone(),
        ..ListenSettings::default()
    })
}

/// A duration as an [`Instant`] counts it.
pub(super) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}
