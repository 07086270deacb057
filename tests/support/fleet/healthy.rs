//! A healthy fleet: agents that do what real systems do and what is no fault.
//!
//! Each agent shows one oddity on top of ordinary work; what it is stands at each function with where it was met.

use serde_json::{Value, json};

use super::agent::{Agent, Dialect, Ending, Skill};
use super::oddities;
use super::tape::{HOUR, MINUTE, SECOND, Tape, Taped};

/// 2026-11-16T00:00:00Z.
const START: i64 = 1_794_787_200 * SECOND;
/// Two agents an oddity; at least the forty of a fleet.
const AGENTS: usize = 2 * ODDITIES.len();
const CALLER: &str = "10.2.0.9:51000";
const OTHER: &str = "10.2.0.10:51000";

/// An oddity and what it is.
type Oddity = (&'static str, fn(&mut Tape, Agent, i64));

/// All oddities; each is shown in more than one dialect, as agents take turns.
const ODDITIES: &[Oddity] = &[
    ("descriptions change at each look", descriptions_churn),
    ("skills change together with the version", version_moves_with_skills),
    ("skills and modes in another order and repeated", lists_reordered),
    ("no skill is named by anyone", no_skill_named),
    ("ordinary failures, in words that mention skills", ordinary_failures),
    ("types with parameters, other case, wildcards", types_in_other_spelling),
    ("input-required for hours, then resumed", paused_for_hours),
    ("polling for half an hour, two callers", polled_by_two),
    ("a finished task is forgotten", finished_tasks_forgotten),
    ("a rolling deploy shows both cards for ten minutes", rolling_deploy),
    ("webhook refuses once and recovers", webhook_recovers),
    ("webhook events overtake each other", webhook_races),
    ("an empty artifact, and one after the end by seconds", empty_and_late_artifacts),
    ("gateway errors and retries with the same card", transport_retries),
    ("a message to a finished task is refused", message_to_finished),
    ("canceled, and canceled again", canceled_twice),
    ("the extended card lists more than the basic one", oddities::extended_card_lists_more),
    ("each principal is served a card of its own", oddities::a_card_for_each_principal),
    ("endpoints with and without a closing slash", oddities::endpoints_with_and_without_slash),
    ("a card without skills", oddities::no_skills_at_all),
    ("the card cannot be fetched for an hour", oddities::card_unreachable_for_an_hour),
    ("every record is delivered twice", oddities::every_record_twice),
    ("a message as the answer, then the caller hangs up", oddities::message_then_hang_up),
    ("a stream is taken up again with growing pauses", oddities::resubscribes_with_back_off),
    ("an agent that completes nothing", oddities::never_completes),
    ("keys are rotated and fetched in time", oddities::keys_rotated_and_fetched),
    ("the client's own verdicts agree", oddities::verdicts_agree),
];

/// Names of the oddities.
pub fn oddities() -> Vec<&'static str> {
    ODDITIES.iter().map(|(name, _)| *name).collect()
}

/// A day of the fleet as NDJSON; with an oddity's name only the agents that show it.
pub fn capture(only: Option<&str>) -> Vec<u8> {
    let mut tape = Tape::default();
    // Twice through the list and on, so that each is shown by two agents at least, of two dialects.
    for number in 0..AGENTS {
        let (name, show) = ODDITIES[number % ODDITIES.len()];
        if only.is_some_and(|only| only != name) {
            continue;
        }
        let dialect = [Dialect::V10, Dialect::V03, Dialect::V01][(number / ODDITIES.len() + number) % 3];
        let agent = Agent {
            host: format!("worker-{number:02}.fleet.example"),
            name: format!("Worker {number}"),
            dialect,
            version: "1.0.0".to_owned(),
            skills: vec![
                Skill::new("summarize-v2", &["text/markdown"]),
                Skill::new("export", &["application/json", "text/csv"]),
            ],
            description: "A worker of the fleet.".to_owned(),
        };
        let start = START + number as i64 * MINUTE;
        ordinary_work(&mut tape, &agent, start);
        show(&mut tape, agent, start + 2 * HOUR);
    }
    tape.into_ndjson()
}

fn ordinary_work(tape: &mut Tape, agent: &Agent, start: i64) {
    agent.look(tape, start, CALLER);
    for nth in 0..4 {
        agent.work(
            tape,
            start + (5 + nth * 20) * MINUTE,
            CALLER,
            Some("summarize-v2"),
            &Ending::Completes("text/markdown"),
        );
    }
}

