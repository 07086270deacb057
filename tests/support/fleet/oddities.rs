//! More of what real systems do and what is no fault: how cards are served, how streams go, who else looks on.

use serde_json::{Value, json};

use super::agent::{Agent, Dialect, Ending, Skill};
use super::tape::{HOUR, MINUTE, SECOND, Tape, Taped, rfc3339};

const CALLER: &str = "10.2.0.9:51000";
const OTHER: &str = "10.2.0.10:51000";

/// a2a-python#605: the extended card lists more than the basic one; they are two cards.
pub fn extended_card_lists_more(tape: &mut Tape, agent: Agent, at: i64) {
    let mut extended = agent.clone();
    extended.skills.push(Skill::new("internal-only", &["text/plain"]));
    let url = match agent.dialect {
        Dialect::V10 => format!("https://{}/extendedAgentCard", agent.host),
        _ => format!("https://{}/agent/authenticatedExtendedCard", agent.host),
    };
    for nth in 0..3 {
        agent.look(tape, at + nth * 10 * MINUTE, CALLER);
        let request_headers = vec![("authorization", "Bearer throw-away".to_owned())];
        let response = Some(extended.card());
        tape.write(Taped {
            request_headers,
            response,
            ..Taped::new(at + (nth * 10 + 1) * MINUTE, CALLER, "GET", &url)
        });
        let done = Ending::Completes("text/plain");
        agent.work(tape, at + (nth * 10 + 2) * MINUTE, CALLER, Some("internal-only"), &done);
    }
}

