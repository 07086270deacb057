//! What real captures give. Expected numbers were counted in the files with other tools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::decode::otlp;
use crate::decode::record::{Attributes, LogRecord, Origin, Position, Record, Reject, Sink, Span, SpanEvent, SpanKind};
use crate::instant::Instant;
use crate::normalize::aliases::Aliases;
use crate::normalize::patterns::Patterns;
use crate::tables::{Facts, Table};

use super::{Context, Telemetry};

/// Records of a capture's file.
#[derive(Default)]
struct Records(Vec<Record>);

impl Sink for Records {
    fn record(&mut self, record: Record) {
        self.0.push(record);
    }
    fn reject(&mut self, reject: Reject) {
        panic!("{reject:?}");
    }
    fn recognised(&mut self, _source: &Arc<str>, _format: &'static str) {}
}

/// Records of files under `tests/captures`.
fn records(files: &[&str]) -> Vec<Record> {
    let mut sink = Records::default();
    for file in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (number, line) in text.lines().enumerate() {
            let origin = Origin { source: (*file).into(), position: Position::Line(number as u64 + 1) };
            otlp::json::decode(serde_json::from_str(line).unwrap(), &origin, &mut sink);
        }
    }
    sink.0
}

/// Facts of records, added to those of taped exchanges.
fn facts_with(records: &[Record], mut facts: Facts) -> Facts {
    let (aliases, patterns) = (Aliases::embedded(), Patterns::embedded());
    let context = Context { aliases: &aliases, patterns: &patterns };
    let mut telemetry = Telemetry::default();
    for record in records {
        match record {
            Record::Span(span) => drop(telemetry.span(span, &context)),
            Record::Log(log) => drop(telemetry.log(log, &context, &mut facts)),
            Record::Exchange(_) | Record::Document(_) => {}
        }
    }
    telemetry.finish(&context, &mut facts);
    facts.make_set();
    facts
}

fn facts(files: &[&str]) -> Facts {
    facts_with(&records(files), Facts::default())
}

const JSONRPC: [&str; 3] = [
    "a2a-python-1.3.0/jsonrpc.traces-1.otlp.jsonl",
    "a2a-python-1.3.0/jsonrpc.traces-2.otlp.jsonl",
    "a2a-python-1.3.0/jsonrpc.logs.otlp.jsonl",
];
const REST: [&str; 3] = [
    "a2a-python-1.3.0/rest.traces-1.otlp.jsonl",
    "a2a-python-1.3.0/rest.traces-2.otlp.jsonl",
    "a2a-python-1.3.0/rest.logs.otlp.jsonl",
];
const GRPC: [&str; 2] = ["a2a-python-1.3.0/grpc.traces.otlp.jsonl", "a2a-python-1.3.0/grpc.logs.otlp.jsonl"];
const V03: [&str; 3] = [
    "a2a-python-0.3.26/v03.traces-1.otlp.jsonl",
    "a2a-python-0.3.26/v03.traces-2.otlp.jsonl",
    "a2a-python-0.3.26/v03.logs.otlp.jsonl",
];
const V02: [&str; 2] = ["a2a-python-0.2.16/v02.traces.otlp.jsonl", "a2a-python-0.2.16/v02.logs.otlp.jsonl"];
const RUST: [&str; 2] = ["a2a-rust-0.15.0/rust.traces.otlp.jsonl", "a2a-rust-0.15.0/rust.logs.otlp.jsonl"];

/// What a run's tape says of its webhook deliveries: caller's span -> task and status.
fn taped_deliveries(file: &str) -> BTreeMap<String, (String, i64)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let webhooks = lines.filter(|line| line["leg"] == "webhook");
    webhooks
        .map(|line| {
            let headers = line["request"]["headers"].as_array().unwrap();
            let parent = headers.iter().find(|pair| pair[0] == "traceparent").unwrap()[1].as_str().unwrap();
            let body: Value = serde_json::from_str(line["request"]["body"]["text"].as_str().unwrap()).unwrap();
            let ids =
                [&body["task"]["id"], &body["statusUpdate"]["taskId"], &body["artifactUpdate"]["taskId"], &body["id"]];
            let task = ids.into_iter().find_map(Value::as_str).unwrap().to_owned();
            let status = line["response"]["status"].as_i64().unwrap();
            (format!("span:{}", parent.split('-').nth(2).unwrap()), (task, status))
        })
        .collect()
}

