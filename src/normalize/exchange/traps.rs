//! Cases that traffic in the field holds and the captures do not, one by one.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Understood, facts};
use crate::decode::record::{Body, Chunk, Exchange, Headers, Observer, Origin, Position, Record};
use crate::instant::Instant;
use crate::normalize::patterns::Patterns;
use crate::normalize::{Normalized, Normalizer, NormalizerSettings};
use crate::tables::{ExchangeColumns, Facts};

const URL: &str = "http://agent.example/a2a";

fn exchange(method: &str, url: &str, request: Body, status: Option<u16>, response: Body) -> Exchange {
    let source: Arc<str> = "trap".into();
    Exchange {
        origin: Origin { source, position: Position::Line(1) },
        started_at: Some(Instant(1_000)),
        ended_at: Some(Instant(9_000)),
        leg: String::new(),
        client: "10.0.0.7:5".to_owned(),
        server: "10.0.0.1:80".to_owned(),
        observer: None,
        observer_name: String::new(),
        agent: String::new(),
        trace_id: String::new(),
        span_id: String::new(),
        method: method.to_owned(),
        url: url.to_owned(),
        request_headers: Headers::default(),
        request_body: request,
        status,
        response_headers: Headers::default(),
        response_body: response,
        chunks: Vec::new(),
        client_disconnected: false,
        truncated: false,
        line_keys: Vec::new(),
    }
}

fn rpc(request: Value, response: Value) -> Exchange {
    exchange("POST", URL, Body::Json(request), Some(200), Body::Json(response))
}

fn stream(text: &str) -> Exchange {
    let request =
        json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": {"message": {"parts": []}}});
    let mut exchange = exchange("POST", URL, Body::Json(request), Some(200), Body::Text(text.to_owned()));
    exchange.response_headers = Headers(vec![("content-type".to_owned(), "text/event-stream".to_owned())]);
    exchange
}

fn event(state: &str) -> String {
    format!(
        "data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"statusUpdate\":{{\"taskId\":\"t\",\"contextId\":\"c\",\"status\":{{\"state\":\"{state}\"}}}}}}}}\n\n"
    )
}

fn seen(exchange: &Exchange) -> (Facts, Understood) {
    let mut found = Facts::default();
    let done = facts(exchange, &Patterns::embedded(), &mut found);
    (found, done)
}

fn call(exchange: &Exchange) -> ExchangeColumns {
    let (mut found, done) = seen(exchange);
    assert!(matches!(done, Understood::A2a { .. }), "{done:?}");
    assert_eq!(found.exchanges.len(), 1);
    found.exchanges.remove(0).own
}

fn send() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}}})
}

#[test]
fn a_reply_in_an_unknown_wrapper_is_read_and_counted() {
    let reply = json!({"jsonrpc": "2.0", "id": 1, "result": {"Task": {"id": "t", "contextId": "c", "status": {"state": "completed"}}}});
    let (found, done) = seen(&rpc(send(), reply));
    assert!(matches!(done, Understood::A2a { unknown_wrapper: true }));
    assert_eq!(
        (found.exchanges[0].own.reply_kind.as_str(), found.task_events[0].own.state.as_str()),
        ("task", "completed")
    );
}

#[test]
fn a_message_without_a_task_is_a_reply() {
    for result in [
        json!({"message": {"messageId": "r", "contextId": "c", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}}),
        json!({"kind": "message", "messageId": "r", "contextId": "c", "role": "agent", "parts": [{"kind": "text", "text": "x"}]}),
    ] {
        let own = call(&rpc(send(), json!({"jsonrpc": "2.0", "id": 1, "result": result})));
        assert_eq!((own.reply_kind.as_str(), own.context_id.as_str(), own.task_id.as_str()), ("message", "c", ""));
        assert_eq!(own.outcome, "ok");
    }
}

