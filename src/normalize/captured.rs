//! The captures in `tests/captures` through the normaliser, against numbers counted from their bytes.
//!
//! The expected numbers were counted by a Python script of its own that reads the files with `json` and splits event
//! streams with a regular expression: methods and path ends of requests, `status.state` of every task and status event by
//! the kind of exchange that carried it, parts of every artifact by the member present, error codes and HTTP statuses.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::{Normalized, Normalizer, NormalizerSettings};
use crate::decode::record::{Body, Chunk, Exchange, Headers, Origin, Position, Record};
use crate::instant::Instant;
use crate::tables::Facts;

/// Reads one line of exchange NDJSON as the captures have them; the decoders read every other form.
pub(crate) fn exchange_of_line(source: &Arc<str>, line: u64, text: &str) -> Exchange {
    let value: Value = serde_json::from_str(text).unwrap();
    let (request, response) = (&value["request"], &value["response"]);
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let started = Instant(value["start_unix_ns"].as_i64().unwrap());
    let request_headers = headers(&request["headers"]);
    let traceparent: Vec<String> =
        request_headers.get("traceparent").unwrap_or_default().split('-').map(str::to_owned).collect();
    let chunks = value["chunks"].as_array().into_iter().flatten();
    Exchange {
        origin: Origin { source: source.clone(), position: Position::Line(line) },
        started_at: Some(started),
        ended_at: value["time_ms"].as_f64().map(|ms| started.plus_millis(ms)),
        leg: word(&value["leg"]),
        client: word(&value["client"]),
        server: word(&value["server"]),
        observer: None,
        observer_name: String::new(),
        agent: String::new(),
        trace_id: traceparent.get(1).cloned().unwrap_or_default(),
        span_id: traceparent.get(2).cloned().unwrap_or_default(),
        method: word(&request["method"]),
        url: word(&request["url"]),
        request_headers,
        request_body: body(&request["body"]),
        status: response["status"].as_u64().and_then(|status| u16::try_from(status).ok()),
        response_headers: headers(&response["headers"]),
        response_body: body(&response["body"]),
        chunks: chunks
            .map(|chunk| Chunk {
                at: chunk["t_ms"].as_f64().map(|ms| started.plus_millis(ms)),
                text: word(&chunk["text"]),
            })
            .collect(),
        client_disconnected: value["client_disconnected"].as_bool().unwrap_or(false),
        truncated: false,
        line_keys: Vec::new(),
    }
}

fn headers(value: &Value) -> Headers {
    let pairs = value.as_array().into_iter().flatten();
    Headers(
        pairs.map(|pair| (pair[0].as_str().unwrap().to_lowercase(), pair[1].as_str().unwrap().to_owned())).collect(),
    )
}

fn body(value: &Value) -> Body {
    match (value["text"].as_str(), value["base64"].as_str()) {
        (Some(text), _) if !text.is_empty() => Body::Text(text.to_owned()),
        (_, Some(base64)) => Body::Bytes(STANDARD.decode(base64).unwrap()),
        _ => Body::Absent,
    }
}

pub(crate) fn exchanges(run: &str) -> Vec<Exchange> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(format!("{run}.exchanges.ndjson"));
    let text = std::fs::read_to_string(path).unwrap();
    let source: Arc<str> = run.into();
    (1..).zip(text.lines()).map(|(line, text)| exchange_of_line(&source, line, text)).collect()
}

fn normalized(exchanges: impl IntoIterator<Item = Exchange>) -> Normalized {
    let mut normalizer = Normalizer::new(NormalizerSettings::default());
    for exchange in exchanges {
        normalizer.record(Record::Exchange(Box::new(exchange)));
    }
    normalizer.finish()
}

const RUNS: [&str; 8] = [
    "a2a-python-1.3.0/jsonrpc",
    "a2a-python-1.3.0/rest",
    "a2a-python-1.3.0/headers",
    "a2a-python-1.3.0/grpc",
    "a2a-python-0.3.26/v03",
    "a2a-python-0.2.16/v02",
    "a2a-rust-0.15.0/rust",
    "a2a-spec-0.1.0-handmade/v01",
];