/// Deliveries as an observer saw them, in the form of [`taped_deliveries`].
fn deliveries(facts: &Facts, observer: &str) -> BTreeMap<String, (String, i64)> {
    let rows = facts.push_deliveries.iter().filter(|row| row.common.observer == observer);
    rows.map(|row| (row.common.call_id.clone(), (row.own.task_id.clone(), row.own.http_status.unwrap()))).collect()
}

#[test]
fn traces_and_logs_show_every_delivery_with_its_task_as_the_tape_has_it() {
    for (files, tape, receivers) in [
        (JSONRPC.as_slice(), "a2a-python-1.3.0/jsonrpc.exchanges.ndjson", true),
        (REST.as_slice(), "a2a-python-1.3.0/rest.exchanges.ndjson", true),
        (GRPC.as_slice(), "a2a-python-1.3.0/grpc.exchanges.ndjson", true),
        (V03.as_slice(), "a2a-python-0.3.26/v03.exchanges.ndjson", true),
        (V02.as_slice(), "a2a-python-0.2.16/v02.exchanges.ndjson", true),
        (RUST.as_slice(), "a2a-rust-0.15.0/rust.exchanges.ndjson", false),
    ] {
        let (facts, taped) = (facts(files), taped_deliveries(tape));
        assert_eq!(deliveries(&facts, "server"), taped, "{tape}");
        let observers = if receivers { 2 } else { 1 };
        assert_eq!(facts.push_deliveries.len(), taped.len() * observers, "{tape}");
        if receivers {
            assert_eq!(deliveries(&facts, "receiver"), taped, "{tape}");
        }
        for row in &facts.push_deliveries {
            assert_eq!(row.own.failure_class, if row.own.http_status == Some(401) { "auth" } else { "" });
        }
    }
}

/// Numbers of deliveries by status, counted with Python in the tapes; for `oldsemconv`, which has none, in the spans.
#[test]
fn traces_alone_show_the_storms() {
    for (files, ok, refused) in [
        (&JSONRPC[..2], 15, 15),
        (&REST[..2], 15, 15),
        (&GRPC[..1], 11, 9),
        (&V03[..2], 10, 20),
        (&V02[..1], 1, 1),
        (&RUST[..1], 6, 8),
        // Generic instrumentation alone: the a2a-js SDK has no spans.
        (&["a2a-js-1.3.0/js.traces.otlp.jsonl"][..], 0, 12),
        (&["a2a-python-1.3.0/oldsemconv.traces.otlp.jsonl"][..], 0, 18),
        (&["a2a-python-1.3.0/headers.traces.otlp.jsonl"][..], 0, 9),
    ] {
        let facts = facts(files);
        let sent = |status| {
            let rows = facts.push_deliveries.iter().filter(|row| row.common.observer == "server");
            rows.filter(|row| row.own.http_status == Some(status)).count()
        };
        assert_eq!((sent(204), sent(401)), (ok, refused), "{files:?}");
    }
}

/// By task, counted with Python in the bodies of the tape.
#[test]
fn logs_alone_show_the_storms_with_tasks() {
    let facts = facts(&JSONRPC[2..]);
    let mut by_task: BTreeMap<(&str, i64), usize> = BTreeMap::new();
    for row in &facts.push_deliveries {
        *by_task.entry((&row.own.task_id[..8], row.own.http_status.unwrap())).or_default() += 1;
    }
    let expected = [
        (("00e9741e", 401), 9),
        (("33e8cf83", 204), 4),
        (("5d192956", 401), 6),
        (("736de855", 204), 5),
        (("ab2042d7", 204), 2),
        (("d43fc5ef", 204), 4),
    ];
    assert_eq!(by_task, BTreeMap::from(expected));
    assert!(facts.push_deliveries.iter().all(|row| row.own.url == "http://127.0.0.1:41002/hooks/a2a"));
}

#[test]
fn a_receivers_log_names_the_key_that_it_did_not_know() {
    let facts = facts(&JSONRPC);
    let rejected: Vec<_> = facts.push_deliveries.iter().filter(|row| row.own.signature == "invalid").collect();
    assert_eq!(rejected.len(), 6);
    assert!(rejected.iter().all(|row| row.own.kid == "key-2" && row.common.observer == "receiver"));
    assert!(rejected.iter().all(|row| row.own.task_id.starts_with("5d192956")));
}