#[test]
fn a_stream_call_answered_by_a_plain_error_is_an_error_and_no_stream() {
    let mut refused = stream("");
    refused.response_headers = Headers(vec![("content-type".to_owned(), "application/json".to_owned())]);
    refused.response_body =
        Body::Json(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "Task not found"}}));
    let own = call(&refused);
    assert_eq!((own.streaming, own.stream_end.as_str(), own.outcome.as_str()), (Some(false), "", "not-found"));
    assert_eq!((own.error_reason.as_str(), own.error_text_class.as_str()), ("TASK_NOT_FOUND", "not-found"));
}

#[test]
fn a_refusal_under_the_type_of_a_stream_is_no_stream() {
    let mut refused = stream("");
    refused.status = Some(401);
    let own = call(&refused);
    assert_eq!((own.streaming, own.outcome.as_str(), own.reply_kind.as_str()), (Some(false), "auth", "error"));
}

#[test]
fn a_stream_says_how_it_ended() {
    let working = event("TASK_STATE_WORKING");
    let message = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"message\":{\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"x\"}]}}}\n\n";
    for (text, left, cut, end) in [
        (format!("{working}{}", event("TASK_STATE_COMPLETED")), false, false, "terminal"),
        (format!("{working}{}", event("TASK_STATE_COMPLETED")), true, false, "terminal"),
        (format!("{working}{}", event("TASK_STATE_INPUT_REQUIRED")), false, false, "interrupted"),
        (message.to_owned(), false, false, "message"),
        (message.to_owned(), true, false, "message"),
        (working.clone(), false, false, "cut"),
        (working.clone(), true, false, "client-closed"),
        (working.clone(), false, true, ""),
        (String::new(), false, false, "cut"),
    ] {
        let mut exchange = stream(&text);
        exchange.client_disconnected = left;
        exchange.truncated = cut;
        let own = call(&exchange);
        assert_eq!((own.stream_end.as_str(), own.client_left), (end, Some(left)), "{text}");
    }
}

#[test]
fn a_cut_stream_gives_its_complete_events() {
    let whole = format!("{}{}", event("TASK_STATE_WORKING"), event("TASK_STATE_COMPLETED"));
    let mut exchange = stream(&whole[..whole.len() - 20]);
    exchange.truncated = true;
    assert_eq!(call(&exchange).stream_events, Some(1));
    // A recorder that trims white space has cut nothing.
    assert_eq!(call(&stream(whole.trim_end())).stream_events, Some(2));
}

#[test]
fn pieces_stand_in_for_a_body_that_was_not_kept_and_split_events_anywhere() {
    let whole = format!("{}{}", event("TASK_STATE_WORKING"), event("TASK_STATE_COMPLETED"));
    let mut exchange = stream("");
    exchange.response_body = Body::Absent;
    let (head, tail) = whole.split_at(30);
    exchange.chunks = vec![
        Chunk { at: Some(Instant(2_000)), text: head.to_owned() },
        Chunk { at: Some(Instant(3_000)), text: tail.to_owned() },
    ];
    let (found, _) = seen(&exchange);
    let times: Vec<_> = found.task_events.iter().map(|row| row.common.observed_at.0).collect();
    assert_eq!(times, [3_000, 3_000]);
}

#[test]
fn a_batch_is_its_calls() {
    let get = |id: u8| json!({"jsonrpc": "2.0", "id": id, "method": "GetTask", "params": {"id": format!("t{id}")}});
    let task = json!({"id": "t2", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let reply = json!([
        {"jsonrpc": "2.0", "id": 2, "result": task},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "Task not found"}},
    ]);
    let (found, _) = seen(&rpc(json!([get(1), get(2)]), reply));
    let rows: Vec<_> = found.exchanges.iter().map(|row| (row.own.task_id.as_str(), row.own.outcome.as_str())).collect();
    assert_eq!(rows, [("t1", "not-found"), ("t2", "ok")]);
}

