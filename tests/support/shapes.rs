//! Captures that put much on one key: the shapes of traffic at which a query that compares everything with everything shows.
//!
//! In: a size. Out: exchange lines, so many that the facts grow with the size. The same size gives the same bytes.

use serde_json::{Value, json};

use super::fleet::agent::{Agent, Dialect, Ending, Skill};
use super::fleet::record000::START;
use super::fleet::tape::{HOUR, MINUTE, SECOND, Tape, Taped, rfc3339};

/// A shape by name.
pub type Shape = (&'static str, fn(usize) -> Vec<u8>);

/// All shapes.
pub const SHAPES: [Shape; 7] = [
    ("looks at a card that flaps", looks_at_a_flapping_card),
    ("tasks of one agent", tasks_of_one_agent),
    ("agents with a look each", agents),
    ("deliveries to one url", deliveries_to_one_url),
    ("calls of one client", calls_of_one_client),
    ("events of one stream", events_of_one_stream),
    ("statements of one task", statements_of_one_task),
];

const CALLERS: [&str; 3] = ["10.2.0.9:51000", "10.2.0.10:51000", "10.2.0.11:51000"];

fn agent(host: &str) -> Agent {
    Agent {
        host: host.to_owned(),
        name: "Agent".to_owned(),
        dialect: Dialect::V10,
        version: "1.0".to_owned(),
        skills: vec![Skill::new("summarize-v2", &["text/markdown"])],
        description: "Works.".to_owned(),
    }
}

fn after(nth: usize, apart: i64) -> i64 {
    START + i64::try_from(nth).unwrap_or_default() * apart
}

fn later(tape: &mut Tape, at: i64, id: &str, state: &str) {
    let line = json!({
        "event": "a2a.task.state", "time": rfc3339(at), "a2a.task.id": id, "a2a.task.state": state,
        "a2a.observer": "client", "a2a.local": true, "a2a.client": "10.2.0.9",
    });
    tape.raw(at, line);
}

/// Two bodies of one card in turn, which differ in skills, modes, capabilities and endpoint, with tasks between: some end, some
/// fail, some are left, some are told lost, a few live all the time.
fn looks_at_a_flapping_card(looks: usize) -> Vec<u8> {
    let mut tape = Tape::default();
    let (one, mut other) = (agent("flaps.fleet.example"), agent("flaps.fleet.example"));
    other.skills = vec![Skill::new("translate-v1", &["text/plain"]), Skill::new("summarize-v2", &["text/plain"])];
    let mut lacking = other.card();
    lacking["capabilities"] = json!({"streaming": false, "pushNotifications": false});
    lacking["supportedInterfaces"][0]["url"] = json!("https://flaps.fleet.example/other");
    let url = one.card_url();
    let ids: Vec<(String, String)> = (0..4).map(|_| (tape.id(), tape.id())).collect();
    for (id, context) in &ids {
        one.send(&mut tape, START, CALLERS[0], (id, context), Some("summarize-v2"), "working");
    }
    for nth in 0..looks {
        let at = after(nth + 1, 7 * MINUTE);
        let card = if nth % 2 == 0 { one.card() } else { lacking.clone() };
        tape.write(Taped { response: Some(card), ..Taped::new(at, CALLERS[nth % 3], "GET", &url) });
        let caller = CALLERS[nth / 3 % 3];
        let skill = if nth % 5 == 0 { "translate-v1" } else { "summarize-v2" };
        let at = at + MINUTE;
        match nth % 8 {
            0 => drop(one.work(&mut tape, at, caller, Some(skill), &Ending::Completes("text/csv"))),
            1 => drop(one.work(&mut tape, at, caller, Some(skill), &Ending::Fails("unknown skill"))),
            2 => {
                let (id, context) = (tape.id(), tape.id());
                one.send(&mut tape, at, caller, (&id, &context), Some(skill), "submitted");
                later(&mut tape, at + 30 * SECOND, &id, "failed");
            }
            3 => {
                let (id, context) = (tape.id(), tape.id());
                one.send(&mut tape, at, caller, (&id, &context), Some(skill), "input-required");
                one.poll(&mut tape, at + 2 * HOUR, caller, (&id, &context), Some(&Ending::Completes("text/plain")));
            }
            4 => refused(&mut tape, &one, at, caller, -32601, "Method not found"),
            5 => refused(&mut tape, &one, at, caller, -32004, "unknown skill"),
            6 => drop(one.work(&mut tape, at, caller, None, &Ending::Completes("text/plain"))),
            _ => {
                let (id, context) = &ids[nth / 8 % ids.len()];
                one.poll(&mut tape, at, caller, (id, context), None);
            }
        }
    }
    tape.into_ndjson()
}

fn refused(tape: &mut Tape, agent: &Agent, at: i64, caller: &str, code: i64, message: &str) {
    let (rpc, id) = (tape.id(), tape.id());
    let method = if code == -32601 { "message/send" } else { "SendMessage" };
    let params = json!({"message": {"messageId": id, "role": "ROLE_USER", "metadata": {"skillId": "translate-v1"}, "parts": [{"text": "again"}]}});
    agent.call(tape, at, caller, method, (&rpc, params), json!({"error": {"code": code, "message": message}}));
}

/// One look, then tasks that overlap: most complete, some fail, some are left.
fn tasks_of_one_agent(tasks: usize) -> Vec<u8> {
    let mut tape = Tape::default();
    let agent = agent("busy.fleet.example");
    agent.look(&mut tape, START - MINUTE, CALLERS[0]);
    for nth in 0..tasks {
        let (at, caller) = (after(nth, 3 * SECOND), CALLERS[nth % 3]);
        let ending = match nth % 10 {
            0 => Ending::Fails("unknown skill"),
            1 => Ending::Fails("out of tokens"),
            2 => Ending::Completes("application/pdf"),
            _ => Ending::Completes("text/markdown"),
        };
        if nth % 10 == 3 {
            let (id, context) = (tape.id(), tape.id());
            agent.send(&mut tape, at, caller, (&id, &context), Some("summarize-v2"), "working");
        } else {
            let id = agent.work(&mut tape, at, caller, Some("summarize-v2"), &ending);
            if nth % 10 == 4 {
                later(&mut tape, at + 25 * SECOND, &id, "failed");
            }
        }
    }
    let mut next = agent.clone();
    next.skills = vec![Skill::new("translate-v1", &["text/plain"])];
    next.look(&mut tape, after(tasks + 1, 3 * SECOND), CALLERS[0]);
    tape.into_ndjson()
}

/// Agents, each with a look at its card.
fn agents(agents: usize) -> Vec<u8> {
    let mut tape = Tape::default();
    for nth in 0..agents {
        let agent = agent(&format!("peer-{nth}.fleet.example"));
        agent.look(&mut tape, after(nth, SECOND), CALLERS[nth % 3]);
    }
    tape.into_ndjson()
}

/// Deliveries of many tasks to one url, which refuses them in streaks.
fn deliveries_to_one_url(deliveries: usize) -> Vec<u8> {
    let mut tape = Tape::default();
    let agent = agent("pushes.fleet.example");
    agent.look(&mut tape, START - MINUTE, CALLERS[0]);
    let mut task = (String::new(), String::new());
    for nth in 0..deliveries {
        let at = after(nth, 10 * SECOND);
        if nth % 4 == 0 {
            task = (tape.id(), tape.id());
            agent.send(&mut tape, at - 5 * SECOND, CALLERS[0], (&task.0, &task.1), Some("summarize-v2"), "submitted");
        }
        let state = if nth % 4 == 3 { "completed" } else { "working" };
        let done = Ending::Completes("text/markdown");
        let body = agent.task((&task.0, &task.1), at, state, (nth % 4 == 3).then_some(&done));
        tape.write(Taped {
            leg: "webhook",
            request: Some(json!({ "task": body })),
            request_headers: vec![("authorization", "Bearer throw-away".to_owned())],
            status: if nth / 50 % 3 == 1 { 401 } else { 204 },
            ..Taped::new(at, "10.3.0.1:40000", "POST", "https://hooks.fleet.example/one")
        });
    }
    tape.into_ndjson()
}

/// Calls of one client at one agent: refused, sent again with the same words, and without a key of their own.
fn calls_of_one_client(calls: usize) -> Vec<u8> {
    let mut tape = Tape::default();
    let agent = agent("called.fleet.example");
    agent.look(&mut tape, START - MINUTE, CALLERS[0]);
    let url = agent.url();
    for nth in 0..calls {
        let at = after(nth, 20 * SECOND);
        match nth % 4 {
            0 => refused(&mut tape, &agent, at, CALLERS[0], -32004, "unknown skill"),
            1 => {
                let (rpc, id) = (tape.id(), tape.id());
                let params =
                    json!({"message": {"messageId": id, "role": "ROLE_USER", "parts": [{"text": "the same words"}]}});
                let request = json!({"jsonrpc": "2.0", "id": rpc, "method": "SendMessage", "params": params});
                let left =
                    Taped { request: Some(request), client_left: true, ..Taped::new(at, CALLERS[0], "POST", &url) };
                tape.write(Taped { status: 504, ..left });
            }
            2 => {
                let (rpc, id) = (tape.id(), tape.id());
                let answer = json!({"error": {"code": -32001, "message": "Task not found"}});
                agent.call(&mut tape, at, CALLERS[0], "GetTask", (&rpc, json!({"id": id})), answer);
            }
            _ => {
                let rpc = tape.id();
                let request = json!({"jsonrpc": "2.0", "id": rpc, "method": "SendMessage", "params": {}});
                tape.write(Taped {
                    request: Some(request),
                    status: if nth % 8 == 3 { 401 } else { 403 },
                    ..Taped::new(at, CALLERS[0], "POST", &url)
                });
            }
        }
    }
    tape.into_ndjson()
}

/// One stream that appends to one artifact event by event, and never ends.
fn events_of_one_stream(events: usize) -> Vec<u8> {
    let mut tape = Tape::default();
    let agent = agent("streams.fleet.example");
    agent.look(&mut tape, START - MINUTE, CALLERS[0]);
    let (rpc, message, id, context) = (tape.id(), tape.id(), tape.id(), tape.id());
    let event = |result: Value| format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": rpc, "result": result}));
    let mut body = event(json!({"task": agent.task((&id, &context), START, "working", None)}));
    for nth in 0..events {
        let artifact =
            json!({"artifactId": "art-1", "parts": [{"text": nth.to_string(), "mediaType": "text/markdown"}]});
        body += &event(
            json!({"artifactUpdate": {"taskId": id, "contextId": context, "artifact": artifact, "append": nth > 0, "lastChunk": nth % 50 == 49}}),
        );
        if nth % 10 == 9 {
            let status = json!({"state": if nth % 20 == 9 { "TASK_STATE_WORKING" } else { "TASK_STATE_SUBMITTED" }, "timestamp": rfc3339(after(nth, SECOND))});
            body += &event(json!({"statusUpdate": {"taskId": id, "contextId": context, "status": status}}));
        }
    }
    let params = json!({"message": {"messageId": message, "role": "ROLE_USER", "metadata": {"skillId": "summarize-v2"}, "parts": [{"text": "long"}]}});
    tape.write(Taped {
        request: Some(json!({"jsonrpc": "2.0", "id": rpc, "method": "SendStreamingMessage", "params": params})),
        request_headers: vec![("a2a-version", "1.0".to_owned())],
        response: Some(Value::String(body)),
        response_headers: vec![("content-type", "text/event-stream".to_owned())],
        ..Taped::new(START, CALLERS[0], "POST", &agent.url())
    });
    tape.into_ndjson()
}

/// One task that is read again and again, by callers that are told different things: working, gone, ended one way and the other.
fn statements_of_one_task(reads: usize) -> Vec<u8> {
    let mut tape = Tape::default();
    let agent = agent("asked.fleet.example");
    agent.look(&mut tape, START - MINUTE, CALLERS[0]);
    let (id, context) = (tape.id(), tape.id());
    agent.send(&mut tape, START, CALLERS[0], (&id, &context), Some("summarize-v2"), "submitted");
    for nth in 0..reads {
        let (at, caller) = (after(nth + 1, 30 * SECOND), CALLERS[nth % 3]);
        let (done, failed) = (Ending::Completes("text/markdown"), Ending::Fails("unknown skill"));
        match nth % 7 {
            0 => agent.poll(&mut tape, at, caller, (&id, &context), Some(&done)),
            3 => agent.poll(&mut tape, at, caller, (&id, &context), Some(&failed)),
            5 => {
                let rpc = tape.id();
                let answer = json!({"error": {"code": -32001, "message": "Task not found"}});
                agent.call(&mut tape, at, caller, "GetTask", (&rpc, json!({ "id": id })), answer);
            }
            _ => agent.poll(&mut tape, at, caller, (&id, &context), None),
        }
    }
    tape.into_ndjson()
}