fn tally(words: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts.into_iter().map(|(word, count)| format!("{word} {count}")).collect::<Vec<_>>().join(", ")
}

fn states(facts: &Facts) -> String {
    tally(facts.task_events.iter().map(|row| format!("{}:{}", row.own.origin, row.own.state)))
}

fn parts(facts: &Facts) -> String {
    tally(facts.artifact_parts.iter().map(|row| {
        let whole = if row.own.snapshot == Some(true) { "whole" } else { "event" };
        let own = &row.own;
        format!("{}:{whole}:{}:{}:{}", own.origin, own.part_kind, own.media_type, own.media_type_from)
    }))
}

fn operations(facts: &Facts) -> String {
    tally(facts.exchanges.iter().map(|row| row.own.operation.clone()))
}

fn outcomes(facts: &Facts) -> String {
    tally(facts.exchanges.iter().map(|row| row.own.outcome.clone()))
}

fn dialects(facts: &Facts) -> String {
    tally(facts.exchanges.iter().map(|row| row.own.dialect.clone()))
}

fn deliveries(facts: &Facts) -> String {
    tally(facts.push_deliveries.iter().map(|row| format!("{}:{}", row.own.http_status.unwrap(), row.own.payload)))
}

fn skills(facts: &Facts) -> String {
    let asked = facts.exchanges.iter().filter(|row| !row.own.skill_id.is_empty());
    tally(asked.map(|row| row.own.skill_from.clone()))
}

fn replies(facts: &Facts) -> String {
    tally(facts.exchanges.iter().map(|row| row.own.reply_kind.clone()))
}

#[test]
fn python_13_over_json_rpc_gives_what_its_bytes_say() {
    let Normalized { facts, counts } = normalized(exchanges("a2a-python-1.3.0/jsonrpc"));
    // 102 lines: 30 webhook posts, 7 card GETs, 2 JWKS GETs, 63 calls. `SendMessage` 33 and `tasks/send` 1 are one
    // operation; the batch holds a GetTask (9 alone); one method of no version, one unreadable request.
    assert_eq!((counts.exchanges, counts.not_a2a, facts.exchanges.len()), (102, 0, 63));
    assert_eq!(
        operations(&facts),
        " 2, CancelTask 4, CreateTaskPushNotificationConfig 1, DeleteTaskPushNotificationConfig 1, \
         GetExtendedAgentCard 1, GetTask 10, GetTaskPushNotificationConfig 1, ListTaskPushNotificationConfigs 1, \
         ListTasks 1, SendMessage 34, SendStreamingMessage 5, SubscribeToTask 2"
    );
    // Errors: -32001 x6; -32603 x1 and x1 in a stream; -32009 x2 and tasks/send refused -32601; and as invalid -32002 x2,
    // -32004 "in terminal state" x2, -32600 x1, -32601 of tasks/frobnicate x1, -32602 x3, -32700 x1.
    assert_eq!(outcomes(&facts), "agent-error 2, invalid 10, not-found 6, ok 42, version 3");
    assert_eq!(dialects(&facts), " 2, 0.1 1, 1.0 60");
    assert_eq!(replies(&facts), "card 1, empty 1, error 20, events 5, push-config 3, task 32, tasks 1");
    assert_eq!(
        skills(&facts),
        "message.metadata.*.skill 1, message.metadata.skillId 12, params.metadata.skillId 2, params.skillId 2"
    );
    assert_eq!(
        states(&facts),
        "poll:completed 6, poll:rejected 1, poll:working 2, push:completed 6, push:submitted 5, push:working 17, \
         reply:auth-required 1, reply:canceled 1, reply:completed 13, reply:failed 3, reply:input-required 2, \
         reply:rejected 1, reply:submitted 7, stream:canceled 1, stream:completed 2, stream:failed 1, \
         stream:submitted 4, stream:working 3"
    );
    assert_eq!(
        parts(&facts),
        "poll:whole:text:text/markdown:declared 2, push:event:text:text/markdown:declared 1, \
         push:event:text:text/plain:declared 1, reply:whole:data:application/json:declared 1, \
         reply:whole:raw:image/png:declared 1, reply:whole:text::absent 1, reply:whole:text:text/markdown:declared 3, \
         reply:whole:text:text/plain:declared 7, reply:whole:url:application/pdf:declared 1, \
         stream:event:text:text/markdown:declared 3, stream:event:text:text/plain:declared 3"
    );
    assert_eq!(deliveries(&facts), "204:artifact 2, 204:status 10, 204:task 3, 401:status 13, 401:task 2");
    assert_eq!((facts.cards.len(), facts.signing_keys.len() >= 2), (8, true));
    assert!(facts.exchanges.iter().all(|row| row.common.agent_ref == "http://127.0.0.1:41001/a2a"));
    // Six requests and two answers (Get and List of the one created) carry a webhook url; two of the six have no token.
    assert_eq!(facts.exchanges.iter().filter(|row| row.own.push_url == "http://127.0.0.1:41002/hooks/a2a").count(), 8);
    assert_eq!(facts.exchanges.iter().filter(|row| row.own.push_token == Some(false)).count(), 2);
    assert_eq!(facts.exchanges.iter().filter(|row| row.own.push_scheme == "bearer").count(), 7);
}