#[test]
fn silence_gateways_and_limits_are_told_apart() {
    for (status, body, outcome) in [
        (None, Body::Absent, "transport"),
        (Some(503), Body::Text("<html>Service Unavailable</html>".to_owned()), "transport"),
        (Some(404), Body::Text("Not Found".to_owned()), "transport"),
        (Some(500), Body::Text("Internal Server Error".to_owned()), "agent-error"),
        (Some(401), Body::Absent, "auth"),
        (Some(403), Body::Json(json!({"error": "forbidden"})), "auth"),
        (Some(429), Body::Absent, "rate-limited"),
        (Some(200), Body::Absent, "ok"),
        (
            Some(400),
            Body::Json(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "unknown skill"}})),
            "capability",
        ),
    ] {
        let own = call(&exchange("POST", URL, Body::Json(send()), status, body));
        assert_eq!(own.outcome, outcome, "{status:?}");
    }
}

#[test]
fn other_users_of_json_rpc_are_not_a2a() {
    let tool = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}});
    let own_task = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": "t"}});
    let done = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}});
    let chain = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": []});
    assert!(matches!(seen(&rpc(tool, done.clone())).1, Understood::NotA2a));
    assert!(matches!(seen(&rpc(chain.clone(), done.clone())).1, Understood::Unsure(_)));
    assert!(matches!(seen(&rpc(own_task, done.clone())).1, Understood::NotA2a));
    let mut marked = rpc(chain, done);
    marked.request_headers = Headers(vec![("mcp-protocol-version".to_owned(), "2025-11-25".to_owned())]);
    assert!(matches!(seen(&marked).1, Understood::NotA2a));
}

#[test]
fn probes_and_icons_are_not_a2a() {
    for (method, url) in
        [("GET", "http://h/favicon.ico"), ("GET", "http://h/healthz"), ("OPTIONS", URL), ("POST", "http://h/login")]
    {
        let (found, done) = seen(&exchange(method, url, Body::Absent, Some(200), Body::Text("ok".to_owned())));
        assert!(matches!(done, Understood::NotA2a) && found.is_empty(), "{method} {url}");
    }
}

#[test]
fn a_doubtful_call_counts_where_its_address_speaks_a2a() {
    let odd = |url: &str| {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tasks/frobnicate", "params": {}});
        let reply = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}});
        exchange("POST", url, Body::Json(request), Some(200), Body::Json(reply))
    };
    let todo =
        exchange("GET", "http://todo.example/tasks/7", Body::Absent, Some(200), Body::Json(json!({"title": "milk"})));
    let mut normalizer = Normalizer::new(NormalizerSettings::default());
    for exchange in [
        odd(URL),
        odd("http://other.example/rpc"),
        todo,
        rpc(send(), json!({"jsonrpc": "2.0", "id": 1, "result": null})),
    ] {
        normalizer.record(Record::Exchange(Box::new(exchange)));
    }
    let Normalized { facts, counts } = normalizer.finish();
    let raw: Vec<_> = facts.exchanges.iter().map(|row| row.own.operation_raw.as_str()).collect();
    assert_eq!((raw, counts.not_a2a), (vec!["SendMessage", "tasks/frobnicate"], 2));
    assert_eq!((facts.exchanges[1].own.operation.as_str(), facts.exchanges[1].own.outcome.as_str()), ("", "invalid"));
}

#[test]
fn a_task_path_is_a2a_if_the_answer_is() {
    let task = json!({"id": "7", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    let own =
        call(&exchange("GET", "http://h/base/tasks/7?A2A-Version=1.0", Body::Absent, Some(200), Body::Json(task)));
    assert_eq!((own.operation.as_str(), own.task_id.as_str(), own.declared_version.as_str()), ("GetTask", "7", "1.0"));
    let lost = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "x", "details": [{"reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org"}]}});
    let own = call(&exchange("GET", "http://h/base/tasks/7", Body::Absent, Some(404), Body::Json(lost)));
    assert_eq!((own.outcome.as_str(), own.request_task_id.as_str()), ("not-found", "7"));
}

