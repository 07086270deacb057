//! The parts of the service, made and wired.
//!
//! In: settings and sockets. Out: tasks and threads that run until they are told to stop, and end in order: listeners first,
//! then the intake when it has nothing left, then the judge.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context;
use arc_swap::ArcSwap;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::board::Board;
use super::complaints::Complaints;
use super::coverage::Coverage;
use super::intake::Intake;
use super::joining::Joins;
use super::judge::{Arrivals, Judge, accept, counted};
use super::memory::{Heard, Memory};
use super::news::{News, Recall, Telling};
use super::reading::Reading;
use super::reload::Reloading;
use super::saving::Saving;
use super::standing::Standing;
use super::stored::Stored;
use super::watching::Watching;
use super::work::Work;
use super::{clock, following, reload, state};
use crate::api::{self, Api, Readiness, Reload, Snapshot};
use crate::cli::Global;
use crate::commands::setup::{engine, identities, vocabulary};
use crate::config::{Config, Overrides, ServeSettings, TlsFiles};
use crate::findings::active;
use crate::findings::track::State;
use crate::findings::{Severity, Tracker};
use crate::live::Keyed;
use crate::measures::Measures;
use crate::publish::alertmanager::{self, Alerts};
use crate::publish::prometheus::Exporter;
use crate::receive::Follower;
use crate::receive::listen::{Delivery, Listen, ListenSettings};
use crate::rules::render::alert_name;
use crate::tables::FactsDelta;
use crate::telemetry::Instruments;
use crate::tls::{Tls, TlsSettings};
use crate::token::Token;

/// Requests that may wait before senders are told to come again.
const WAITING_REQUESTS: usize = 1024;
/// Requests and pieces of files that the intake may take together.
const WAITING_WORK: usize = 256;
/// News that may wait with the judge.
const WAITING_NEWS: usize = 64;
/// Bytes of the longest line of a followed file.
const LONGEST_LINE: u64 = 64 << 20;

/// A running service.
pub(super) struct Service {
    reload: mpsc::Sender<Reload>,
    tasks: TaskTracker,
    intake: JoinHandle<()>,
    judge: JoinHandle<()>,
    /// Ends the judge, once there is no more news.
    end_judge: CancellationToken,
    /// A part ended that nobody told to.
    failed: CancellationToken,
}

/// What is made first and shared by the parts.
struct Shared {
    exporter: Arc<Exporter>,
    readiness: Arc<Readiness>,
    snapshot: Arc<ArcSwap<Snapshot>>,
    tasks: TaskTracker,
    stop: CancellationToken,
    failed: CancellationToken,
}

impl Shared {
    fn new(stop: CancellationToken) -> anyhow::Result<Self> {
        Ok(Self {
            exporter: Arc::new(Exporter::new(&Measures::default().snapshot().families)?),
            readiness: Arc::new(Readiness::starting(&[Readiness::INTAKE, Readiness::RULES])),
            snapshot: Arc::new(ArcSwap::from_pointee(Snapshot::default())),
            tasks: TaskTracker::new(),
            stop,
            failed: CancellationToken::new(),
        })
    }

    /// Runs a part beside the others.
    fn spawn(&self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) {
        let needed = Needed { name, stop: self.stop.clone(), failed: self.failed.clone() };
        self.tasks.spawn(async move {
            part.await;
            drop(needed);
        });
    }

    /// Runs a part on a thread of its own: its work is long, and no other task should wait for it.
    fn thread<F: Future<Output = ()>>(
        &self,
        name: &'static str,
        part: impl FnOnce() -> F + Send + 'static,
    ) -> anyhow::Result<JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let needed = Needed { name, stop: self.stop.clone(), failed: self.failed.clone() };
        let run = move || {
            runtime.block_on(part());
            drop(needed);
        };
        Ok(std::thread::Builder::new().name(name.to_owned()).spawn(run)?)
    }
}

/// Held by a part that the service cannot be without. When it is dropped before the service was told to stop, or by a panic,
/// the service ends: one that takes in and does not judge, or the other way round, would look alive.
struct Needed {
    name: &'static str,
    stop: CancellationToken,
    failed: CancellationToken,
}

impl Drop for Needed {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.stop.is_cancelled() {
            tracing::error!(part = self.name, "a part of the service failed: the service ends");
            self.failed.cancel();
        }
    }
}