#[test]
fn python_13_over_http_gives_what_its_bytes_say() {
    let Normalized { facts, counts } = normalized(exchanges("a2a-python-1.3.0/rest"));
    // 98 lines: 30 webhook posts, 7 card GETs, 2 JWKS GETs, 59 others, of which `GET rest/nope` is none of A2A's.
    assert_eq!((counts.exchanges, counts.not_a2a, facts.exchanges.len()), (98, 1, 58));
    assert_eq!(
        operations(&facts),
        "CancelTask 4, CreateTaskPushNotificationConfig 1, DeleteTaskPushNotificationConfig 1, \
         GetExtendedAgentCard 1, GetTask 8, GetTaskPushNotificationConfig 1, ListTaskPushNotificationConfigs 1, \
         ListTasks 1, SendMessage 32, SendStreamingMessage 5, SubscribeToTask 3"
    );
    // 404 with TASK_NOT_FOUND x7; 500 x1 and x1 in a stream; VERSION_NOT_SUPPORTED x2; the other 400s x6.
    assert_eq!(outcomes(&facts), "agent-error 2, invalid 6, not-found 7, ok 41, version 2");
    assert_eq!(dialects(&facts), "1.0 58");
    assert_eq!(
        states(&facts),
        "poll:completed 6, poll:rejected 1, poll:working 2, push:completed 6, push:submitted 5, push:working 17, \
         reply:auth-required 1, reply:canceled 1, reply:completed 12, reply:failed 3, reply:input-required 2, \
         reply:rejected 1, reply:submitted 7, stream:canceled 1, stream:completed 2, stream:failed 1, \
         stream:submitted 4, stream:working 3"
    );
    assert_eq!(facts.artifact_parts.len(), 23);
    assert_eq!(deliveries(&facts), "204:artifact 2, 204:status 10, 204:task 3, 401:status 13, 401:task 2");
    assert!(facts.exchanges.iter().all(|row| row.common.agent_ref == "http://127.0.0.1:43001/rest"));
    assert!(facts.exchanges.iter().all(|row| row.own.error_code.is_none()));
}