#[test]
fn the_bodies_tell_03_from_10_where_the_path_cannot() {
    let new = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}});
    let old =
        json!({"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "x"}]}, "configuration": {}});
    let (found, _) = seen(&exchange("POST", "http://h/a2a/v1/message:send", Body::Json(new), Some(200), Body::Absent));
    assert_eq!(
        (found.exchanges[0].own.dialect.as_str(), found.exchanges[0].common.agent_ref.as_str()),
        ("1.0", "http://h/a2a/v1")
    );
    let (found, _) = seen(&exchange("POST", "http://h/a2a/v1/message:send", Body::Json(old), Some(200), Body::Absent));
    let row = &found.exchanges[0];
    assert_eq!((row.own.dialect.as_str(), row.common.agent_ref.as_str()), ("0.3", "http://h/a2a"));
    // 0.3's JSON leaves out `blocking: false`.
    assert_eq!(row.own.return_immediately, Some(true));
}

#[test]
fn a_tap_on_grpc_gives_operation_dialect_and_status() {
    let mut refused =
        exchange("POST", "http://h:9/lf.a2a.v1.A2AService/GetTask", Body::Bytes(vec![0, 0]), Some(200), Body::Absent);
    refused.response_headers = Headers(vec![
        ("grpc-status".to_owned(), "5".to_owned()),
        ("grpc-message".to_owned(), "Task%20not%20found".to_owned()),
    ]);
    let (found, _) = seen(&refused);
    let row = &found.exchanges[0];
    assert_eq!(
        (row.own.operation.as_str(), row.own.binding.as_str(), row.own.dialect.as_str()),
        ("GetTask", "grpc", "1.0")
    );
    assert_eq!(
        (row.own.outcome.as_str(), row.own.error_reason.as_str(), row.common.agent_ref.as_str()),
        ("not-found", "NOT_FOUND", "http://h:9/")
    );
    let old = exchange("POST", "http://h:9/a2a.v1.A2AService/TaskSubscription", Body::Absent, Some(200), Body::Absent);
    let own = call(&old);
    assert_eq!((own.operation.as_str(), own.dialect.as_str(), own.outcome.as_str()), ("SubscribeToTask", "0.3", "ok"));
}

#[test]
fn webhook_bodies_are_known_without_a_leg() {
    for (body, payload, state) in [
        (json!({"eventType": "update", "taskId": "t", "status": {"state": "completed"}}), "status", "completed"),
        (json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}), "task", "working"),
        (
            json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}}),
            "status",
            "working",
        ),
        (
            json!({"artifactUpdate": {"taskId": "t", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}}}),
            "artifact",
            "",
        ),
        (json!({"message": {"role": "ROLE_AGENT", "taskId": "t", "parts": [{"text": "x"}]}}), "message", ""),
    ] {
        let (found, _) =
            seen(&exchange("POST", "http://hook.example/in?token=s3cr3t", Body::Json(body), Some(204), Body::Absent));
        let row = &found.push_deliveries[0];
        assert_eq!((row.own.payload.as_str(), row.own.state.as_str(), row.own.task_id.as_str()), (payload, state, "t"));
        assert_eq!(
            (row.own.url.as_str(), row.common.observer.as_str(), row.common.client_ref.as_str()),
            ("http://hook.example/in", "receiver", "10.0.0.1")
        );
        assert!(found.exchanges.is_empty());
    }
    let users = json!({"message": {"role": "user", "parts": [{"text": "x"}]}});
    let other = exchange("POST", "http://hook.example/in", Body::Json(users), Some(204), Body::Absent);
    assert!(matches!(seen(&other).1, Understood::NotA2a));
}

#[test]
fn a_webhook_is_seen_by_its_receiver_unless_the_sender_taped_it() {
    for (given, observer) in [
        (None, "receiver"),
        (Some(Observer::Client), "receiver"),
        (Some(Observer::Server), "server"),
        (Some(Observer::Gateway), "gateway"),
    ] {
        let mut post = exchange("POST", "http://hook.example/in", Body::Absent, Some(204), Body::Absent);
        (post.leg, post.observer) = ("webhook".to_owned(), given);
        assert_eq!(seen(&post).0.push_deliveries[0].common.observer, observer);
    }
}

