use std::sync::Mutex;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;
use crate::findings::samples::finding;
use crate::findings::{Severity, Tracker, active};
use crate::publish::prometheus::Exporter;

/// 2026-11-30T06:15:34Z.
const NOW: Instant = Instant(1_796_019_334_000_000_000);

/// Alerts of a request, and its headers.
type Request = (Vec<Value>, HeaderMap);

/// A server that takes alerts as an Alertmanager does, and answers as it is told.
#[derive(Clone, Default)]
struct Fake {
    /// Answers for the next requests; 200 when there is none.
    answers: Arc<Mutex<Vec<StatusCode>>>,
    /// What was sent, request by request.
    requests: Arc<Mutex<Vec<Request>>>,
    arrived: Arc<tokio::sync::Notify>,
}

impl Fake {
    async fn start(answers: &[StatusCode]) -> (Self, Url) {
        let fake = Self { answers: Arc::new(Mutex::new(answers.to_vec())), ..Self::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/prefix/", listener.local_addr().unwrap())).unwrap();
        let router = Router::new().route("/prefix/api/v2/alerts", post(take)).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (fake, url)
    }

    /// Waits for a number of requests in all, and gives them.
    async fn requests(&self, number: usize) -> Vec<Vec<Value>> {
        let enough = async {
            while self.requests.lock().unwrap().len() < number {
                self.arrived.notified().await;
            }
        };
        timeout(Duration::from_secs(20), enough).await.unwrap();
        self.requests.lock().unwrap().iter().map(|(alerts, _)| alerts.clone()).collect()
    }
}

async fn take(State(fake): State<Fake>, headers: HeaderMap, Json(alerts): Json<Vec<Value>>) -> StatusCode {
    fake.requests.lock().unwrap().push((alerts, headers));
    let mut answers = fake.answers.lock().unwrap();
    let answer = if answers.is_empty() { StatusCode::OK } else { answers.remove(0) };
    fake.arrived.notify_one();
    answer
}

fn settings(url: Url) -> Settings {
    let of_rule: fn(&str) -> String = |rule| format!("Alert_{rule}");
    Settings {
        url,
        first_wait: Duration::from_millis(5),
        longest_wait: Duration::from_millis(20),
        runbooks: "https://example.com/repo/".into(),
        api: "http://drift:9464".into(),
        ..Settings::new("http://unused", of_rule).unwrap()
    }
}

struct Running {
    alerts: Alerts,
    exporter: Exporter,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    fn start(settings: Settings, open: Vec<Active>) -> Self {
        let (alerts, exporter, stop) = (Alerts::new(open), Exporter::new(&[]).unwrap(), CancellationToken::new());
        let pusher = alerts.pusher(client().unwrap(), settings, exporter.service().clone(), || NOW);
        let task = tokio::spawn(pusher.run(stop.clone()));
        Self { alerts, exporter, stop, task }
    }

    /// A counter of what became of alerts.
    fn counted(&self, name: &str) -> u64 {
        let text = self.exporter.render("").unwrap().text;
        let line = text.lines().find(|line| line.starts_with(&format!("a2a_drift_alerts_{name}_total")));
        line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
    }

    async fn stop(self) {
        self.stop.cancel();
        timeout(Duration::from_secs(20), self.task).await.unwrap().unwrap();
    }
}

/// Groups of open findings, one an agent, opened a minute before now.
fn groups(agents: &[&str]) -> Vec<Active> {
    let begun = Instant(NOW.0 - 60_000_000_000);
    let findings: Vec<_> = agents
        .iter()
        .map(|agent| finding("split_brain", agent, &format!("t-{agent}"), Severity::Critical, begun))
        .collect();
    let mut tracker = Tracker::default();
    tracker.look(&findings, begun, |_| None);
    active::group(tracker.open(), 10_000)
}

#[tokio::test]
async fn an_alert_is_sent_when_it_begins_and_when_it_ends() {
    let (fake, url) = Fake::start(&[]).await;
    let running = Running::start(settings(url), vec![]);
    running.alerts.publish(&groups(&["a:1"]));
    let sent = fake.requests(1).await;
    running.alerts.publish(&[]);
    let ended = fake.requests(2).await;

    let labels = serde_json::json!({
        "alertname": "Alert_split_brain", "rule": "split_brain", "category": "lifecycle", "severity": "critical",
        "suspect": "remote-runtime", "agent": "a:1",
    });
    assert_eq!((&sent[0][0]["labels"], &ended[1][0]["labels"]), (&labels, &labels));
    assert_eq!(sent[0][0]["startsAt"], "2026-11-30T06:14:34Z");
    assert_eq!(sent[0][0]["endsAt"], "2026-11-30T06:19:34Z");
    assert_eq!(ended[1][0]["startsAt"], "2026-11-30T06:14:34Z");
    assert_eq!(ended[1][0]["endsAt"], "2026-11-30T06:15:34Z");
    let annotations = &sent[0][0]["annotations"];
    assert_eq!(annotations["summary"], "t-a:1 on a:1 is not what it seems");
    assert_eq!(annotations["runbook_url"], "https://example.com/repo/split_brain");
    let description = annotations["description"].as_str().unwrap();
    assert!(description.ends_with("Since 2026-11-30 06:14:34Z. Next: Ask the agent for the task."), "{description}");
    let generator = "http://drift:9464/api/v1/findings?rule=split_brain&severity=critical&agent=a%3A1";
    assert_eq!(sent[0][0]["generatorURL"], generator);
    running.stop().await;
}

#[tokio::test]
async fn an_alert_that_stays_is_sent_again_and_an_equal_look_sends_nothing() {
    let (fake, url) = Fake::start(&[]).await;
    let running = Running::start(Settings { resend: Duration::from_millis(30), ..settings(url) }, vec![]);
    for _ in 0..100 {
        running.alerts.publish(&groups(&["a"]));
    }
    let sent = fake.requests(4).await;
    assert!(sent.iter().all(|alerts| alerts.len() == 1 && alerts[0] == sent[0][0]), "{sent:?}");
    running.stop().await;
}

#[tokio::test]
async fn a_failure_is_tried_again_and_nothing_is_lost_or_told_twice() {
    let answers = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS, StatusCode::INTERNAL_SERVER_ERROR];
    let (fake, url) = Fake::start(&answers).await;
    let running = Running::start(settings(url), vec![]);
    running.alerts.publish(&groups(&["a", "b"]));
    fake.requests(4).await;
    running.alerts.publish(&groups(&["b"]));
    let requests = fake.requests(5).await;
    let agents: Vec<Vec<&str>> = requests
        .iter()
        .map(|alerts| alerts.iter().map(|alert| alert["labels"]["agent"].as_str().unwrap()).collect())
        .collect();
    assert_eq!(agents, [vec!["a", "b"], vec!["a", "b"], vec!["a", "b"], vec!["a", "b"], vec!["a"]]);
    while running.counted("sent") < 3 {
        tokio::task::yield_now().await;
    }
    assert_eq!((running.counted("sent"), running.counted("failed")), (3, 6));
    running.stop().await;
}

