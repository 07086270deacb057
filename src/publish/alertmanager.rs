//! Open findings pushed to an Alertmanager, for those who run no Prometheus rules.
//!
//! In: groups of open findings, as often as they are looked at. Out: alerts by API v2, one for each group, with the labels
//! that the generated Prometheus rules give. An alert is sent at once when it begins or ends, and again and again in
//! between: it names its own end, so that it ends by itself when nobody is left to send it. What waits is never more than
//! the newest groups and those that ended; nothing grows while an Alertmanager is away. Reads no clock but the one it is
//! given.

mod alert;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tokio::sync::watch;
use tokio::time::{Instant as Moment, sleep_until};
use tokio_util::sync::CancellationToken;

use self::alert::Alert;
use super::prometheus::Service;
use super::words::clean;
use crate::findings::Active;
use crate::findings::active::Labels;
use crate::instant::Instant;

/// Characters of a refusal that are logged.
const MOST_LOGGED: usize = 300;

/// Why nothing can be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The client cannot be made.
    #[error("cannot speak HTTP to an Alertmanager")]
    Client(#[source] reqwest::Error),
    /// The address is none.
    #[error("`{0}` is not the http or https address of an Alertmanager")]
    Address(String),
}

/// How to push to one Alertmanager.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address of the Alertmanager, without the path of its API; a user and password in it are sent as basic authentication.
    pub url: Url,
    /// Time between two sendings of an alert that stays.
    pub resend: Duration,
    /// How long an alert lasts that is not sent again: some times as long as `resend`, and below the `resolve_timeout` of an
    /// Alertmanager, which is five minutes unless configured.
    pub lasts: Duration,
    /// Time that one request may take.
    pub timeout: Duration,
    /// Wait after a first failure; it doubles with each.
    pub first_wait: Duration,
    /// The longest wait after a failure.
    pub longest_wait: Duration,
    /// Alerts in one request.
    pub batch: usize,
    /// Alerts that are kept and sent; of more, the most severe and oldest.
    pub most: usize,
    /// How an alert on a rule is called, from the rule's id.
    pub name_of: fn(&str) -> String,
    /// What goes before a finding's `runbook` to make an address of it.
    pub runbooks: String,
    /// Address of this program's API as others reach it; `''` when it is not known.
    pub api: String,
}

impl Settings {
    /// What suits an Alertmanager as it is shipped.
    ///
    /// # Errors
    /// When the address is no http or https address.
    pub fn new(url: &str, name_of: fn(&str) -> String) -> Result<Self, PushError> {
        let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = parsed.ok_or_else(|| PushError::Address(without_secret(url)))?;
        Ok(Self {
            url,
            resend: Duration::from_secs(60),
            lasts: Duration::from_secs(240),
            timeout: Duration::from_secs(10),
            first_wait: Duration::from_secs(1),
            longest_wait: Duration::from_secs(30),
            batch: 64,
            most: 5_000,
            name_of,
            runbooks: String::new(),
            api: String::new(),
        })
    }
}

/// An address without what may be a password.
fn without_secret(url: &str) -> String {
    url.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, rest)| format!("…@{rest}"))
}

/// A client for pushing.
///
/// # Errors
/// When the system's certificates cannot be used.
pub fn client() -> Result<Client, PushError> {
    // The error says that another part of the program has chosen already.
    _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder().redirect(redirect::Policy::none()).no_proxy();
    client.user_agent(concat!("a2a-drift/", env!("CARGO_PKG_VERSION"))).build().map_err(PushError::Client)
}

/// Where looks at findings are handed in.
#[derive(Debug, Clone)]
pub struct Alerts {
    /// The newest look; none before the first.
    newest: watch::Sender<Option<Arc<[Active]>>>,
    /// What was open when the program ended last.
    open: Arc<[Active]>,
}

impl Alerts {
    /// Nobody gets them yet. `open` is what was open when the program ended last: what of it is over by the first look must
    /// be told as well.
    pub fn new(open: Vec<Active>) -> Self {
        Self { newest: watch::Sender::new(None), open: open.into() }
    }

    /// Replaces the groups. Never waits.
    pub fn publish(&self, active: &[Active]) {
        self.newest.send_if_modified(|newest| {
            let is_new = newest.as_deref() != Some(active);
            if is_new {
                *newest = Some(active.into());
            }
            is_new
        });
    }

    /// A task that pushes them to one Alertmanager.
    pub fn pusher(&self, client: Client, settings: Settings, service: Service, clock: fn() -> Instant) -> Pusher {
        let name = match (settings.url.host_str(), settings.url.port_or_known_default()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            _ => String::new(),
        };
        service.alerts(&name, 0, 0, 0);
        let mut pusher = Pusher {
            wait: settings.first_wait,
            client,
            settings,
            service,
            clock,
            name,
            newest: self.newest.subscribe(),
            alerts: BTreeMap::new(),
            not_before: None,
        };
        pusher.take(&self.open);
        pusher
    }
}

/// Pushes alerts to one Alertmanager.
pub struct Pusher {
    client: Client,
    settings: Settings,
    service: Service,
    clock: fn() -> Instant,
    /// Host and port, for metrics and log.
    name: String,
    newest: watch::Receiver<Option<Arc<[Active]>>>,
    /// What fires, and what ended and was not told yet.
    alerts: BTreeMap<Labels, Pending>,
    /// Wait after the next failure.
    wait: Duration,
    /// No request is made before.
    not_before: Option<Moment>,
}

/// An alert, and when it is to be sent.
struct Pending {
    alert: Alert,
    due: Moment,
}