#[test]
fn python_03_gives_what_its_bytes_say() {
    let Normalized { facts, counts } = normalized(exchanges("a2a-python-0.3.26/v03"));
    // 94 lines: 30 webhook posts, 7 card GETs, 57 calls (31 JSON-RPC, 25 under rest/v1, 1 old extended card GET).
    assert_eq!((counts.exchanges, counts.not_a2a, facts.exchanges.len()), (94, 0, 57));
    assert_eq!(
        operations(&facts),
        " 2, CancelTask 4, CreateTaskPushNotificationConfig 2, GetExtendedAgentCard 2, GetTask 5, SendMessage 40, \
         SendStreamingMessage 2"
    );
    // -32001 x2, 404 x2; tasks/send and SendMessage refused -32601; -32603, 500; and as invalid -32002, 409, -32602 x2, 422,
    // -32700, tasks/frobnicate.
    assert_eq!(outcomes(&facts), "agent-error 2, invalid 7, not-found 4, ok 42, version 2");
    // Refused tasks/get x2, tasks/cancel, tasks/frobnicate and the unreadable request show no dialect.
    assert_eq!(dialects(&facts), " 5, 0.1 1, 0.3 50, 1.0 1");
    assert_eq!(
        states(&facts),
        "poll:completed 2, push:completed 6, push:submitted 4, push:working 20, reply:auth-required 2, \
         reply:canceled 2, reply:completed 12, reply:failed 6, reply:input-required 2, reply:rejected 2, \
         reply:submitted 4, reply:working 4, stream:completed 2, stream:submitted 2, stream:working 2"
    );
    assert_eq!(
        parts(&facts),
        "poll:whole:text::absent 2, push:whole:text::absent 8, reply:whole:data:application/json:inferred 2, \
         reply:whole:raw:image/png:declared 2, reply:whole:text::absent 8, reply:whole:url:application/pdf:declared 2, \
         stream:event:text::absent 6"
    );
    assert_eq!(deliveries(&facts), "204:task 10, 401:task 20");
    assert_eq!(skills(&facts), "message.metadata.skillId 14, params.metadata.skillId 2");
    assert_eq!(facts.exchanges.iter().filter(|row| row.own.push_scheme == "bearer").count(), 6);
    // The SDK sends the token and never the credentials.
    assert!(facts.push_deliveries.iter().all(|row| row.own.scheme.is_empty() && row.own.token_present == Some(true)));
}

#[test]
fn python_02_gives_what_its_bytes_say() {
    let Normalized { facts, counts } = normalized(exchanges("a2a-python-0.2.16/v02"));
    assert_eq!((counts.exchanges, counts.not_a2a, facts.exchanges.len()), (38, 0, 32));
    // Five -32600 with a validator's dump: SendMessage and tasks/send are of other vocabularies; tasks/frobnicate of none;
    // tasks/get lacks its id; agent/getAuthenticatedExtendedCard is of the vocabulary that the server names.
    assert_eq!(outcomes(&facts), "agent-error 1, invalid 5, not-found 2, ok 22, version 2");
    assert_eq!(
        states(&facts),
        "poll:completed 1, push:completed 2, reply:auth-required 1, reply:canceled 2, reply:completed 10, \
         reply:failed 3, reply:input-required 1, reply:rejected 1, stream:completed 1, stream:submitted 1, \
         stream:working 1"
    );
    assert_eq!(facts.artifact_parts.len(), 17);
    assert_eq!(deliveries(&facts), "204:task 1, 401:task 1");
}

#[test]
fn the_rust_sdk_gives_what_its_bytes_say() {
    let Normalized { facts, counts } = normalized(exchanges("a2a-rust-0.15.0/rust"));
    assert_eq!((counts.exchanges, counts.not_a2a, facts.exchanges.len()), (64, 0, 47));
    // The batch is answered by a list with a -32001.
    assert_eq!(outcomes(&facts), "invalid 9, not-found 5, ok 30, version 3");
    assert_eq!(
        states(&facts),
        "poll:working 1, push:completed 3, push:working 10, reply:canceled 1, reply:completed 11, reply:failed 3, \
         reply:rejected 1, reply:submitted 4, stream:canceled 1, stream:completed 3, stream:failed 1, \
         stream:submitted 4, stream:working 4"
    );
    assert_eq!(facts.artifact_parts.len(), 19);
    assert_eq!(deliveries(&facts), "204:artifact 1, 204:status 5, 401:status 8");
}