#[test]
fn a_clients_verdict_in_a_log_is_its_own() {
    for (files, task) in [(JSONRPC[2], "33e8cf83"), (REST[2], "05f86ddb"), (GRPC[1], "44e53357")] {
        let facts = facts(&[files]);
        let local: Vec<_> = facts.task_events.iter().filter(|row| row.own.origin == "local").collect();
        let [row] = local.as_slice() else { panic!("{local:?}") };
        assert!(row.own.task_id.starts_with(task));
        assert_eq!((row.common.observer.as_str(), row.common.client_ref.as_str()), ("client", "orchestrator"));
        assert_eq!((row.own.state.as_str(), row.common.agent_ref.as_str()), ("failed", ""));
    }
}

/// Skills and times read with Python's `ast.literal_eval` from the resolver's lines.
#[test]
fn the_resolvers_log_holds_the_cards() {
    let facts = facts(&JSONRPC[2..]);
    let mut looks: Vec<_> = facts.cards.iter().filter(|row| !row.own.body_sha256.is_empty()).collect();
    looks.sort_by_key(|row| row.common.observed_at);
    let skills: Vec<(i64, Vec<&str>)> = looks
        .iter()
        .map(|look| {
            let of_body = facts.card_skills.iter().filter(|skill| skill.own.body_sha256 == look.own.body_sha256);
            (look.common.observed_at.0, of_body.map(|skill| skill.own.skill_id.as_str()).collect())
        })
        .collect();
    let expected = [
        (1_796_019_334_822_633_984, vec!["summarize-v2"]),
        (1_796_019_339_385_389_568, vec!["translate-v1"]),
        (1_796_019_342_825_682_176, vec!["summarize-v2"]),
        (1_796_019_343_554_778_880, vec!["summarize-v2"]),
    ];
    assert_eq!(skills, expected);
    assert!(looks.iter().all(|look| look.own.version == "1.0.0" && look.common.client_ref == "orchestrator"));
}

/// A 304 is only in the HTTP client's log: the resolver does not ask conditionally.
#[test]
fn looks_that_no_resolver_logged_come_from_the_http_clients_log() {
    let facts = facts(&JSONRPC[2..]);
    let mut statuses: Vec<_> = facts.cards.iter().filter_map(|row| row.own.http_status).collect();
    statuses.sort_unstable();
    // Nine GETs: seven of the card, of which the resolver logged four, and two of the keys.
    assert_eq!(statuses, [200, 200, 304]);
}

#[test]
fn every_call_is_one_row_for_each_observer() {
    // POSTs to the agent on the tape: 63 in the JSON-RPC run; in the gRPC run 52 spans `lf.a2a.v1.A2AService/*` a side.
    for (files, calls) in [(JSONRPC.as_slice(), 63), (GRPC.as_slice(), 52)] {
        let facts = facts(files);
        for observer in ["client", "server"] {
            let rows = facts.exchanges.iter().filter(|row| row.common.observer == observer);
            let ids: BTreeSet<&str> = rows.clone().map(|row| row.common.call_id.as_str()).collect();
            assert_eq!((rows.count(), ids.len()), (calls, calls), "{observer}");
        }
    }
    for files in [REST.as_slice(), V03.as_slice(), V02.as_slice()] {
        let facts = facts(files);
        let ids = |observer: &str| -> Vec<&str> {
            let rows = facts.exchanges.iter().filter(|row| row.common.observer == observer);
            let mut ids: Vec<&str> = rows.map(|row| row.common.call_id.as_str()).collect();
            ids.sort_unstable();
            ids
        };
        assert_eq!(ids("client"), ids("server"));
        let distinct: BTreeSet<&str> = ids("client").into_iter().collect();
        assert_eq!(distinct.len(), ids("client").len());
    }
}

#[test]
fn both_sides_of_a_call_name_the_agent_by_where_it_was_reached() {
    let facts = facts(&JSONRPC);
    let agents: BTreeSet<&str> = facts.exchanges.iter().map(|row| row.common.agent_ref.as_str()).collect();
    assert_eq!(agents, BTreeSet::from(["http://127.0.0.1:41001/a2a"]));
    let senders: BTreeSet<&str> = facts.push_deliveries.iter().map(|row| row.common.agent_ref.as_str()).collect();
    assert_eq!(senders, BTreeSet::from(["http://127.0.0.1:41001/a2a"]));
}

