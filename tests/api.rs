//! The API over real sockets.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use a2a_drift::api::{Agent, Api, Limits, Readiness, Reload, Runbooks, Snapshot, serve};
use a2a_drift::findings::{Confidence, Finding, Report, Severity};
use a2a_drift::instant::Instant;
use a2a_drift::measures::cards::{Card, Shown, Skill};
use a2a_drift::publish::prometheus::Exporter;
use a2a_drift::publish::{alertmanager, json};
use a2a_drift::token::Token;
use arc_swap::ArcSwap;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// A name as a peer might choose it.
const HOSTILE: &str = "<script>alert(1)</script>\"\u{1b}[31m\u{202e}";
const LONG: Duration = Duration::from_secs(20);

fn at(seconds: i64) -> Instant {
    Instant(1_796_000_000_000_000_000 + seconds * 1_000_000_000)
}

fn finding(number: i64, rule: &str, agent: &str, severity: Severity) -> Finding {
    Finding {
        id: format!("{number:032x}"),
        rule: rule.into(),
        category: if rule == "orphaned" { "lifecycle" } else { "push" }.into(),
        severity,
        confidence: Confidence::Confirmed,
        suspect: "gateway".into(),
        because: String::new(),
        entity: BTreeMap::new(),
        agent: agent.into(),
        client: None,
        skill_id: None,
        task_id: Some(format!("t{number}")),
        url: None,
        observed_at: at(number),
        due_at: at(number),
        until_at: None,
        over_at: None,
        first_seen: at(number),
        last_seen: at(number),
        count: 1,
        summary: format!("t{number} on {agent}"),
        next_step: String::new(),
        evidence: vec![],
        details: BTreeMap::new(),
        runbook: rule.into(),
    }
}

fn texts(texts: &[&str]) -> BTreeSet<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn card(version: &str, from: i64, skills: &[(&str, &[&str])]) -> Shown {
    let skill = |modes: &[&str]| Skill { output_modes: texts(modes), ..Skill::default() };
    let card = Card {
        version: version.into(),
        fingerprint: format!("fingerprint-{version}"),
        name: "Planner".into(),
        endpoints: [("http://host:8080/a/v1".to_owned(), "JSONRPC".to_owned())].into(),
        streaming: version == "1.0",
        skills: skills.iter().map(|(id, modes)| ((*id).to_owned(), skill(modes))).collect(),
        ..Card::default()
    };
    Shown { card, extended: false, first_seen: at(from), last_seen: at(from + 9), looks: 2 }
}

fn snapshot(findings: Vec<Finding>) -> Snapshot {
    let cards = vec![
        card("1.0", 0, &[("plan", &["application/json", "text/plain"]), ("pay", &["text/plain"])]),
        card("1.1", 50, &[("plan", &["text/plain"]), ("book", &["text/plain"])]),
        Shown { extended: true, ..card("2.0", 55, &[]) },
    ];
    let agent = Agent { open_tasks: 3, last_seen: Some(at(60)), cards: std::sync::Arc::new(cards) };
    Snapshot::new(at(100), findings, [("host:8080/a".to_owned(), agent)].into())
}

fn three() -> Vec<Finding> {
    vec![
        finding(1, "orphaned", "host:8080/a", Severity::Warning),
        finding(2, "unauthorized_storm", "host:8080/a", Severity::Critical),
        finding(3, "orphaned", "other:1", Severity::Info),
    ]
}

struct Server {
    address: SocketAddr,
    api: Api,
    reloads: mpsc::Receiver<Reload>,
    client: Client,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(token: Option<&str>) -> Self {
        Self::start_with(token, Limits::default()).await
    }