#[test]
fn the_01_capture_gives_what_its_bytes_say() {
    let Normalized { facts, counts } = normalized(exchanges("a2a-spec-0.1.0-handmade/v01"));
    assert_eq!((counts.exchanges, counts.not_a2a, facts.exchanges.len()), (30, 0, 20));
    assert_eq!(operations(&facts), "CancelTask 1, GetTask 5, SendMessage 13, SendStreamingMessage 1");
    assert_eq!(outcomes(&facts), "invalid 1, not-found 1, ok 18");
    // tasks/get and tasks/cancel are 0.3's, too: two refused ones show no dialect.
    assert_eq!(dialects(&facts), " 2, 0.1 18");
    assert_eq!(
        states(&facts),
        "poll:completed 1, poll:submitted 3, push:completed 4, push:submitted 4, reply:completed 4, reply:failed 3, \
         reply:input-required 1, reply:submitted 5, stream:completed 1, stream:working 1"
    );
    assert_eq!(
        parts(&facts),
        "poll:whole:text::absent 1, push:whole:text::absent 4, reply:whole:text::absent 4, stream:event:text::absent 3"
    );
    assert_eq!(deliveries(&facts), "204:task 3, 401:task 5");
    assert_eq!(tally(facts.push_deliveries.iter().map(|row| row.own.scheme.clone())), "bearer 6, jwt 2");
    assert_eq!(skills(&facts), "params.metadata.skillId 1, params.skillId 4");
    assert!(facts.artifact_parts.iter().all(|row| row.own.artifact_id == "0"));
    assert!(facts.exchanges.iter().all(|row| row.own.request_task_id == row.own.task_id));
}

#[test]
fn a_gateway_of_grpc_calls_shows_its_webhooks_and_cards() {
    let Normalized { facts, counts } = normalized(exchanges("a2a-python-1.3.0/grpc"));
    assert_eq!((counts.exchanges, counts.not_a2a), (22, 0));
    assert_eq!((facts.exchanges.len(), facts.cards.len()), (0, 2));
    assert_eq!(states(&facts), "push:completed 4, push:submitted 3, push:working 11");
    assert_eq!(deliveries(&facts), "204:artifact 2, 204:status 7, 204:task 2, 401:status 8, 401:task 1");
}

#[test]
fn a_stream_keeps_order_and_arrival_of_its_events() {
    let facts = normalized(exchanges("a2a-python-1.3.0/jsonrpc")).facts;
    // Line 9: started 1796019334979775306, pieces after 28.13, 28.197, 57.291, 108.136, 160.394 and 163.69 ms; the first,
    // second and last are states, the others pieces of `art-1`.
    let of_line = |position: &String| position == "9";
    let seen: Vec<_> = facts
        .task_events
        .iter()
        .filter(|row| of_line(&row.common.position))
        .map(|row| {
            (
                row.own.ordinal,
                row.own.state.as_str(),
                row.own.snapshot,
                row.common.observed_at.0 - 1_796_019_334_979_775_306,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Some(0), "submitted", Some(true), 28_130_000),
            (Some(1), "working", Some(false), 28_197_000),
            (Some(5), "completed", Some(false), 163_690_000),
        ]
    );
    let pieces: Vec<_> = facts
        .artifact_parts
        .iter()
        .filter(|row| of_line(&row.common.position))
        .map(|row| (row.own.ordinal, row.own.append, row.own.last_chunk, row.own.size))
        .collect();
    // "# Summary\n", "- first point\n", "- second point\n"
    assert_eq!(
        pieces,
        [
            (Some(2), Some(false), Some(false), Some(10)),
            (Some(3), Some(true), Some(false), Some(14)),
            (Some(4), Some(true), Some(true), Some(15)),
        ]
    );
    let call = facts.exchanges.iter().find(|row| of_line(&row.common.position)).unwrap();
    assert_eq!(
        (call.own.stream_events, call.own.stream_end.as_str(), call.own.reply_state.as_str()),
        (Some(6), "terminal", "completed")
    );
    assert_eq!(call.common.trace_id, "3356ceddc110cb85193f1b63ab81782c");
    assert_eq!(call.common.span_id, "75b3c4326537539a");
}