/// agentdeals#1792: a count in the description.
fn descriptions_churn(tape: &mut Tape, mut agent: Agent, at: i64) {
    for nth in 0..6 {
        agent.description = format!("A worker that has done {nth} tasks.");
        agent.skills[0].description = format!("Summarises; {nth} so far.");
        agent.look(tape, at + nth * 10 * MINUTE, CALLER);
        agent.work(
            tape,
            at + (nth * 10 + 1) * MINUTE,
            CALLER,
            Some("summarize-v2"),
            &Ending::Completes("text/markdown"),
        );
    }
}

fn version_moves_with_skills(tape: &mut Tape, mut agent: Agent, at: i64) {
    agent.skills.push(Skill::new("translate-v1", &["text/plain"]));
    agent.version = "1.1.0".to_owned();
    agent.look(tape, at, CALLER);
    agent.work(tape, at + MINUTE, CALLER, Some("translate-v1"), &Ending::Completes("text/plain"));
}

/// pipelock#1537: reorderings and duplicates looked structural.
fn lists_reordered(tape: &mut Tape, mut agent: Agent, at: i64) {
    agent.skills.reverse();
    agent.skills[0].output = vec!["text/csv".to_owned(), "application/json".to_owned(), "text/csv".to_owned()];
    agent.look(tape, at, CALLER);
    agent.work(tape, at + MINUTE, CALLER, Some("export"), &Ending::Completes("text/csv"));
}

/// A2A#1812: skills are not in the protocol. Types within the union of modes and the card's defaults.
fn no_skill_named(tape: &mut Tape, agent: Agent, at: i64) {
    for (nth, mode) in ["text/markdown", "application/json", "text/plain", ""].into_iter().enumerate() {
        agent.work(tape, at + nth as i64 * MINUTE, CALLER, None, &Ending::Completes(mode));
    }
}

fn ordinary_failures(tape: &mut Tape, agent: Agent, at: i64) {
    let texts = [
        "the model did not answer within 30 seconds",
        "summarising needs more skill than I have in French; please try English",
        "The skill summarize-v2 ran, but the document was empty",
        "tool call failed: 503 Service Unavailable",
        "",
    ];
    for (nth, text) in texts.into_iter().enumerate() {
        agent.work(tape, at + nth as i64 * MINUTE, CALLER, Some("summarize-v2"), &Ending::Fails(text));
    }
}

fn types_in_other_spelling(tape: &mut Tape, mut agent: Agent, at: i64) {
    agent.version = "1.0.1".to_owned();
    agent.skills[0].output = vec!["text/*".to_owned()];
    agent.skills[1].output = vec!["Application/JSON; charset=utf-8".to_owned(), "*/*".to_owned()];
    agent.look(tape, at, CALLER);
    agent.work(tape, at + MINUTE, CALLER, Some("summarize-v2"), &Ending::Completes("Text/Markdown;charset=utf-8"));
    agent.work(tape, at + 2 * MINUTE, CALLER, Some("export"), &Ending::Completes("application/json"));
    agent.work(tape, at + 3 * MINUTE, CALLER, Some("export"), &Ending::Completes("image/png"));
}

/// A person answers after hours; nothing changed meanwhile.
fn paused_for_hours(tape: &mut Tape, agent: Agent, at: i64) {
    let (id, context) = (tape.id(), tape.id());
    let task = (id.as_str(), context.as_str());
    agent.send(tape, at, CALLER, task, Some("summarize-v2"), "input-required");
    agent.look(tape, at + 5 * HOUR, CALLER);
    resume(tape, &agent, at + 6 * HOUR, task);
    agent.poll(tape, at + 6 * HOUR + MINUTE, CALLER, task, Some(&Ending::Completes("text/markdown")));
}

fn resume(tape: &mut Tape, agent: &Agent, at: i64, task: (&str, &str)) {
    let (rpc, message) = (tape.id(), tape.id());
    let answer = agent.task(task, at + SECOND, "working", None);
    let (method, params, answer) = match agent.dialect {
        Dialect::V01 => (
            "tasks/send",
            json!({"id": task.0, "sessionId": task.1, "message": {"role": "user", "parts": [{"type": "text", "text": "yes"}]}}),
            answer,
        ),
        Dialect::V03 => (
            "message/send",
            json!({"message": {"kind": "message", "messageId": message, "taskId": task.0, "contextId": task.1, "role": "user", "parts": [{"kind": "text", "text": "yes"}]}, "configuration": {"blocking": false}}),
            answer,
        ),
        Dialect::V10 => (
            "SendMessage",
            json!({"message": {"messageId": message, "taskId": task.0, "contextId": task.1, "role": "ROLE_USER", "parts": [{"text": "yes"}]}, "configuration": {"returnImmediately": true}}),
            json!({"task": answer}),
        ),
    };
    agent.call(tape, at, CALLER, method, (&rpc, params), json!({"result": answer}));
}