    async fn start_with(token: Option<&str>, limits: Limits) -> Self {
        let (reload, reloads) = mpsc::channel(1);
        let api = Api {
            snapshot: Arc::new(ArcSwap::from_pointee(snapshot(three()))),
            exporter: Arc::new(Exporter::new(&[]).unwrap()),
            runbooks: Arc::new(ArcSwap::from_pointee(Runbooks {
                rules: "<h3 id=\"split_brain\">".to_owned(),
                service: "<h2 id=\"a2adriftdown\">".to_owned(),
            })),
            readiness: Arc::new(Readiness::default()),
            reload,
            token: token.map(Token::new),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, stop) = (listener.local_addr().unwrap(), CancellationToken::new());
        let task = tokio::spawn(serve(listener, api.clone().router(), limits, None, stop.clone()));
        Self { address, api, reloads, client: alertmanager::client().unwrap(), stop, task }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path)).timeout(LONG)
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(self.url(path)).timeout(LONG)
    }

    fn url(&self, path: &str) -> Url {
        Url::parse(&format!("http://{}{path}", self.address)).unwrap()
    }

    async fn json(&self, path: &str) -> Value {
        let (status, value) = answer(self.get(path)).await;
        assert_eq!(status, StatusCode::OK, "{path}: {value}");
        value
    }

    /// Ids, as numbers, of the findings of an answer.
    async fn found(&self, path: &str) -> Vec<i64> {
        numbers(&self.json(path).await)
    }
}

/// Status and JSON of an answer.
async fn answer(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json; charset=utf-8");
    let status = response.status();
    (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap())
}

fn numbers(page: &Value) -> Vec<i64> {
    let ids = page["findings"].as_array().unwrap().iter().map(|finding| finding["id"].as_str().unwrap());
    ids.map(|id| i64::from_str_radix(id, 16).unwrap()).collect()
}

#[tokio::test]
async fn findings_are_those_of_the_report_worst_first() {
    let server = Server::start(None).await;
    let page = server.json("/api/v1/findings").await;
    let report: Value = serde_json::from_str(&json::render(&Report::new(three(), &[])).unwrap()).unwrap();
    assert_eq!(page["findings"], report["findings"]);
    assert_eq!(numbers(&page), [2, 1, 3]);
    assert_eq!((&page["total"], &page["next"], &page["schema_version"]), (&json!(3), &Value::Null, &json!(1)));
    assert_eq!(page["as_of"], "2026-11-30T00:55:00Z");
    let one = server.json("/api/v1/findings/00000000000000000000000000000002").await;
    assert_eq!(one["finding"], page["findings"][0]);
}