#[test]
fn failed_deliveries_are_classed() {
    for (status, class) in [
        (Some(204), ""),
        (Some(401), "auth"),
        (Some(403), "auth"),
        (Some(404), "client-error"),
        (Some(500), "server-error"),
        (Some(503), "transport"),
        (None, "transport"),
    ] {
        let mut post = exchange("POST", "http://hook.example/in", Body::Absent, status, Body::Absent);
        post.leg = "webhook".to_owned();
        assert_eq!(seen(&post).0.push_deliveries[0].own.failure_class, class, "{status:?}");
    }
}

#[test]
fn common_columns_name_the_parties_and_hide_the_rest() {
    let mut given = rpc(send(), json!({"jsonrpc": "2.0", "id": 1, "result": null}));
    given.url = "http://me:pw@agent.example:8080/a2a?key=s3cr3t".to_owned();
    given.observer = Some(Observer::Gateway);
    let row = seen(&given).0.exchanges.remove(0).common;
    assert_eq!(
        (row.agent_ref.as_str(), row.client_ref.as_str(), row.observer.as_str()),
        ("http://agent.example:8080/a2a", "10.0.0.7", "gateway")
    );
    given.agent = "name:Summary Agent".to_owned();
    assert_eq!(seen(&given).0.exchanges.remove(0).common.agent_ref, "name:Summary Agent");
    assert_eq!((row.agent.as_str(), row.client.as_str(), row.call_id.as_str()), ("", "", ""));
}

#[test]
fn one_port_may_speak_two_dialects() {
    let old = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"kind": "message", "parts": [{"kind": "text", "text": "x"}]}}});
    let (a, b) = (
        call(&rpc(old, json!({"jsonrpc": "2.0", "id": 1, "result": null}))),
        call(&rpc(send(), json!({"jsonrpc": "2.0", "id": 1, "result": null}))),
    );
    assert_eq!((a.dialect.as_str(), b.dialect.as_str()), ("0.3", "1.0"));
    assert_eq!((a.operation.as_str(), b.operation.as_str()), ("SendMessage", "SendMessage"));
}

#[test]
fn an_answer_to_a_cut_request_is_still_read() {
    let mut cut = rpc(
        Value::Null,
        json!({"jsonrpc": "2.0", "id": 1, "result": {"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}}),
    );
    cut.request_body = Body::Text("{\"jsonrpc\":\"2.0\",\"method\":\"SendMessage\",\"params\":{\"mess".to_owned());
    cut.truncated = true;
    let own = call(&cut);
    assert_eq!(
        (own.operation.as_str(), own.reply_state.as_str(), own.rpc_id.as_str()),
        ("SendMessage", "completed", "1")
    );
}

#[test]
fn the_extended_card_over_http_is_a_call_and_a_look_whatever_came_back() {
    let card = json!({"name": "A", "url": "http://h", "version": "1", "capabilities": {}, "skills": []});
    for (url, status, body, outcome) in [
        ("http://h/rest/extendedAgentCard", 200, Body::Json(card.clone()), "ok"),
        ("http://h/rest/extendedAgentCard", 304, Body::Absent, "ok"),
        ("http://h/agent/authenticatedExtendedCard", 401, Body::Absent, "auth"),
    ] {
        let (found, _) = seen(&exchange("GET", url, Body::Absent, Some(status), body));
        let own = &found.exchanges[0].own;
        assert_eq!((own.operation.as_str(), own.outcome.as_str()), ("GetExtendedAgentCard", outcome), "{status}");
        let look = &found.cards[0].own;
        assert_eq!(
            (look.http_status, look.extended, look.origin.as_str()),
            (Some(i64::from(status)), Some(true), "call")
        );
    }
    // Anybody may have cards of another kind at this path.
    let payment =
        exchange("GET", "http://bank.example/v1/card", Body::Absent, Some(200), Body::Json(json!({"number": "x"})));
    assert!(matches!(seen(&payment).1, Understood::Unsure(_)));
}