#[test]
fn paths_of_rest_calls_give_operation_and_task() {
    let facts = facts(&REST[..2]);
    let cancelled: Vec<_> = facts
        .exchanges
        .iter()
        .filter(|row| row.own.operation == "CancelTask" && row.common.observer == "client")
        .map(|row| (&row.own.request_task_id[..8], row.own.http_status, row.own.outcome.as_str()))
        .collect();
    // curl's view of the same paths: s05b, s05d, s11 unknown, s11 terminal.
    assert_eq!(
        cancelled,
        [
            ("e8b3d1fd", Some(200), "ok"),
            ("e8b3d1fd", Some(400), "invalid"),
            ("no-such-", Some(404), "not-found"),
            ("99338e1a", Some(400), "invalid"),
        ]
    );
    assert!(facts.exchanges.iter().all(|row| row.common.agent_ref == "http://127.0.0.1:43001/rest"));
}

#[test]
fn an_error_text_names_the_task_that_had_ended() {
    let facts = facts(&JSONRPC[..2]);
    let refused: BTreeSet<_> = facts
        .exchanges
        .iter()
        .filter(|row| row.own.error_text_class == "terminal-task")
        .map(|row| (row.own.request_task_id.as_str(), row.own.error_reason.as_str(), row.own.outcome.as_str()))
        .collect();
    let task = "30edcf55-817e-4ccb-bd01-39b838e75625";
    assert_eq!(refused, BTreeSet::from([(task, "UNSUPPORTED_OPERATION", "invalid")]));
}

#[test]
fn sdk_spans_alone_count_the_calls() {
    let facts = facts(&["a2a-python-1.3.0/sdkonly.traces.otlp.jsonl"]);
    let rows = |observer: &str| facts.exchanges.iter().filter(|row| row.common.observer == observer).count();
    // 37 spans JsonRpcDispatcher.handle_requests; 16 + 4 + 4 + 2 + 2 spans of the client's five methods.
    assert_eq!((rows("server"), rows("client")), (37, 28));
}

/// Final states by the steps file: what the driver saw, or the store held later.
#[test]
fn states_of_draft_attributes_are_those_of_the_steps() {
    let facts = facts(&RUST);
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for row in &facts.task_events {
        last.insert(&row.own.task_id[..8], &row.own.state);
    }
    for (task, state) in [
        ("2b5e5327", "completed"),
        ("628995f4", "rejected"),
        ("adf8e4cf", "completed"),
        ("49251ccb", "canceled"),
        ("626e1bed", "failed"),
        ("d8646200", "failed"),
        ("81730a08", "failed"),
        ("910b0e01", "failed"),
        ("5175bac9", "completed"),
        ("7cc442ad", "completed"),
        ("b2386466", "completed"),
    ] {
        assert_eq!(last.get(task), Some(&state), "{task}");
    }
}

/// The executor of a canceled task ran on to its end; the store kept `canceled` (the server's log says so).
#[test]
fn an_executor_that_the_store_overruled_ends_no_task() {
    let facts = facts(&RUST[..1]);
    let states: Vec<&str> = facts
        .task_events
        .iter()
        .filter(|row| row.own.task_id.starts_with("49251ccb"))
        .map(|row| row.own.state.as_str())
        .collect();
    assert!(states.contains(&"canceled") && !states.contains(&"completed"), "{states:?}");
}

/// 61 spans a side, of which 37 have a task's state (counted with Python).
#[test]
fn draft_and_kong_attributes_give_one_row_a_call_and_their_states() {
    for (file, observers) in [
        ("synthetic-conventions/draft-semconv-195.traces.otlp.jsonl", &["client", "server"][..]),
        ("synthetic-conventions/kong-a2a.traces.otlp.jsonl", &["gateway"][..]),
    ] {
        let facts = facts(&[file]);
        for observer in observers {
            let rows = facts.exchanges.iter().filter(|row| row.common.observer == *observer);
            let ids: BTreeSet<&str> = rows.clone().map(|row| row.common.call_id.as_str()).collect();
            assert_eq!((rows.count(), ids.len()), (61, 61), "{file} {observer}");
            assert_eq!(facts.task_events.iter().filter(|row| row.common.observer == *observer).count(), 37, "{file}");
        }
        // The steps: s08's task, s02g's rejected one, s06's auth-required one.
        let states: BTreeSet<&str> = facts.task_events.iter().map(|row| row.own.state.as_str()).collect();
        assert_eq!(
            states,
            BTreeSet::from([
                "auth-required",
                "canceled",
                "completed",
                "failed",
                "input-required",
                "rejected",
                "submitted",
                "working"
            ])
        );
    }
}