#[test]
fn streams_that_end_in_an_error_say_so() {
    for (run, code) in [("a2a-python-1.3.0/jsonrpc", Some(-32603)), ("a2a-python-1.3.0/rest", None)] {
        let facts = normalized(exchanges(run)).facts;
        let call = facts.exchanges.iter().find(|row| row.common.position == "65").unwrap();
        assert_eq!(call.own.stream_end, "error", "{run}");
        assert_eq!((call.own.error_code, call.own.outcome.as_str()), (code, "agent-error"), "{run}");
        assert_eq!((call.own.reply_kind.as_str(), call.own.reply_state.as_str()), ("events", "submitted"), "{run}");
        assert_eq!(call.own.stream_events, Some(2), "{run}");
    }
}

#[test]
fn the_signature_that_a_receiver_refused_and_its_key_are_kept() {
    let facts = normalized(exchanges("a2a-python-1.3.0/jsonrpc")).facts;
    // Lines 87 to 90 were accepted with a JWT of key-1, 94 to 99 refused with key-2; before that no delivery had a JWT.
    let told = tally(
        facts
            .push_deliveries
            .iter()
            .map(|row| format!("{}:{}:{}", row.own.http_status.unwrap(), row.own.kid, row.own.signature)),
    );
    assert_eq!(told, "204::absent 11, 204:key-1:unknown 4, 401::absent 9, 401:key-2:invalid 6");
    assert!(
        facts.push_deliveries.iter().all(|row| row.common.agent_ref.is_empty() && row.common.observer == "receiver")
    );
}

#[test]
fn no_secret_and_no_message_text_gets_into_the_facts() {
    for run in RUNS {
        let text = format!("{:?}", normalized(exchanges(run)).facts);
        for secret in [
            "example-credential",
            "tok-example",
            "eyJ",
            "please summarise",
            "unknown skill",
            "working on it",
            "all fine",
            "which language",
            "model backend",
            "is in terminal",
            "not found",
        ] {
            assert!(!text.contains(secret), "{run}: {secret}");
        }
    }
}

#[test]
fn order_and_repetition_of_records_change_nothing() {
    for run in RUNS {
        let mut once = normalized(exchanges(run)).facts;
        let twice: Vec<Exchange> = exchanges(run).into_iter().rev().chain(exchanges(run)).collect();
        let mut again = normalized(twice).facts;
        once.make_set();
        again.make_set();
        assert_eq!(format!("{once:?}"), format!("{again:?}"), "{run}");
    }
}

#[test]
fn bodies_cut_anywhere_are_survived() {
    for run in ["a2a-python-1.3.0/jsonrpc", "a2a-python-0.3.26/v03", "a2a-spec-0.1.0-handmade/v01"] {
        for part in [0.0, 0.1, 0.35, 0.5, 0.77, 0.99] {
            let cut = |body: &mut Body| {
                if let Body::Text(text) = body {
                    let mut end = (text.len() as f64 * part) as usize;
                    while !text.is_char_boundary(end) {
                        end -= 1;
                    }
                    text.truncate(end);
                }
            };
            let mut damaged = exchanges(run);
            for exchange in &mut damaged {
                cut(&mut exchange.request_body);
                cut(&mut exchange.response_body);
                exchange.truncated = true;
            }
            let Normalized { facts, counts } = normalized(damaged);
            assert!(counts.exchanges > 0 && facts.cards.len() > 1, "{run} {part}");
        }
    }
}