/// fasta2a#19 and ordinary pollers: many equal answers to two callers.
fn polled_by_two(tape: &mut Tape, agent: Agent, at: i64) {
    let (id, context) = (tape.id(), tape.id());
    let task = (id.as_str(), context.as_str());
    agent.send(tape, at, CALLER, task, Some("summarize-v2"), "submitted");
    for nth in 1..60 {
        let caller = if nth % 2 == 0 { CALLER } else { OTHER };
        agent.poll(tape, at + nth * 30 * SECOND, caller, task, None);
    }
    for nth in 60..64 {
        agent.poll(tape, at + nth * 30 * SECOND, CALLER, task, Some(&Ending::Completes("text/markdown")));
    }
}

/// salesagent#2257: an in-memory store after a restart; all its tasks had ended.
fn finished_tasks_forgotten(tape: &mut Tape, agent: Agent, at: i64) {
    let done: Vec<String> = (0..5)
        .map(|nth| {
            agent.work(tape, at + nth * MINUTE, CALLER, Some("summarize-v2"), &Ending::Completes("text/markdown"))
        })
        .collect();
    for (nth, id) in done.iter().enumerate() {
        let rpc = tape.id();
        let method = if agent.dialect == Dialect::V10 { "GetTask" } else { "tasks/get" };
        let error = json!({"error": {"code": -32001, "message": "Task not found"}});
        agent.call(tape, at + HOUR + nth as i64 * SECOND, CALLER, method, (&rpc, json!({"id": id})), error);
    }
}

fn rolling_deploy(tape: &mut Tape, agent: Agent, at: i64) {
    let mut next = agent.clone();
    next.version = "1.1.0".to_owned();
    next.skills.push(Skill::new("translate-v1", &["text/plain"]));
    for nth in 0..6 {
        let served = if nth % 2 == 0 { &agent } else { &next };
        served.look(tape, at + nth * 100 * SECOND, if nth % 2 == 0 { CALLER } else { OTHER });
    }
    next.look(tape, at + 20 * MINUTE, CALLER);
    next.look(tape, at + 21 * MINUTE, OTHER);
    next.work(tape, at + 30 * MINUTE, CALLER, Some("summarize-v2"), &Ending::Completes("text/markdown"));
}

fn push(tape: &mut Tape, agent: &Agent, at: i64, task: (&str, &str), state: (&str, i64), status: u16) {
    let ending = Ending::Completes("text/markdown");
    let body = agent.task(task, state.1, state.0, (state.0 == "completed").then_some(&ending));
    let body = match agent.dialect {
        Dialect::V10 => json!({ "task": body }),
        Dialect::V01 => json!({"eventType": "status", "taskId": task.0, "status": body["status"]}),
        Dialect::V03 => body,
    };
    let url = format!("https://hooks.fleet.example/{}", agent.host);
    tape.write(Taped {
        leg: "webhook",
        request: Some(body),
        request_headers: vec![
            ("authorization", "Bearer throw-away".to_owned()),
            ("x-a2a-notification-token", "throw-away".to_owned()),
        ],
        status,
        ..Taped::new(at, "10.3.0.1:40000", "POST", &url)
    });
}

/// A receiver that restarts refuses one delivery, and takes the next.
fn webhook_recovers(tape: &mut Tape, agent: Agent, at: i64) {
    for nth in 0..6 {
        let (id, context) = (tape.id(), tape.id());
        let task = (id.as_str(), context.as_str());
        let at = at + nth * 5 * MINUTE;
        agent.send(tape, at, CALLER, task, Some("summarize-v2"), "submitted");
        push(tape, &agent, at + 10 * SECOND, task, ("working", at + 10 * SECOND), if nth == 2 { 401 } else { 204 });
        push(tape, &agent, at + 15 * SECOND, task, ("completed", at + 15 * SECOND), 204);
        agent.poll(tape, at + 20 * SECOND, CALLER, task, Some(&Ending::Completes("text/markdown")));
    }
}

/// a2a-js#140: pushes race; a late `working` after `completed` is a reordering.
fn webhook_races(tape: &mut Tape, agent: Agent, at: i64) {
    let (id, context) = (tape.id(), tape.id());
    let task = (id.as_str(), context.as_str());
    agent.send(tape, at, CALLER, task, Some("summarize-v2"), "submitted");
    push(tape, &agent, at + 16 * SECOND, task, ("completed", at + 15 * SECOND), 204);
    push(tape, &agent, at + 17 * SECOND, task, ("working", at + 10 * SECOND), 204);
    push(tape, &agent, at + 18 * SECOND, task, ("completed", at + 15 * SECOND), 204);
    agent.poll(tape, at + 20 * SECOND, CALLER, task, Some(&Ending::Completes("text/markdown")));
}