#[test]
fn neither_order_nor_repetition_changes_the_facts() {
    let identities = |facts: &Facts| -> BTreeSet<String> {
        let (a, b) = (facts.exchanges.iter().map(Table::fact_id), facts.push_deliveries.iter().map(Table::fact_id));
        let (c, d) = (facts.task_events.iter().map(Table::fact_id), facts.cards.iter().map(Table::fact_id));
        a.chain(b).chain(c).chain(d).map(str::to_owned).collect()
    };
    for files in [JSONRPC.as_slice(), V03.as_slice(), RUST.as_slice()] {
        let once = records(files);
        let mut mixed: Vec<Record> = once.iter().rev().cloned().collect();
        mixed.extend(once.iter().take(100).cloned());
        let (plain, other) = (facts_with(&once, Facts::default()), facts_with(&mixed, Facts::default()));
        assert_eq!(identities(&plain), identities(&other));
        assert_eq!(plain.len(), other.len());
    }
}

#[test]
fn no_text_and_no_secret_stays() {
    for files in [JSONRPC.as_slice(), REST.as_slice(), V03.as_slice(), RUST.as_slice()] {
        let text = format!("{:?}", facts(files));
        for secret in ["model backend", "example-credential", "tok-example", "no longer advertised", "Traceback"] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}

fn origin(line: u64) -> Origin {
    Origin { source: "test".into(), position: Position::Line(line) }
}

fn attributes(pairs: Value) -> Attributes {
    Attributes(pairs.as_object().unwrap().iter().map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn span(ids: (&str, &str), kind: SpanKind, service: &str, scope: &str, name: &str, pairs: Value) -> Span {
    let at = 1_796_019_334_000_000_000;
    Span {
        origin: origin(1),
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
        span_id: ids.0.to_owned(),
        parent_span_id: ids.1.to_owned(),
        name: name.to_owned(),
        kind,
        started_at: Some(Instant(at)),
        ended_at: Some(Instant(at + 5_000_000)),
        is_error: false,
        status_message: String::new(),
        scope: scope.to_owned(),
        attributes: attributes(pairs),
        resource: Arc::new(attributes(json!({ "service.name": service }))),
        events: Vec::new(),
    }
}

fn log(event: &str, service: &str, body: Value, pairs: Value) -> LogRecord {
    LogRecord {
        origin: origin(1),
        at: Some(Instant(1_796_019_334_000_000_000)),
        event_name: event.to_owned(),
        severity: String::new(),
        body,
        scope: String::new(),
        attributes: attributes(pairs),
        resource: Arc::new(attributes(json!({ "service.name": service }))),
        trace_id: String::new(),
        span_id: String::new(),
    }
}

fn spans(spans: Vec<Span>) -> Facts {
    let records: Vec<Record> = spans.into_iter().map(|span| Record::Span(Box::new(span))).collect();
    facts_with(&records, Facts::default())
}

fn logs(logs: Vec<LogRecord>) -> Facts {
    let records: Vec<Record> = logs.into_iter().map(|log| Record::Log(Box::new(log))).collect();
    facts_with(&records, Facts::default())
}

#[test]
fn an_agents_calls_of_models_are_no_deliveries() {
    let handler = "a2a.server.request_handlers.default_request_handler_v2.DefaultRequestHandlerV2.on_message_send";
    let post = |id: &str, url: &str, status: i64| {
        let pairs = json!({"http.request.method": "POST", "url.full": url, "http.response.status_code": status});
        span((id, "b1"), SpanKind::Client, "agent", "opentelemetry.instrumentation.httpx", "POST", pairs)
    };
    let facts = spans(vec![
        span(("b1", ""), SpanKind::Server, "agent", "a2a-python-sdk", handler, json!({})),
        post("c1", "https://llm.example/v1/chat/completions", 401),
        post("c2", "https://tools.example/mcp", 200),
        post("c3", "https://ops.example/hooks/a2a?token=s3cr3t", 401),
    ]);
    let [row] = facts.push_deliveries.as_slice() else { panic!("{:?}", facts.push_deliveries) };
    assert_eq!((row.own.url.as_str(), row.own.failure_class.as_str()), ("https://ops.example/hooks/a2a", "auth"));
}

#[test]
fn an_sdk_span_and_the_requests_below_it_are_one_call_for_the_last_of_them() {
    let http = |id: &str, status: i64, late: i64| {
        let pairs = json!({"http.request.method": "POST", "url.full": "http://agent:1/a2a", "http.response.status_code": status});
        let mut span = span((id, "a1"), SpanKind::Client, "caller", "httpx", "POST", pairs);
        span.started_at = span.started_at.map(|at| Instant(at.0 + late));
        span
    };
    let said = json!({"a2a.method.name": "SendMessage", "a2a.task.id": "t-1", "a2a.task.state": "TASK_STATE_WORKING"});
    let facts = spans(vec![
        span(("a1", ""), SpanKind::Client, "caller", "a2a-draft", "SendMessage", said),
        http("b1", 503, 1_000),
        http("b2", 200, 2_000),
    ]);
    let rows: Vec<_> = facts
        .exchanges
        .iter()
        .map(|row| (row.common.call_id.as_str(), row.own.task_id.as_str(), row.own.outcome.as_str()))
        .collect();
    // The first attempt is A2A only by what stands around it, and is not told of otherwise.
    assert_eq!(rows.iter().filter(|row| row.1 == "t-1").collect::<Vec<_>>(), [&("span:b2", "t-1", "ok")]);
    assert_eq!(facts.task_events.len(), 1);
    assert_eq!(facts.task_events[0].common.call_id, "span:b2");
}

#[test]
fn exceptions_tell_reasons_and_their_texts_are_classified() {
    let mut failed = span(
        ("b1", ""),
        SpanKind::Client,
        "caller",
        "a2a-python-sdk",
        "a2a.client.transports.rest.RestTransport.get_task",
        json!({}),
    );
    failed.is_error = true;
    failed.events = vec![SpanEvent {
        at: None,
        name: "exception".to_owned(),
        attributes: attributes(
            json!({"exception.type": "a2a.utils.errors.TaskNotFoundError", "exception.message": "Task t-7 not found"}),
        ),
    }];
    let facts = spans(vec![failed]);
    let own = &facts.exchanges[0].own;
    assert_eq!((own.operation.as_str(), own.binding.as_str()), ("GetTask", "http+json"));
    assert_eq!((own.error_reason.as_str(), own.error_text_class.as_str()), ("TASK_NOT_FOUND", "not-found"));
    assert_eq!((own.request_task_id.as_str(), own.outcome.as_str()), ("t-7", "not-found"));
}

#[test]
fn a_gateways_access_log_is_a_call_that_ended_when_it_was_written() {
    let body = json!({
        "time": "2026-11-30T06:15:34Z", "scope": "request", "gateway": "default/gw", "route": "r", "a2a.method": "message/send",
        "a2a.response.outcome": "error", "a2a.response.error_code": -32001, "a2a.context.id": "c-1", "http.method": "POST",
        "http.host": "agents.example", "http.path": "/summary", "http.status": 200, "duration": "250ms", "jwt.sub": "alice",
    });
    let facts = logs(vec![log("", "", body, json!({}))]);
    let [row] = facts.exchanges.as_slice() else { panic!("{:?}", facts.exchanges) };
    assert_eq!(row.common.observed_at, Instant(1_796_019_333_750_000_000));
    assert_eq!(row.own.ended_at, Some(Instant(1_796_019_334_000_000_000)));
    assert_eq!((row.common.observer.as_str(), row.own.operation.as_str()), ("gateway", "SendMessage"));
    assert_eq!((row.own.error_code, row.own.outcome.as_str()), (Some(-32001), "not-found"));
    assert_eq!((row.own.context_id.as_str(), row.common.agent_ref.as_str()), ("c-1", "//agents.example/summary"));
    // printf alice | sha256sum | cut -c1-32
    assert_eq!(row.common.principal, "2bd806c97f0e00af1a1fc3328fa763a9");
}

#[test]
fn a_call_that_ended_at_the_beginning_of_time_did_not_begin_before_it() {
    let body = json!({
        "scope": "request", "gateway": "default/gw", "route": "r",
        "a2a.method": "message/send", "a2a.response.outcome": "error", "a2a.response.error_code": -32001,
        "a2a.context.id": "c-1", "http.method": "POST", "http.host": "agents.example", "http.path": "/summary",
        "http.status": 200, "duration": "250ms",
    });
    let facts = logs(vec![LogRecord { at: Some(Instant(5_000_000)), ..log("", "", body, json!({})) }]);
    let [row] = facts.exchanges.as_slice() else { panic!("{:?}", facts.exchanges) };
    assert_eq!(row.common.observed_at, Instant(5_000_000));
}

#[test]
fn a_size_below_nothing_is_none() {
    let size = |size: i64| {
        let body = json!({"type": "a2a_artifact_received", "task_id": "t-1", "artifact_id": "a-1", "size_bytes": size});
        let facts = logs(vec![log("", "crew", body, json!({}))]);
        let [part] = facts.artifact_parts.as_slice() else { panic!("{:?}", facts.artifact_parts) };
        part.own.size
    };
    assert_eq!((size(9), size(0), size(i64::MIN)), (Some(9), Some(0), None));
}

#[test]
fn every_call_in_a_record_of_kong_is_a_row() {
    let call = |task: &str, state: &str| json!({"method": "SendMessage", "binding": "jsonrpc", "latency": 12, "task_id": task, "task_state": state, "context_id": "c"});
    let body =
        json!({"ai": {"a2a": {"rpc": [call("t-1", "completed"), call("t-2", "working")]}}, "service": {"name": "s"}});
    let facts = logs(vec![log("", "kong", body, json!({}))]);
    let states: Vec<_> =
        facts.task_events.iter().map(|row| (row.own.task_id.as_str(), row.own.state.as_str())).collect();
    assert_eq!(states.iter().collect::<BTreeSet<_>>(), BTreeSet::from([&("t-1", "completed"), &("t-2", "working")]));
    assert_eq!(facts.exchanges.len(), 2);
}

/// Lines of js.console.cri.log, without their frame.
#[test]
fn console_lines_of_the_js_sdk_are_deliveries() {
    let task = "c98bc5c8-48f6-4321-b839-3400d03e007b";
    let sent = format!("Push notification sent for task_id={task} to URL: http://127.0.0.1:51002/hooks/a2a");
    let failed = format!(
        "Error sending push notification for task_id={task} to URL: http://127.0.0.1:51002/hooks/a2a. Error: Error: HTTP 401: Unauthorized"
    );
    let facts = logs(vec![log("", "", json!(sent), json!({})), log("", "", json!(failed), json!({}))]);
    let rows: BTreeSet<_> = facts
        .push_deliveries
        .iter()
        .map(|row| {
            (row.own.task_id.as_str(), row.own.url.as_str(), row.own.http_status, row.own.failure_class.as_str())
        })
        .collect();
    let url = "http://127.0.0.1:51002/hooks/a2a";
    assert_eq!(rows, BTreeSet::from([(task, url, None, ""), (task, url, Some(401), "auth")]));
}

/// 27 send, 3 get, 4 cancel and 2 resubscribe lines (counted with Python); the spans say it better.
#[test]
fn calls_that_a_log_only_mentions_count_where_nothing_else_tells_of_calls() {
    let alone = facts(&RUST[1..]);
    assert_eq!(alone.exchanges.len(), 36);
    let task = "49251ccb-9321-4996-bacf-dd0dc2f183f4";
    assert!(alone.exchanges.iter().any(|row| row.own.operation == "CancelTask" && row.own.request_task_id == task));
    assert_eq!(facts(&RUST).exchanges.len(), facts(&RUST[..1]).exchanges.len());
}

#[test]
fn own_events_become_facts() {
    let state = json!({
        "a2a.task.id": "t-1", "a2a.task.state": "canceled", "a2a.context.id": "c-1", "a2a.local": true, "a2a.skill.id": "s",
        "a2a.reason": "unknown skill s", "a2a.task.artifact_ids": ["a", "b"], "gen_ai.agent.name": "Summary Agent",
    });
    let pruned = json!({"a2a.task.id": "t-1", "a2a.artifact.id": "b"});
    let policy = json!({"a2a.skill.id": "s", "a2a.change": "Gated", "url.full": "http://agent:1/a2a?x=1"});
    let push = json!({
        "a2a.task.id": "t-1", "url.full": "http://hook:1/h", "http.response.status_code": 403, "a2a.push.scheme": "Bearer",
        "a2a.push.kid": "k-1", "a2a.push.signature": "invalid",
    });
    let facts = logs(vec![
        log("a2a.task.state", "caller", Value::Null, state),
        log("a2a.artifact.pruned", "agent", Value::Null, pruned),
        log("a2a.policy.changed", "agent", Value::Null, policy),
        log("a2a.push.delivery", "agent", Value::Null, push),
    ]);
    let [event] = facts.task_events.as_slice() else { panic!() };
    assert_eq!((event.own.origin.as_str(), event.common.observer.as_str()), ("local", "client"));
    assert_eq!((event.own.reason_class.as_str(), event.own.artifact_count), ("unknown-skill", Some(2)));
    assert_eq!((event.common.client_ref.as_str(), event.common.agent_ref.as_str()), ("caller", "name:Summary Agent"));
    let artifacts: BTreeSet<_> =
        facts.artifact_parts.iter().map(|row| (row.own.artifact_id.as_str(), row.own.action.as_str())).collect();
    assert_eq!(artifacts, BTreeSet::from([("a", "received"), ("b", "received"), ("b", "pruned")]));
    let [change] = facts.policy_changes.as_slice() else { panic!() };
    assert_eq!((change.own.change.as_str(), change.common.agent_ref.as_str()), ("gated", "http://agent:1/a2a"));
    let [sent] = facts.push_deliveries.as_slice() else { panic!() };
    assert_eq!((sent.own.failure_class.as_str(), sent.own.scheme.as_str()), ("auth", "bearer"));
    assert_eq!((sent.own.kid.as_str(), sent.own.signature.as_str()), ("k-1", "invalid"));
    assert_eq!(sent.common.agent_ref, "service:agent");
}

#[test]
fn bodies_in_attributes_are_an_exchange() {
    let (aliases, patterns) = (Aliases::embedded(), Patterns::embedded());
    let context = Context { aliases: &aliases, patterns: &patterns };
    let with = |request: Value| {
        let pairs = json!({
            "http.request.method": "POST", "url.full": "http://agent:1/a2a", "http.response.status_code": 200,
            "http.request.body": request, "http.response.body": "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
        });
        span(("b1", "a1"), SpanKind::Client, "caller", "proxy", "POST", pairs)
    };
    let call = with(json!("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"message/send\",\"params\":{}}"));
    let taped = Telemetry::default().span(&call, &context).unwrap();
    assert_eq!((taped.url.as_str(), taped.span_id.as_str(), taped.status), ("http://agent:1/a2a", "b1", Some(200)));
    for other in [json!("Message[id=1]"), json!({"model": "m", "messages": []})] {
        assert!(Telemetry::default().span(&with(other), &context).is_none());
    }
}

#[test]
fn hostile_records_neither_panic_nor_hang() {
    let mut deep = json!("x");
    for _ in 0..100 {
        deep = json!({ "a": deep });
    }
    let long = "Push-notification sent for task_id=".to_owned() + &"x".repeat(100_000);
    let mut records: Vec<LogRecord> = vec![
        log(
            "a2a.task.state",
            "s",
            deep.clone(),
            json!({"a2a.task.id": deep, "a2a.task.state": [null], "a2a.local": "maybe"}),
        ),
        log("", "s", json!({"ai": {"a2a": {"rpc": vec![json!(null); 10_000]}}}), json!({})),
        log("", "s", json!(long), json!({})),
    ];
    records[2].scope = "a2a.server.tasks".to_owned();
    logs(records);
    // One trace of many spans without their parents, and a circle of parents.
    let mut many: Vec<Span> = (0..20_000)
        .map(|i| {
            let pairs = json!({"http.request.method": "POST", "url.full": "http://h:1/hooks", "server.port": -1, "http.response.status_code": "NaN"});
            let kind = if i % 2 == 0 { SpanKind::Client } else { SpanKind::Server };
            let scope = if i % 3 == 0 { "a2a-python-sdk" } else { "httpx" };
            span((&format!("{i:016x}"), &format!("{:016x}", (i + 1) % 20_000)), kind, "s", scope, "on_message_send", pairs)
        })
        .collect();
    many[7].started_at = Some(Instant(i64::MIN));
    many[8].ended_at = Some(Instant(i64::MAX));
    spans(many);
}