#[tokio::test]
async fn a_refusal_for_good_is_not_repeated_until_the_next_round() {
    let (fake, url) = Fake::start(&[StatusCode::BAD_REQUEST]).await;
    let running = Running::start(settings(url), vec![]);
    running.alerts.publish(&groups(&["a"]));
    fake.requests(1).await;
    running.alerts.publish(&groups(&["a", "b"]));
    let requests = fake.requests(2).await;
    assert_eq!(requests[1].len(), 1);
    assert_eq!(requests[1][0]["labels"]["agent"], "b");
    running.stop().await;
}

#[tokio::test]
async fn many_alerts_go_in_batches_and_too_many_are_cut_and_counted() {
    let (fake, url) = Fake::start(&[]).await;
    let running = Running::start(Settings { batch: 4, most: 10, ..settings(url) }, vec![]);
    let agents: Vec<String> = (0..12).map(|n| format!("agent-{n}")).collect();
    running.alerts.publish(&groups(&agents.iter().map(String::as_str).collect::<Vec<_>>()));
    let sizes: Vec<usize> = fake.requests(3).await.iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 4, 2]);
    assert_eq!(running.counted("dropped"), 2);
    running.stop().await;
}

#[tokio::test]
async fn what_ended_while_the_program_was_down_is_told() {
    let (fake, url) = Fake::start(&[]).await;
    let running = Running::start(settings(url), groups(&["a", "b"]));
    running.alerts.publish(&groups(&["b"]));
    let [sent] = fake.requests(1).await.try_into().unwrap();
    let ends: Vec<_> = sent.iter().map(|alert| (&alert["labels"]["agent"], &alert["endsAt"])).collect();
    assert_eq!(ends, [(&"a".into(), &"2026-11-30T06:15:34Z".into()), (&"b".into(), &"2026-11-30T06:19:34Z".into())]);
    running.stop().await;
}

#[tokio::test]
async fn an_alertmanager_that_is_away_delays_nobody_and_the_newest_state_is_what_it_gets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let url = Url::parse(&format!("http://user:secret@{address}/")).unwrap();
    let running = Running::start(settings(url), vec![]);
    for agent in ["a", "b", "c"] {
        running.alerts.publish(&groups(&[agent]));
    }
    while running.counted("failed") < 2 {
        tokio::task::yield_now().await;
    }
    let fake = Fake::default();
    let router = Router::new().route("/api/v2/alerts", post(take)).with_state(fake.clone());
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let sent = fake.requests(1).await;
    let firing: Vec<&Value> = sent[0].iter().filter(|alert| alert["endsAt"] == "2026-11-30T06:19:34Z").collect();
    assert_eq!(firing.len(), 1);
    assert_eq!(firing[0]["labels"]["agent"], "c");
    let authorization = fake.requests.lock().unwrap()[0].1["authorization"].clone();
    assert_eq!(authorization, "Basic dXNlcjpzZWNyZXQ=");
    assert!(!running.exporter.render("").unwrap().text.contains("secret"));
    running.stop().await;
}

#[test]
fn an_address_that_is_none_is_an_error_without_its_password() {
    let name: fn(&str) -> String = str::to_owned;
    for wrong in ["localhost:9093", "ftp://x/", "not an address", "http://"] {
        assert!(Settings::new(wrong, name).is_err(), "{wrong}");
    }
    let error = Settings::new("ftp://user:secret@host/", name).unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
}