#[tokio::test]
async fn filters_narrow_and_values_of_one_name_are_alternatives() {
    let server = Server::start(None).await;
    for (query, expected) in [
        ("rule=orphaned", vec![1, 3]),
        ("severity=critical", vec![2]),
        ("severity=critical,info", vec![2, 3]),
        ("severity=critical&severity=warning", vec![2, 1]),
        ("agent=host:8080/a", vec![2, 1]),
        ("agent=host%3A8080%2Fa&rule=orphaned", vec![1]),
        ("category=push", vec![2]),
        ("suspect=gateway&task_id=t3", vec![3]),
        ("since=2026-11-30T00:53:22Z", vec![2, 3]),
        ("since=1796000003", vec![3]),
        ("state=firing", vec![2, 1, 3]),
        ("agent=host:8080/a&agent=other:1", vec![2, 1, 3]),
        // Names from outside may have a comma in them.
        ("agent=host:8080/a,other:1", vec![]),
        ("task_id=t1,t2", vec![]),
        ("agent=,", vec![]),
        ("rule=orphaned,unauthorized_storm", vec![2, 1, 3]),
        ("category=push,lifecycle", vec![2, 1, 3]),
        ("agent=nobody", vec![]),
        ("", vec![2, 1, 3]),
    ] {
        assert_eq!(server.found(&format!("/api/v1/findings?{query}")).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_question_that_is_not_understood_is_a_problem_and_not_another_answer() {
    let server = Server::start(None).await;
    for query in [
        "severty=critical",
        "severity=bad",
        "severity=",
        "severity=,",
        "severity=critical,,info",
        "rule=orphaned,",
        "agent=",
        "agent=other:1&agent=",
        "task_id",
        "since=",
        "cursor=",
        "state=ended",
        "since=yesterday",
        "limit=0",
        "limit=1001",
        "limit=-1",
        "limit=2&limit=3",
        "cursor=%FF%00",
        "cursor=WzFd",
        "since=9999-12-31T23:59:59Z",
    ] {
        let (status, problem) = answer(server.get(&format!("/api/v1/findings?{query}"))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(problem["error"]["code"], "bad_request", "{query}");
    }
    let (status, problem) = answer(server.get("/api/v1/findings/..%2f..%2fetc")).await;
    assert_eq!((status, &problem["error"]["code"]), (StatusCode::NOT_FOUND, &json!("not_found")));
    for path in ["/api/v1/findings/%ff", "/api/v1/cards/a/%ff"] {
        let (status, problem) = answer(server.get(path)).await;
        assert_eq!((status, &problem["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("bad_request")), "{path}");
    }
    assert_eq!(answer(server.get("/nothing")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(answer(server.post("/api/v1/findings")).await.0, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer(server.get("/-/reload")).await.0, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer(server.get("/api/v1/cards/nobody")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn pages_show_each_finding_once_also_when_others_come_and_go_between_them() {
    let server = Server::start(None).await;
    let many = |skip: &[i64]| -> Vec<Finding> {
        let numbers = (1..=25).filter(|number| !skip.contains(number));
        numbers.map(|number| finding(number, "orphaned", "a", Severity::Warning)).collect()
    };
    server.api.snapshot.store(Arc::new(snapshot(many(&[15]))));
    let mut seen = Vec::new();
    let mut path = "/api/v1/findings?limit=10".to_owned();
    for expected_total in [24, 23, 23] {
        let page = server.json(&path).await;
        assert_eq!(page["total"], expected_total);
        seen.extend(numbers(&page));
        if let Some(cursor) = page["next"].as_str() {
            path = format!("/api/v1/findings?limit=10&cursor={cursor}");
        }
        // 3 and 10, the last of the first page, end; 15 begins.
        server.api.snapshot.store(Arc::new(snapshot(many(&[3, 10]))));
    }
    assert_eq!(seen, (1..=25).collect::<Vec<_>>());
}

#[tokio::test]
async fn agents_are_listed_with_tasks_findings_and_card() {
    let server = Server::start(None).await;
    let page = server.json("/api/v1/agents").await;
    let expected = json!([
        {
            "agent": "host:8080/a",
            "open_tasks": 3,
            "last_seen": "2026-11-30T00:54:20Z",
            "findings": {"critical": 1, "warning": 1, "info": 0},
            "card": {
                "version": "1.1",
                "fingerprint": "fingerprint-1.1",
                "since": "2026-11-30T00:54:10Z",
                "generations": 2,
            },
        },
        {
            "agent": "other:1",
            "open_tasks": 0,
            "last_seen": null,
            "findings": {"critical": 0, "warning": 0, "info": 1},
            "card": null,
        },
    ]);
    assert_eq!(page["agents"], expected);
    let first = server.json("/api/v1/agents?limit=1").await;
    assert_eq!((&first["total"], &first["next"]), (&json!(2), &json!("host:8080/a")));
    let second = server.json("/api/v1/agents?limit=1&cursor=host:8080/a").await;
    assert_eq!((&second["agents"][0], &second["next"]), (&expected[1], &Value::Null));
}

#[tokio::test]
async fn cards_show_their_generations_and_what_changed_from_each_to_the_next() {
    let server = Server::start(None).await;
    let cards = server.json("/api/v1/cards/host:8080/a").await;
    assert_eq!(cards, server.json("/api/v1/cards/host%3A8080%2Fa").await);
    let generations = cards["generations"].as_array().unwrap();
    let versions: Vec<&Value> = generations.iter().map(|generation| &generation["version"]).collect();
    assert_eq!(versions, ["1.0", "1.1", "2.0"]);
    // Neither the first nor the extended card has one before it.
    assert_eq!([&generations[0]["changes"], &generations[2]["changes"]], [&Value::Null; 2]);
    assert_eq!(
        generations[1]["changes"],
        json!([
            {"part": "skills", "says": "skill pay is gone"},
            {"part": "skills", "says": "skill book is new"},
            {"part": "modes", "says": "skill plan gives text/plain; before: application/json, text/plain"},
            {"part": "capabilities", "says": "streaming is no longer offered"},
            {"part": "identity", "says": "version 1.1; before: 1.0"},
        ])
    );
    assert_eq!(generations[1]["endpoints"], json!([{"url": "http://host:8080/a/v1", "binding": "JSONRPC"}]));
    assert_eq!([&generations[2]["extended"], &generations[2]["looks"]], [&json!(true), &json!(2)]);
    assert_eq!(generations[1]["skills"]["plan"]["output_modes"], json!(["text/plain"]));
    assert_eq!(server.json("/api/v1/cards/other:1").await["generations"], json!([]));
}

#[tokio::test]
async fn metrics_come_in_the_format_that_was_asked_for() {
    let server = Server::start(None).await;
    let text = server.get("/metrics").send().await.unwrap();
    assert_eq!(text.headers()["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert!(text.text().await.unwrap().contains("# TYPE a2a_drift_build_info gauge"));
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let open_metrics = server.get("/metrics").header("accept", accept).send().await.unwrap();
    let expected = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open_metrics.headers()["content-type"], expected);
    assert!(open_metrics.text().await.unwrap().ends_with("# EOF\n"));
}

#[tokio::test]
async fn readiness_says_what_is_missing_and_health_does_not_care() {
    let server = Server::start(None).await;
    assert_eq!(answer(server.get("/readyz")).await, (StatusCode::OK, json!({"status": "ready"})));
    server.api.readiness.not_ready("log", "no space left on the device");
    let reasons = json!([{"part": "log", "reason": "no space left on the device"}]);
    let expected = json!({"status": "not ready", "reasons": reasons});
    assert_eq!(answer(server.get("/readyz")).await, (StatusCode::SERVICE_UNAVAILABLE, expected));
    assert_eq!(answer(server.get("/healthz")).await.0, StatusCode::OK);
    server.api.readiness.ready("log");
    assert_eq!(answer(server.get("/readyz")).await.0, StatusCode::OK);

    let starting = Readiness::starting(&["rules", "log"]);
    starting.ready("log");
    assert_eq!(starting.reasons(), [("rules", "starting".to_owned())].into());
}

#[tokio::test]
async fn a_reload_answers_with_what_is_wrong() {
    let mut server = Server::start(None).await;
    let wrong = "rules/x.sql:3: unknown key `severty`";
    for result in [Err(wrong.to_owned()), Ok(vec!["serve.data".to_owned()])] {
        let request = tokio::spawn(answer(server.post("/-/reload")));
        let reload = timeout(LONG, server.reloads.recv()).await.unwrap().unwrap();
        reload.answer.send(result.clone()).unwrap();
        let expected = match result {
            Ok(restart) => (StatusCode::OK, json!({"status": "reloaded", "needs_restart": restart})),
            Err(wrong) => (StatusCode::UNPROCESSABLE_ENTITY, json!({"error": {"code": "refused", "message": wrong}})),
        };
        assert_eq!(request.await.unwrap(), expected);
    }
    let held = tokio::spawn(answer(server.post("/-/reload")));
    while server.api.reload.capacity() > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(answer(server.post("/-/reload")).await.0, StatusCode::SERVICE_UNAVAILABLE);
    drop(server.reloads);
    assert_eq!(held.await.unwrap().0, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_page_of_another_site_cannot_reload() {
    let mut server = Server::start(None).await;
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("origin", "http://"),
    ] {
        let (status, problem) = answer(server.post("/-/reload").header(name, value)).await;
        assert_eq!((status, &problem["error"]["code"]), (StatusCode::FORBIDDEN, &json!("cross_site")), "{value}");
    }
    assert!(server.reloads.try_recv().is_err());
    let own = format!("http://{}", server.address);
    let request = tokio::spawn(answer(server.post("/-/reload").header("origin", own)));
    timeout(LONG, server.reloads.recv()).await.unwrap().unwrap().answer.send(Ok(vec![])).unwrap();
    assert_eq!(request.await.unwrap().0, StatusCode::OK);
}

#[tokio::test]
async fn a_token_protects_all_but_health() {
    let mut server = Server::start(Some("s3cret-token")).await;
    for path in [
        "/",
        "/metrics",
        "/queries/README.md",
        "/api/v1/findings",
        "/api/v1/cards/x",
        "/nothing",
        "/healthz/",
        "//healthz",
    ] {
        for authorization in
            [None, Some("Bearer wrong"), Some("Basic s3cret-token"), Some("Bearer"), Some("Bearer s3cret-token2")]
        {
            let request = server.get(path);
            let request =
                authorization.into_iter().fold(request, |request, value| request.header("authorization", value));
            let response = request.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{path} {authorization:?}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer realm=\"a2a-drift\"");
        }
    }
    assert_eq!(answer(server.post("/-/reload")).await.0, StatusCode::UNAUTHORIZED);
    assert!(server.reloads.try_recv().is_err());
    for path in ["/healthz", "/readyz"] {
        assert_eq!(answer(server.get(path)).await.0, StatusCode::OK);
    }
    for authorization in ["Bearer s3cret-token", "bearer s3cret-token"] {
        let request = server.get("/api/v1/findings").header("authorization", authorization);
        assert_eq!(answer(request).await.0, StatusCode::OK);
    }
    assert!(!format!("{:?}", server.api.token).contains("s3cret"));
}

#[tokio::test]
async fn runbooks_are_where_the_repository_has_them() {
    let server = Server::start(None).await;
    for (path, anchor) in [("/queries/README.md", "split_brain"), ("/dashboards/README.md", "a2adriftdown")] {
        let response = server.get(path).send().await.unwrap();
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
        assert!(response.text().await.unwrap().contains(&format!("id=\"{anchor}\"")), "{path}");
    }
}

#[tokio::test]
async fn names_from_outside_stay_text() {
    let server = Server::start(None).await;
    let hostile = vec![finding(1, "orphaned", HOSTILE, Severity::Warning)];
    server.api.snapshot.store(Arc::new(snapshot(hostile)));
    for path in ["/", "/metrics", "/api/v1/findings", "/api/v1/agents", "/api/v1/findings?x=<script>", "/<script>"] {
        let response = server.get(path).send().await.unwrap();
        let headers = response.headers().clone();
        assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none';"), "{path}");
        assert_eq!(headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(headers["cache-control"], "no-store", "{path}");
        let is_html = headers["content-type"].to_str().unwrap().starts_with("text/html");
        assert_eq!(is_html, path == "/", "{path}");
        let text = response.text().await.unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{path}");
        assert!(!is_html || !text.contains("script"), "{path}");
    }
    let agents = server.json("/api/v1/agents").await;
    assert_eq!(agents["agents"][0]["agent"], HOSTILE);
}

/// Writes bytes to a connection; what comes back until it ends.
async fn spoken(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may end the connection before it has read all.
    _ = stream.write_all(bytes).await;
    let mut text = Vec::new();
    _ = timeout(LONG, stream.read_to_end(&mut text)).await.unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn who_sends_no_request_holds_a_connection_for_a_short_time_only() {
    let limits = Limits { connections: 2, idle: Duration::from_millis(200), ..Limits::default() };
    let server = Server::start_with(None, limits).await;
    let idle = [TcpStream::connect(server.address).await.unwrap(), TcpStream::connect(server.address).await.unwrap()];
    let mut half = TcpStream::connect(server.address).await.unwrap();
    half.write_all(b"GET / HT").await.unwrap();
    assert_eq!(answer(server.get("/healthz")).await.0, StatusCode::OK);
    drop(idle);
}

#[tokio::test]
async fn an_agent_with_a_comma_in_its_name_can_be_asked_for() {
    let server = Server::start(None).await;
    let named = vec![finding(1, "orphaned", "a,b:1", Severity::Info), finding(2, "orphaned", "b:1", Severity::Info)];
    server.api.snapshot.store(Arc::new(snapshot(named)));
    assert_eq!(server.found("/api/v1/findings?agent=a,b:1").await, [1]);
    assert_eq!(server.found("/api/v1/findings?agent=a%2Cb%3A1&agent=b:1").await, [1, 2]);
}

/// How long a connection stays open that sends this and then nothing.
async fn stays(address: SocketAddr, bytes: &[u8]) -> Duration {
    let began = std::time::Instant::now();
    _ = spoken(address, bytes).await;
    began.elapsed()
}

#[tokio::test]
async fn who_asks_is_heard_at_once_though_others_hold_all_places_and_ask_nothing() {
    let server = Server::start(None).await;
    let mut idle = Vec::new();
    for number in 0..Limits::default().connections + 20 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET / HT").await.unwrap();
        }
        idle.push(stream);
    }
    let began = std::time::Instant::now();
    assert_eq!(answer(server.get("/healthz")).await.0, StatusCode::OK);
    assert!(began.elapsed() < Limits::default().head, "{:?}", began.elapsed());
}

#[tokio::test]
async fn one_too_many_is_not_taken_while_the_others_ask() {
    let server = Server::start_with(None, Limits { connections: 2, head: LONG * 2, ..Limits::default() }).await;
    let mut asking = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
        asking.push(stream);
    }
    assert!(stays(server.address, b"").await < LONG);
    asking[0].write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    assert_ne!(asking[0].read(&mut [0; 1024]).await.unwrap(), 0, "those are still there");
    drop(asking);
    for _ in 0..100 {
        if !spoken(server.address, b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("places are not given back");
}

#[tokio::test]
async fn who_asks_nothing_is_sent_away_sooner_than_who_has_asked() {
    let limits = Limits { head: Duration::from_millis(300), idle: LONG * 3, ..Limits::default() };
    let server = Server::start_with(None, limits).await;
    assert!(stays(server.address, b"").await < LONG);
    assert!(stays(server.address, b"GET / HT").await < LONG);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    for _ in 0..2 {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert_ne!(stream.read(&mut [0; 1024]).await.unwrap(), 0);
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
}

#[tokio::test]
async fn who_asks_and_asks_and_reads_nothing_is_sent_away() {
    let server = Server::start_with(None, Limits { write: Duration::from_millis(300), ..Limits::default() }).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let many = b"GET /api/v1/findings HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1_000);
    let ended = timeout(LONG * 3, async { while stream.write_all(&many).await.is_ok() {} }).await;
    assert!(ended.is_ok(), "it is still waited for");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let server = Server::start(None).await;
    let path = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(200_000));
    let said = spoken(server.address, path.as_bytes()).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said}");
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(5_000));
    let said = spoken(server.address, many.as_bytes()).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
    assert_eq!(answer(server.get("/healthz")).await.0, StatusCode::OK);
}

#[tokio::test]
async fn when_it_is_told_to_stop_it_finishes_what_is_under_way() {
    let mut server = Server::start(None).await;
    let request = tokio::spawn(answer(server.post("/-/reload")));
    let reload = timeout(LONG, server.reloads.recv()).await.unwrap().unwrap();
    server.stop.cancel();
    reload.answer.send(Ok(vec![])).unwrap();
    assert_eq!(request.await.unwrap().0, StatusCode::OK);
    timeout(LONG, server.task).await.unwrap().unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}