impl Service {
    /// Starts everything.
    pub(super) async fn start(
        config: Config,
        (global, given): (Global, Overrides),
        sockets: Vec<TcpListener>,
        admin: TcpListener,
        stop: CancellationToken,
    ) -> anyhow::Result<Self> {
        let serve = config.serve.clone();
        let shared = Shared::new(stop.clone())?;
        let (reload, reloads) = mpsc::channel(4);

        let runbooks = Arc::new(ArcSwap::from_pointee(reload::runbooks(engine(&config)?.corpus())));
        // Health can be asked while what was stored is read.
        let token = token(&serve)?;
        let api = Api {
            snapshot: Arc::clone(&shared.snapshot),
            exporter: Arc::clone(&shared.exporter),
            runbooks: Arc::clone(&runbooks),
            readiness: Arc::clone(&shared.readiness),
            reload: reload.clone(),
            token: token.as_deref().map(Token::new),
        };
        let own_tls = serve.tls.as_ref().filter(|files| files.admin).map(|files| {
            // Who scrapes shows a token.
            Tls::new(TlsSettings { client_authorities: None, ..tls_of(files) }, &["http/1.1"]).map(Arc::new)
        });
        let own_tls = own_tls.transpose()?;
        let limits = api::Limits::default();
        shared.spawn("api", api::serve(admin, api.router(), limits, own_tls.clone(), stop.clone()));

        let stored = Stored::open(&serve, vocabulary(&config)?, shared.exporter.service(), clock())?;
        let (work, queue) = mpsc::channel::<Work>(WAITING_WORK);
        let (news, heard) = mpsc::channel::<News>(WAITING_NEWS);
        let (recalls, recalled) = mpsc::channel::<Recall>(1);
        let judge = judge(&config, &shared, recalls, &stored)?;
        push(&serve, &judge, &shared)?;
        let intake = Intake {
            reading: Reading::of(&config)?,
            normalizer: stored.normalizer,
            saving: Saving::new(stored.store, &stored.facts, Arc::clone(&shared.readiness), serve.lake_every),
            telling: Telling::new(news),
            readiness: Arc::clone(&shared.readiness),
            service: shared.exporter.service().clone(),
            instruments: Instruments::new(),
            settle: serve.settle,
            most_ahead: serve.max_ahead,
            joins: Joins::default(),
            horizon: Arc::clone(&judge.horizon),
            taken: clock(),
            tidied: None,
            complaints: Complaints::default(),
        };
        let judge = Judge { stored: Some(News { came: stored.facts, since: clock(), ..News::default() }), ..judge };

        let of_receivers = listen(&serve, token, sockets, &work, &shared)?;
        if !serve.follow.is_empty() {
            let marks = serve.data.join("follow.json");
            let roots = serve.follow.clone();
            let follower = Follower::new(roots, state::read(&marks), LONGEST_LINE, serve.follow_patience);
            shared.spawn("follow", following::follow(follower, marks, work, stop));
        } else {
            drop(work);
        }
        shared.readiness.ready(Readiness::INTAKE);
        let end_judge = CancellationToken::new();
        let (end, readiness) = (end_judge.clone(), Arc::clone(&shared.readiness));
        let (renewals, renewed) = mpsc::channel(1);
        let tls = own_tls.into_iter().chain(of_receivers).collect();
        let reloading = Reloading { global, given, reloads, started: config.serve, tls, renewals, runbooks };
        let judge = shared.thread("judge", move || judge.run(heard, reloading, serve.tick, end, readiness))?;
        let intake = shared.thread("intake", move || intake.run(queue, recalled, renewed))?;
        let Shared { tasks, failed, .. } = shared;
        Ok(Self { reload, tasks, intake, judge, end_judge, failed })
    }

    /// Has configuration and rules read anew; what is wrong with them is logged.
    pub(super) fn reload(&self) {
        let (answer, _) = oneshot::channel();
        if self.reload.try_send(Reload { answer }).is_err() {
            tracing::warn!("reloads are under way already");
        }
    }

    /// Becomes true when a part ended that should not have.
    pub(super) fn failed(&self) -> CancellationToken {
        self.failed.clone()
    }

    /// Waits until everything ended.
    pub(super) async fn ended(self) {
        self.tasks.close();
        self.tasks.wait().await;
        join(self.intake).await;
        self.end_judge.cancel();
        join(self.judge).await;
    }
}

/// A thread that panicked has said so, and [`Needed`] has told the service.
async fn join(thread: JoinHandle<()>) {
    _ = tokio::task::spawn_blocking(move || thread.join()).await;
}