/// What became of a request.
enum Answer {
    Taken,
    /// It will be refused again.
    Refused,
    /// It may be taken later, at the earliest after a time that the Alertmanager asks for.
    Later(Option<Duration>),
}

impl Pusher {
    /// Pushes until it is told to stop or nobody hands in looks any more.
    pub async fn run(mut self, stop: CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.push() => {}
        }
    }

    async fn push(&mut self) {
        // Nothing is sent before the first look: what was open may be over.
        if self.newest.wait_for(Option::is_some).await.is_err() {
            return;
        }
        loop {
            let groups = self.newest.borrow_and_update().clone();
            self.take(groups.as_deref().unwrap_or_default());
            let next = self.send().await;
            tokio::select! {
                changed = self.newest.changed() => if changed.is_err() { return },
                () = sleep_until(next) => {}
            }
        }
    }

    /// Compares the groups with what is known: what began and what ended is due at once.
    fn take(&mut self, groups: &[Active]) {
        let (now, moment) = ((self.clock)(), Moment::now());
        let mut groups: Vec<&Active> = groups.iter().collect();
        groups.sort_by_key(|group| (std::cmp::Reverse(group.labels.severity), group.since));
        let beyond = groups.split_off(groups.len().min(self.settings.most));
        let open: BTreeSet<&Labels> = groups.iter().map(|group| &group.labels).collect();
        for (_, pending) in self.alerts.iter_mut().filter(|(labels, _)| !open.contains(labels)) {
            if pending.alert.end(now) {
                pending.due = moment;
            }
        }
        for group in groups {
            match self.alerts.get_mut(&group.labels) {
                Some(pending) => {
                    if pending.alert.go_on(group) {
                        pending.due = moment;
                    }
                }
                None => {
                    let pending = Pending { alert: Alert::new(group), due: moment };
                    self.alerts.insert(group.labels.clone(), pending);
                }
            }
        }
        if !beyond.is_empty() {
            tracing::warn!(alertmanager = self.name, dropped = beyond.len(), "too many alerts: the least are not sent");
            self.service.alerts(&self.name, 0, 0, beyond.len() as u64);
        }
    }

    /// Sends what is due; when to send again.
    async fn send(&mut self) -> Moment {
        loop {
            let (now, moment) = ((self.clock)(), Moment::now());
            if let Some(not_before) = self.not_before.filter(|not_before| moment < *not_before) {
                return not_before;
            }
            let lasts = self.settings.lasts;
            // By then it ended by itself.
            self.alerts.retain(|_, pending| !pending.alert.is_past(now, lasts));
            let mut due: Vec<&Labels> =
                self.alerts.iter().filter(|(_, pending)| pending.due <= moment).map(|(labels, _)| labels).collect();
            due.sort_by_key(|labels| std::cmp::Reverse(labels.severity));
            let batch: Vec<Labels> = due.into_iter().take(self.settings.batch.max(1)).cloned().collect();
            if batch.is_empty() {
                let next = self.alerts.values().map(|pending| pending.due).min();
                return next.unwrap_or(moment + self.settings.resend);
            }
            self.send_batch(&batch, now).await;
        }
    }

    async fn send_batch(&mut self, batch: &[Labels], now: Instant) {
        let alerts = batch.iter().filter_map(|labels| Some(self.alerts.get(labels)?.alert.shown(&self.settings, now)));
        let answer = self.post(&alerts.collect::<Vec<_>>()).await;
        let moment = Moment::now();
        let (sent, failed) = if matches!(answer, Answer::Taken) { (batch.len(), 0) } else { (0, batch.len()) };
        self.service.alerts(&self.name, sent as u64, failed as u64, 0);
        if let Answer::Later(asked) = answer {
            let wait = asked.unwrap_or(self.wait).min(self.settings.longest_wait);
            self.not_before = Some(moment + wait);
            self.wait = (self.wait * 2).min(self.settings.longest_wait);
            return;
        }
        self.not_before = None;
        self.wait = self.settings.first_wait;
        for labels in batch {
            match self.alerts.get_mut(labels) {
                Some(pending) if pending.alert.has_ended() => drop(self.alerts.remove(labels)),
                Some(pending) => pending.due = moment + self.settings.resend,
                None => {}
            }
        }
    }

    async fn post(&self, alerts: &[alert::Shown]) -> Answer {
        let mut url = self.settings.url.clone();
        url.set_path(&format!("{}/api/v2/alerts", url.path().trim_end_matches('/')));
        let response = self.client.post(url).timeout(self.settings.timeout).json(alerts).send().await;
        match response {
            Ok(response) if response.status().is_success() => Answer::Taken,
            Ok(response) => self.refused(response).await,
            Err(error) => {
                // The address may hold a password.
                let error = error.without_url();
                tracing::warn!(alertmanager = self.name, %error, "alerts could not be sent; they will be again");
                Answer::Later(None)
            }
        }
    }

    async fn refused(&self, mut response: Response) -> Answer {
        let status = response.status();
        if status.is_server_error() || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT) {
            tracing::warn!(alertmanager = self.name, %status, "alerts were not taken; they will be sent again");
            let asked = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            return Answer::Later(asked.map(Duration::from_secs));
        }
        let body = response.chunk().await.ok().flatten().unwrap_or_default();
        let said: String = String::from_utf8_lossy(&body).chars().take(MOST_LOGGED).collect();
        tracing::warn!(alertmanager = self.name, %status, said = %clean(&said), "alerts were refused");
        Answer::Refused
    }
}

#[cfg(test)]
mod tests;
