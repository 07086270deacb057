//! `serve`: what a fleet sends, judged while it comes.
//!
//! In: settings. Out: a running service, until it is told to stop. Everything that runs is made, wired and ended here.
//!
//! ```text
//!  listeners, followed files -> [intake] -> log, answers
//!                                  |  news of facts
//!                                  v
//!                               [judge] -> metrics, alerts, API
//! ```

mod ahead;
mod board;
mod cards;
mod complaints;
mod coverage;
mod following;
mod horizon;
mod intake;
mod joining;
mod judge;
mod memory;
mod news;
mod parts;
mod reading;
mod reload;
mod saving;
mod standing;
mod state;
mod stored;
mod watching;
mod work;

use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::parts::Service;
use super::setup::{engine, identities, key_map, vocabulary};
use super::{Outcome, configure, print, say, verbosity};
use crate::cli::{Global, Serve};
use crate::config::{Config, Overrides, ServeOverrides};
use crate::instant::Instant;
use crate::rules;
use crate::telemetry::{self, Exporting};

/// How long ending may take: supervisors give 10 s, of which the last words of the program's own telemetry need some.
const LONGEST_END: Duration = Duration::from_secs(6);

/// This machine's time.
fn clock() -> Instant {
    Instant(chrono::Utc::now().timestamp_nanos_opt().unwrap_or_default())
}

/// Runs `serve`.
pub(super) fn run(args: Serve, global: &Global) -> anyhow::Result<Outcome> {
    let check = args.check;
    let given = overrides(args);
    let config = configure(global, given.clone())?;
    let problems = rules::check(engine(&config)?.corpus());
    if check {
        return checked(&config, &problems);
    }
    for problem in &problems {
        say(&format!("{problem}\n"));
    }
    _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (exporting, served) = {
        // Exporters over gRPC want a runtime around them.
        let _inside = runtime.enter();
        let exporting = exporting(&config)?;
        let (verbosity, form) = verbosity(global);
        telemetry::init_service(verbosity, form, &exporting);
        let served = runtime.block_on(serve(config, global, given));
        (exporting, served)
    };
    exporting.stop();
    // What still runs has acknowledged nothing that is not on the disk.
    runtime.shutdown_timeout(Duration::ZERO);
    served.map(|()| {
        say("stopped\n");
        Outcome::Clean
    })
}

fn overrides(args: Serve) -> Overrides {
    let serve = ServeOverrides {
        otlp_grpc: args.otlp_grpc,
        otlp_http: args.otlp_http,
        admin: args.admin,
        data: args.data,
        follow: args.follow,
        token_file: args.token_file,
        alertmanagers: args.alertmanagers,
        runbook_base: args.runbook_base,
    };
    Overrides { serve, ..Overrides::default() }
}

/// Says what is wrong with configuration and rules, or that nothing is.
fn checked(config: &Config, problems: &[rules::Problem]) -> anyhow::Result<Outcome> {
    vocabulary(config)?;
    key_map(&config.exchange_keys)?;
    identities(config);
    parts::try_files(&config.serve)?;
    problems.iter().for_each(|problem| say(&format!("{problem}\n")));
    if problems.is_empty() {
        print("configuration and rules are good\n")?;
    }
    Ok(if problems.is_empty() { Outcome::Clean } else { Outcome::Found })
}

/// Where the program's own telemetry goes: never to itself.
fn exporting(config: &Config) -> anyhow::Result<Exporting> {
    let own = [config.serve.otlp_grpc, config.serve.otlp_http];
    for endpoint in telemetry::endpoints() {
        let url = url::Url::parse(&endpoint).ok();
        let port = url.as_ref().and_then(url::Url::port_or_known_default);
        let host = url.as_ref().and_then(url::Url::host_str).unwrap_or_default();
        let is_here = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        if own.into_iter().flatten().any(|address| is_here && Some(address.port()) == port) {
            anyhow::bail!(
                "OTEL_EXPORTER_OTLP_ENDPOINT names this program itself ({endpoint}): unset it, or name a collector"
            );
        }
    }
    Ok(Exporting::from_environment()?)
}

async fn serve(config: Config, global: &Global, given: Overrides) -> anyhow::Result<()> {
    // Ports first: a second service on them should find out before it touches anything.
    let bind = async |address: std::net::SocketAddr, what: &str| {
        let socket =
            TcpListener::bind(address).await.with_context(|| format!("cannot listen at {address} for {what}"))?;
        let at = socket.local_addr()?;
        say(&format!("{what} at {at}\n"));
        anyhow::Ok(socket)
    };
    let mut sockets = Vec::new();
    if let Some(address) = config.serve.otlp_grpc {
        sockets.push(bind(address, "OTLP over gRPC").await?);
    }
    if let Some(address) = config.serve.otlp_http {
        sockets.push(bind(address, "OTLP over HTTP").await?);
    }
    let admin = bind(config.serve.admin, "metrics, findings and health").await?;
    say("starting: reading what was kept\n");
    let stop = CancellationToken::new();
    let started = Service::start(config, (global.clone(), given), sockets, admin, stop.clone()).await;
    // Parts that run already end because they are told to, and not by a failure of their own.
    let service = started.inspect_err(|_| stop.cancel())?;
    say("ready\n");
    let failed = service.failed();
    tokio::select! {
        () = stopped(&service) => say("stopping: what was received is being stored\n"),
        () = failed.cancelled() => say("stopping: a part of the service failed\n"),
    }
    stop.cancel();
    if tokio::time::timeout(LONGEST_END, service.ended()).await.is_err() {
        tracing::warn!("what was stored last is judged after the next start");
    }
    anyhow::ensure!(!failed.is_cancelled(), "a part of the service failed: the log says which");
    Ok(())
}

/// Waits until the program is told to end; on SIGHUP it reloads.
async fn stopped(service: &Service) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminated), Ok(mut hung_up)) = (signal(SignalKind::terminate()), signal(SignalKind::hangup())) else {
        _ = tokio::signal::ctrl_c().await;
        return;
    };
    loop {
        tokio::select! {
            _ = terminated.recv() => return,
            _ = tokio::signal::ctrl_c() => return,
            _ = hung_up.recv() => service.reload(),
        }
    }
}