/// Record 003: an artifact without parts is a legal completion. A2A#1232: an artifact may follow the end by a moment.
fn empty_and_late_artifacts(tape: &mut Tape, agent: Agent, at: i64) {
    let (id, context) = (tape.id(), tape.id());
    let task = (id.as_str(), context.as_str());
    agent.send(tape, at, CALLER, task, Some("summarize-v2"), "submitted");
    let mut done = agent.task(task, at + 5 * SECOND, "completed", Some(&Ending::Completes("text/markdown")));
    done["artifacts"][0]["parts"] = json!([]);
    let rpc = tape.id();
    let method = if agent.dialect == Dialect::V10 { "GetTask" } else { "tasks/get" };
    agent.call(tape, at + 6 * SECOND, CALLER, method, (&rpc, json!({"id": id})), json!({"result": done}));
    let rpc = tape.id();
    agent.call(tape, at + 9 * SECOND, CALLER, method, (&rpc, json!({"id": id})), json!({"result": done}));
}

/// Records 002: transport faults are retried on the cached card, and rate limits waited out.
fn transport_retries(tape: &mut Tape, agent: Agent, at: i64) {
    let url = agent.url();
    for (nth, status) in [503_u16, 502, 429].into_iter().enumerate() {
        let (rpc, message) = (tape.id(), tape.id());
        let params = json!({"message": {"messageId": message, "role": "ROLE_USER", "metadata": {"skillId": "summarize-v2"}, "parts": [{"text": "please"}]}});
        let method = match agent.dialect {
            Dialect::V01 => "tasks/send",
            Dialect::V03 => "message/send",
            Dialect::V10 => "SendMessage",
        };
        tape.write(Taped {
            request: Some(json!({"jsonrpc": "2.0", "id": rpc, "method": method, "params": params})),
            request_headers: vec![("a2a-version", "1.0".to_owned())],
            status,
            response: Some(Value::String("upstream unavailable".to_owned())),
            response_headers: vec![("content-type", "text/plain".to_owned())],
            ..Taped::new(at + nth as i64 * 5 * SECOND, CALLER, "POST", &url)
        });
    }
    agent.work(tape, at + MINUTE, CALLER, Some("summarize-v2"), &Ending::Completes("text/markdown"));
}

/// any-agent#566: refused with the words of a terminal task; the client's slip, told as information.
fn message_to_finished(tape: &mut Tape, agent: Agent, at: i64) {
    let id = agent.work(tape, at, CALLER, Some("summarize-v2"), &Ending::Completes("text/markdown"));
    let (rpc, message) = (tape.id(), tape.id());
    let (method, params, code) = match agent.dialect {
        // 0.1 servers answer a send for a finished id in many ways; this one refuses.
        Dialect::V01 => (
            "tasks/send",
            json!({"id": id, "message": {"role": "user", "parts": [{"type": "text", "text": "more"}]}}),
            -32602,
        ),
        Dialect::V03 => (
            "message/send",
            json!({"message": {"kind": "message", "messageId": message, "taskId": id, "role": "user", "parts": [{"kind": "text", "text": "more"}]}}),
            -32602,
        ),
        Dialect::V10 => (
            "SendMessage",
            json!({"message": {"messageId": message, "taskId": id, "role": "ROLE_USER", "parts": [{"text": "more"}]}}),
            -32004,
        ),
    };
    let error = json!({"error": {"code": code, "message": format!("Task {id} is in terminal state: completed")}});
    agent.call(tape, at + MINUTE, CALLER, method, (&rpc, params), error);
}

fn canceled_twice(tape: &mut Tape, agent: Agent, at: i64) {
    let (id, context) = (tape.id(), tape.id());
    let task = (id.as_str(), context.as_str());
    agent.send(tape, at, CALLER, task, Some("summarize-v2"), "working");
    let method = if agent.dialect == Dialect::V10 { "CancelTask" } else { "tasks/cancel" };
    let rpc = tape.id();
    let canceled = agent.task(task, at + 30 * SECOND, "canceled", None);
    agent.call(tape, at + 30 * SECOND, CALLER, method, (&rpc, json!({"id": id})), json!({"result": canceled}));
    let rpc = tape.id();
    let error = json!({"error": {"code": -32002, "message": "Task cannot be canceled"}});
    agent.call(tape, at + 40 * SECOND, CALLER, method, (&rpc, json!({"id": id})), error);
}