/// A2A#306: an agent may serve each principal a card of its own.
pub fn a_card_for_each_principal(tape: &mut Tape, agent: Agent, at: i64) {
    let mut rich = agent.clone();
    rich.skills.push(Skill::new("premium", &["text/plain"]));
    // JWTs without a signature; `sub` is alice and bob.
    let tokens = ["eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSJ9.", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJib2IifQ."];
    let url = agent.card_url();
    for nth in 0..8 {
        let (served, token) = if nth % 2 == 0 { (&agent, tokens[0]) } else { (&rich, tokens[1]) };
        let request_headers = vec![("authorization", format!("Bearer {token}"))];
        let caller = if nth % 2 == 0 { CALLER } else { OTHER };
        let response = Some(served.card());
        tape.write(Taped { request_headers, response, ..Taped::new(at + nth * 10 * MINUTE, caller, "GET", &url) });
    }
}

/// strands#383: endpoints that differ by a trailing slash are the same endpoint.
pub fn endpoints_with_and_without_slash(tape: &mut Tape, agent: Agent, at: i64) {
    let (url, slash) = (agent.card_url(), format!("{}/", agent.url()));
    let (id, context) = (tape.id(), tape.id());
    agent.send(tape, at, CALLER, (&id, &context), Some("summarize-v2"), "working");
    for nth in 0..4 {
        let mut card = agent.card();
        if nth % 2 == 1 {
            match agent.dialect {
                Dialect::V10 => card["supportedInterfaces"][0]["url"] = json!(slash),
                _ => card["url"] = json!(slash),
            }
        }
        tape.write(Taped { response: Some(card), ..Taped::new(at + (nth + 1) * 10 * MINUTE, CALLER, "GET", &url) });
    }
    let done = Ending::Completes("text/markdown");
    agent.poll(tape, at + 50 * MINUTE, CALLER, (&id, &context), Some(&done));
}

/// agentdeals#1792: a card without skills is legal.
pub fn no_skills_at_all(tape: &mut Tape, mut agent: Agent, at: i64) {
    agent.version = "2.0.0".to_owned();
    agent.skills.clear();
    agent.look(tape, at, CALLER);
    agent.work(tape, at + MINUTE, CALLER, None, &Ending::Completes("text/plain"));
}

/// A registry or a card server is down for an hour; callers go on with the card they hold.
pub fn card_unreachable_for_an_hour(tape: &mut Tape, agent: Agent, at: i64) {
    let url = agent.card_url();
    for nth in 0..6 {
        let response = Some(Value::String("unavailable".to_owned()));
        let response_headers = vec![("content-type", "text/plain".to_owned())];
        let failed = Taped {
            status: 503,
            response,
            response_headers,
            ..Taped::new(at + nth * 10 * MINUTE, CALLER, "GET", &url)
        };
        tape.write(failed);
        agent.work(
            tape,
            at + (nth * 10 + 5) * MINUTE,
            CALLER,
            Some("summarize-v2"),
            &Ending::Completes("text/markdown"),
        );
    }
    agent.look(tape, at + HOUR, CALLER);
}

/// Every record is delivered twice, as a retried export does.
pub fn every_record_twice(tape: &mut Tape, agent: Agent, at: i64) {
    let from = tape.len();
    agent.look(tape, at, CALLER);
    for nth in 0..3 {
        agent.work(tape, at + (nth + 1) * MINUTE, CALLER, Some("summarize-v2"), &Ending::Completes("text/markdown"));
    }
    tape.repeat(from);
}

/// agent-framework#3362: an answer that is a message, streamed, after which the caller hangs up.
pub fn message_then_hang_up(tape: &mut Tape, agent: Agent, at: i64) {
    let (rpc, message, context) = (tape.id(), tape.id(), tape.id());
    let (method, params, event) = match agent.dialect {
        // 0.1 has no answers without a task.
        Dialect::V01 => return,
        Dialect::V03 => (
            "message/stream",
            json!({"message": {"kind": "message", "messageId": message, "role": "user", "parts": [{"kind": "text", "text": "hello"}]}}),
            json!({"kind": "message", "messageId": context, "role": "agent", "parts": [{"kind": "text", "text": "hello"}]}),
        ),
        Dialect::V10 => (
            "SendStreamingMessage",
            json!({"message": {"messageId": message, "role": "ROLE_USER", "parts": [{"text": "hello"}]}}),
            json!({"message": {"messageId": context, "role": "ROLE_AGENT", "parts": [{"text": "hello"}]}}),
        ),
    };
    let url = agent.url();
    let body = format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": rpc, "result": event}));
    tape.write(Taped {
        request: Some(json!({"jsonrpc": "2.0", "id": rpc, "method": method, "params": params})),
        request_headers: version(&agent),
        response: Some(Value::String(body)),
        response_headers: vec![("content-type", "text/event-stream".to_owned())],
        client_left: true,
        ..Taped::new(at, CALLER, "POST", &url)
    });
}

/// redpanda console#2224: a cut stream is taken up again with growing pauses, and ends well.
pub fn resubscribes_with_back_off(tape: &mut Tape, agent: Agent, at: i64) {
    if agent.dialect == Dialect::V01 {
        return;
    }
    let (id, context) = (tape.id(), tape.id());
    let task = (id.as_str(), context.as_str());
    agent.send(tape, at, CALLER, task, Some("summarize-v2"), "working");
    let method = if agent.dialect == Dialect::V10 { "SubscribeToTask" } else { "tasks/resubscribe" };
    let url = agent.url();
    let mut pause = 0;
    for nth in 0..6 {
        pause = pause * 2 + 1;
        let rpc = tape.id();
        let now = at + (10 + pause) * SECOND;
        let ending = Ending::Completes("text/markdown");
        let ends = nth == 5;
        let result = agent.task(task, now, if ends { "completed" } else { "working" }, ends.then_some(&ending));
        let result = if agent.dialect == Dialect::V10 { json!({"task": result}) } else { result };
        let body = format!("data: {}\r\n\r\n", json!({"jsonrpc": "2.0", "id": rpc, "result": result}));
        tape.write(Taped {
            request: Some(json!({"jsonrpc": "2.0", "id": rpc, "method": method, "params": {"id": id}})),
            request_headers: version(&agent),
            response: Some(Value::String(body)),
            response_headers: vec![("content-type", "text/event-stream".to_owned())],
            ..Taped::new(now, CALLER, "POST", &url)
        });
    }
}

/// gemini-cli#8116: an agent that never completes anything; its tasks wait for input. Information, not an alarm a task.
pub fn never_completes(tape: &mut Tape, mut agent: Agent, at: i64) {
    agent.host = format!("endless-{}", agent.host);
    agent.name = format!("Endless {}", agent.name);
    agent.look(tape, at, CALLER);
    for nth in 0..25 {
        let (id, context) = (tape.id(), tape.id());
        agent.send(tape, at + nth * MINUTE, CALLER, (&id, &context), Some("summarize-v2"), "working");
    }
    agent.look(tape, at + 6 * HOUR, CALLER);
}

/// A key set is rotated and the receiver fetches it before the first delivery signed with the new key.
pub fn keys_rotated_and_fetched(tape: &mut Tape, agent: Agent, at: i64) {
    let url = format!("https://{}/.well-known/jwks.json", agent.host);
    let hook = format!("https://hooks.fleet.example/{}", agent.host);
    // Header {"alg":"ES256","kid":"key-1"} and {"alg":"ES256","kid":"key-2"}; no claims, no signature.
    for (nth, header) in
        ["eyJhbGciOiJFUzI1NiIsImtpZCI6ImtleS0xIn0", "eyJhbGciOiJFUzI1NiIsImtpZCI6ImtleS0yIn0"].iter().enumerate()
    {
        let now = at + nth as i64 * HOUR;
        let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": format!("key-{}", nth + 1), "x": format!("x{nth}"), "y": format!("y{nth}")}]});
        for fetcher in ["10.4.0.1:50000", CALLER] {
            tape.write(Taped { response: Some(keys.clone()), ..Taped::new(now, fetcher, "GET", &url) });
        }
        for delivery in 0..3 {
            let (id, context) = (tape.id(), tape.id());
            let task = (id.as_str(), context.as_str());
            let now = now + (delivery + 1) * MINUTE;
            let done = Ending::Completes("text/markdown");
            agent.send(tape, now, CALLER, task, Some("summarize-v2"), "submitted");
            let body = agent.task(task, now + 5 * SECOND, "completed", Some(&done));
            let body = match agent.dialect {
                Dialect::V10 => json!({ "task": body }),
                Dialect::V01 => json!({"eventType": "status", "taskId": id, "status": body["status"]}),
                Dialect::V03 => body,
            };
            tape.write(Taped {
                leg: "webhook",
                request: Some(body),
                request_headers: vec![("authorization", format!("Bearer {header}.e30.c2ln"))],
                status: 204,
                ..Taped::new(now + 6 * SECOND, "10.3.0.1:40000", "POST", &hook)
            });
            agent.poll(tape, now + 20 * SECOND, CALLER, task, Some(&done));
        }
    }
}

/// A client tells its own verdicts, and they are those of the agent.
pub fn verdicts_agree(tape: &mut Tape, agent: Agent, at: i64) {
    for nth in 0..3 {
        let now = at + nth * 10 * MINUTE;
        let id = agent.work(tape, now, CALLER, Some("summarize-v2"), &Ending::Completes("text/markdown"));
        tape.raw(
            now + 21 * SECOND,
            json!({
                "event": "a2a.task.state", "time": rfc3339(now + 21 * SECOND), "a2a.task.id": id, "a2a.task.state": "completed",
                "a2a.observer": "client", "a2a.local": true, "a2a.client": "orchestrator", "a2a.task.artifact_ids": ["art-1"],
            }),
        );
    }
}

fn version(agent: &Agent) -> Vec<(&'static str, String)> {
    if agent.dialect == Dialect::V10 { vec![("a2a-version", "1.0".to_owned())] } else { Vec::new() }
}