/// Starts the receivers, on the sockets that there are; their certificate, if they have one.
fn listen(
    serve: &ServeSettings,
    token: Option<String>,
    sockets: Vec<TcpListener>,
    work: &mpsc::Sender<Work>,
    shared: &Shared,
) -> anyhow::Result<Option<Arc<Tls>>> {
    if sockets.is_empty() {
        return Ok(None);
    }
    let deliveries = deliveries(work.clone(), &shared.tasks);
    let queue = deliveries.downgrade();
    let listen = Listen::new(listen_settings_of(serve, token)?, deliveries)?;
    let watching = Watching {
        counters: listen.counters(),
        memory: listen.memory(),
        deliveries: queue,
        work: work.downgrade(),
        service: shared.exporter.service().clone(),
        seen: HashMap::new(),
    };
    shared.tasks.spawn(watching.run(shared.stop.clone()));
    let tls = listen.tls();
    shared.spawn("listeners", listen.serve(sockets, shared.stop.clone()));
    Ok(tls)
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

fn judge(config: &Config, shared: &Shared, recalls: mpsc::Sender<Recall>, stored: &Stored) -> anyhow::Result<Judge> {
    let engine = engine(config)?;
    let keyed = Keyed::new(&engine)?;
    let state_file = config.serve.data.join("state.json");
    let remembered: State = state::read(&state_file);
    let tracker = Tracker::restore(&counted(engine.corpus()), remembered);
    shared.exporter.service().begin_rules(engine.corpus().rules.iter().map(|rule| rule.id.as_str()));
    let most_agents = config.serve.limits.max_agents;
    let told_from = config.serve.alertmanager.as_ref().map_or(Severity::Info, |settings| settings.severity.into());
    let mut open = active::group(tracker.open(), most_agents);
    open.retain(|group| group.labels.severity >= told_from);
    let mut memory = Memory::new(identities(config), config.serve.retention.clone(), recalls);
    memory.are_elsewhere(&stored.elsewhere);
    Ok(Judge {
        coverage: Coverage::new(&engine),
        alerts: Alerts::new(open),
        told_from,
        accepted: accept(config.suppressions.clone()),
        standing: Standing::new(config.serve.active, &config.serve.retention, engine.corpus()),
        keyed,
        engine,
        memory,
        heard: Heard::default(),
        stored: None,
        begun: FactsDelta::default(),
        tracker,
        arrivals: Arrivals::default(),
        horizon: Arc::default(),
        up_to: clock(),
        board: Board::default(),
        measures: Measures::new(most_agents),
        exporter: Arc::clone(&shared.exporter),
        snapshot: Arc::clone(&shared.snapshot),
        instruments: Instruments::new(),
        most_agents,
        state: state_file,
    })
}

/// Starts to tell Alertmanagers, where any are named.
fn push(serve: &ServeSettings, judge: &Judge, shared: &Shared) -> anyhow::Result<()> {
    let Some(settings) = &serve.alertmanager else { return Ok(()) };
    let client = alertmanager::client()?;
    for url in &settings.urls {
        let mut to = alertmanager::Settings::new(url, alert_name)?;
        to.runbooks.clone_from(&serve.runbook_base);
        let pusher = judge.alerts.pusher(client.clone(), to, shared.exporter.service().clone(), clock);
        shared.tasks.spawn(pusher.run(shared.stop.clone()));
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

/// Finds out whether the files that the settings name can be used, without listening.
///
/// # Errors
/// When one cannot.
pub(super) fn try_files(serve: &ServeSettings) -> anyhow::Result<()> {
    Listen::new(listen_settings_of(serve, token(serve)?)?, mpsc::channel(1).0)?;
    for url in serve.alertmanager.iter().flat_map(|settings| &settings.urls) {
        alertmanager::Settings::new(url, alert_name)?;
    }
    Ok(())
}

fn tls_of(files: &TlsFiles) -> TlsSettings {
    TlsSettings {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        client_authorities: files.client_authority.clone(),
    }
}

/// How the listeners behave.
fn listen_settings_of(serve: &ServeSettings, token: Option<String>) -> anyhow::Result<ListenSettings> {
    let limits = &serve.limits;
    let tls = serve.tls.as_ref().map(tls_of);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_panics_or_ends_by_itself_ends_the_service_and_one_that_was_told_to_does_not() {
        let shared = || Shared::new(CancellationToken::new()).unwrap();
        let panicking = shared();
        panicking.stop.cancel();
        let thread = panicking.thread("intake", || async { panic!("a defect") }).unwrap();
        assert!(thread.join().is_err());
        assert!(panicking.failed.is_cancelled());
        let ending = shared();
        ending.thread("intake", || async {}).unwrap().join().unwrap();
        assert!(ending.failed.is_cancelled());
        let told = shared();
        told.stop.cancel();
        told.thread("intake", || async {}).unwrap().join().unwrap();
        assert!(!told.failed.is_cancelled());
    }
}
