//! Some hours of two healthy agents behind a gateway: looks at cards, sends, streams, polls, ended tasks, and the failures that
//! any day has.
//!
//! Written after the protocol (A2A 0.3 and 1.0, JSON-RPC and HTTP+JSON), not recorded.

#![allow(dead_code, reason = "suites that use it need a part each")]

use serde_json::{Value, json};

use super::write::Call;

pub const SECOND: i64 = 1_000_000_000;
pub const MINUTE: i64 = 60 * SECOND;
/// 2026-11-30T09:00:00.25Z
pub const MORNING: i64 = 1_796_029_200_250_000_000;

/// What agents speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speech {
    /// JSON-RPC of 0.3.
    Rpc03,
    /// JSON-RPC of 1.0.
    Rpc1,
    /// HTTP+JSON of 1.0.
    Rest1,
}

#[derive(Debug)]
pub struct Agent {
    pub path: &'static str,
    upstream: &'static str,
    skill: &'static str,
}

pub const HOST: &str = "gw.example:8080";
pub const SUMMARY: Agent = Agent { path: "/summary", upstream: "10.0.0.9:8000", skill: "summarize" };
pub const TRANSLATE: Agent = Agent { path: "/translate", upstream: "10.0.0.10:8000", skill: "translate" };
const CLIENTS: [&str; 3] = ["10.1.0.1", "10.1.0.2", "10.1.0.3"];

/// Calls so far.
#[derive(Debug)]
pub struct Day {
    pub speech: Speech,
    pub now: i64,
    pub calls: Vec<Call>,
    ids: u32,
}

/// A task as its agent tells of it.
#[derive(Debug, Clone)]
pub struct Told<'a> {
    pub task: &'a str,
    pub state: &'a str,
    /// Of its status message; `""` for none.
    pub says: &'a str,
}

pub fn told<'a>(task: &'a str, state: &'a str) -> Told<'a> {
    Told { task, state, says: "" }
}

impl Day {
    pub fn new(speech: Speech) -> Self {
        Self { speech, now: MORNING, calls: Vec::new(), ids: 0 }
    }

    fn is_v1(&self) -> bool {
        self.speech != Speech::Rpc03
    }

    pub fn id(&mut self) -> String {
        self.ids += 1;
        format!("{:08x}-5e5b-425d-8feb-{:012x}", self.ids.wrapping_mul(0x9e37_79b9), self.ids)
    }

    fn call(&mut self, agent: &Agent, client: usize, method: &'static str, path: String) -> Call {
        self.now += SECOND;
        Call {
            at: self.now,
            millis: 20,
            client: format!("{}:{}", CLIENTS[client], 40_000 + self.calls.len()),
            method,
            host: HOST,
            path,
            upstream: agent.upstream,
            status: 200,
            version: if self.is_v1() { "1.0" } else { "" },
            sent: Value::Null,
            got: Vec::new(),
            streams: false,
            is_delivery: false,
        }
    }

    /// A look at a card, answered with 304 the second time.
    pub fn look(&mut self, agent: &Agent, client: usize, status: u16) {
        let mut call = self.call(agent, client, "GET", format!("{}/.well-known/agent-card.json", agent.path));
        call.status = status;
        call.version = "";
        if status == 200 {
            call.got.push(self.card(agent));
        }
        self.calls.push(call);
    }

    fn card(&self, agent: &Agent) -> Value {
        let url = format!("http://{HOST}{}", agent.path);
        let mut card = json!({
            "name": format!("Agent of {}", agent.path), "description": "Works", "version": "1.0.0",
            "capabilities": {"streaming": true, "pushNotifications": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
            "skills": [{"id": agent.skill, "name": agent.skill, "description": "Does it", "tags": ["text"]}],
        });
        let more = match self.speech {
            Speech::Rpc03 => json!({"protocolVersion": "0.3.0", "url": url, "preferredTransport": "JSONRPC"}),
            Speech::Rpc1 => {
                json!({"supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]})
            }
            Speech::Rest1 => {
                json!({"supportedInterfaces": [{"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}]})
            }
        };
        card.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        card
    }

    fn part(&self, text: &str) -> Value {
        if self.is_v1() { json!({"text": text}) } else { json!({"kind": "text", "text": text}) }
    }

    /// A part that names its type, one of those that the card promises.
    fn file(&self) -> Value {
        match self.is_v1() {
            true => json!({"raw": "dGV4dA==", "mediaType": "text/plain", "filename": "result.txt"}),
            false => {
                json!({"kind": "file", "file": {"bytes": "dGV4dA==", "mimeType": "text/plain", "name": "result.txt"}})
            }
        }
    }

    fn message(&self, id: &str, role: &str, text: &str) -> Value {
        match self.is_v1() {
            true => {
                json!({"messageId": id, "role": format!("ROLE_{}", role.to_uppercase()), "parts": [self.part(text)]})
            }
            false => json!({"kind": "message", "messageId": id, "role": role, "parts": [self.part(text)]}),
        }
    }

    fn status(&mut self, told: &Told<'_>) -> Value {
        let state = match self.is_v1() {
            true => format!("TASK_STATE_{}", told.state.to_uppercase().replace('-', "_")),
            false => told.state.to_owned(),
        };
        let at = chrono::DateTime::from_timestamp_nanos(self.now).format("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
        let mut status = json!({"state": state, "timestamp": at});
        if !told.says.is_empty() {
            let id = self.id();
            status["message"] = self.message(&id, "agent", told.says);
        }
        status
    }

    fn task(&mut self, told: &Told<'_>) -> Value {
        let mut task = json!({"id": told.task, "contextId": format!("of-{}", told.task), "status": self.status(told)});
        if told.state == "completed" {
            task["artifacts"] = json!([{"artifactId": "result", "parts": [self.part("the result"), self.file()]}]);
        }
        if !self.is_v1() {
            task["kind"] = "task".into();
        }
        task
    }

    /// The request and answers of an operation, in the binding spoken. `rest`: method and path below the agent's.
    fn ask(
        &mut self,
        agent: &Agent,
        client: usize,
        operation: [&str; 2],
        rest: (&'static str, String),
        params: Value,
    ) -> Call {
        if self.speech == Speech::Rest1 {
            let mut call = self.call(agent, client, rest.0, format!("{}{}", agent.path, rest.1));
            call.sent = if rest.0 == "GET" { Value::Null } else { params };
            return call;
        }
        let mut call = self.call(agent, client, "POST", agent.path.to_owned());
        let method = operation[usize::from(self.is_v1())];
        call.sent = json!({"jsonrpc": "2.0", "id": self.calls.len(), "method": method, "params": params});
        call
    }

    fn answer(&self, call: &Call, result: Value) -> Value {
        if self.speech == Speech::Rest1 {
            result
        } else {
            json!({"jsonrpc": "2.0", "id": call.sent["id"], "result": result})
        }
    }

    /// A message that makes a task or goes on with one, told as it then is; the message's id.
    pub fn send(&mut self, agent: &Agent, client: usize, goes_on: bool, told: &Told<'_>) -> String {
        let message_id = self.id();
        let mut call = self.sending(agent, client, &message_id, goes_on.then_some(told.task));
        let task = self.task(told);
        let result = if self.is_v1() { json!({"task": task}) } else { task };
        call.got.push(self.answer(&call, result));
        call.millis = 800;
        self.calls.push(call);
        message_id
    }

    fn sending(&mut self, agent: &Agent, client: usize, message_id: &str, task: Option<&str>) -> Call {
        let mut message = self.message(message_id, "user", "work, please");
        message["metadata"] = json!({"skillId": agent.skill});
        if let Some(task) = task {
            (message["taskId"], message["contextId"]) = (task.into(), format!("of-{task}").into());
        }
        let rest = ("POST", "/message:send".to_owned());
        self.ask(agent, client, ["message/send", "SendMessage"], rest, json!({"message": message}))
    }

    /// A message that the agent or the gateway refuses; no answer where `error` is null.
    pub fn send_refused(&mut self, agent: &Agent, client: usize, message_id: &str, status: u16, error: Value) {
        let mut call = self.sending(agent, client, message_id, None);
        call.status = status;
        if error.is_null() {
            call.upstream = "";
        } else {
            call.got.push(error);
        }
        self.calls.push(call);
    }

    /// The same message again, answered.
    pub fn send_again(&mut self, agent: &Agent, client: usize, message_id: &str, told: &Told<'_>) {
        let mut call = self.sending(agent, client, message_id, None);
        let task = self.task(told);
        let result = if self.is_v1() { json!({"task": task}) } else { task };
        call.got.push(self.answer(&call, result));
        self.calls.push(call);
    }

    /// A stream from the first word to the last.
    pub fn stream(&mut self, agent: &Agent, client: usize, task: &str) {
        let message_id = self.id();
        let mut call = self.sending(agent, client, &message_id, None);
        match self.speech {
            Speech::Rest1 => call.path = format!("{}/message:stream", agent.path),
            _ => call.sent["method"] = if self.is_v1() { "SendStreamingMessage" } else { "message/stream" }.into(),
        }
        (call.streams, call.millis) = (true, 2000);
        let context = format!("of-{task}");
        let first = self.task(&told(task, "submitted"));
        let working = self.status(&told(task, "working"));
        let done = self.status(&told(task, "completed"));
        let artifact = |text: Value, more: Value| {
            let mut update =
                json!({"taskId": task, "contextId": context, "artifact": {"artifactId": "result", "parts": [text]}});
            update.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            update
        };
        let status = |status: Value, is_last: bool| json!({"taskId": task, "contextId": context, "status": status, "final": is_last});
        let events = [
            ("task", first),
            ("statusUpdate", status(working, false)),
            ("artifactUpdate", artifact(self.part("the "), json!({}))),
            ("artifactUpdate", artifact(self.part("result"), json!({"append": true, "lastChunk": true}))),
            ("statusUpdate", status(done, true)),
        ];
        for (name, mut event) in events {
            if !self.is_v1() {
                let kind = match name {
                    "statusUpdate" => "status-update",
                    "artifactUpdate" => "artifact-update",
                    _ => "task",
                };
                event["kind"] = kind.into();
                call.got.push(self.answer(&call, event));
                continue;
            }
            // 1.0 has no word for the last.
            event.as_object_mut().unwrap().remove("final");
            let event = json!({ name: event });
            call.got.push(self.answer(&call, event));
        }
        self.calls.push(call);
    }

    /// A read of a task.
    pub fn poll(&mut self, agent: &Agent, client: usize, told: &Told<'_>) {
        let mut call = self.reading(agent, client, told.task);
        let task = self.task(told);
        call.got.push(self.answer(&call, task));
        self.calls.push(call);
    }

    fn reading(&mut self, agent: &Agent, client: usize, task: &str) -> Call {
        self.ask(agent, client, ["tasks/get", "GetTask"], ("GET", format!("/tasks/{task}")), json!({"id": task}))
    }

    /// A read of a task that the agent does not know.
    pub fn poll_unknown(&mut self, agent: &Agent, client: usize, task: &str) {
        let call = self.reading(agent, client, task);
        let error = self.error(&call, -32001, 404, "TASK_NOT_FOUND", "Task not found");
        self.refuse(call, error);
    }

    pub fn cancel(&mut self, agent: &Agent, client: usize, task: &str, can: bool) {
        let rest = ("POST", format!("/tasks/{task}:cancel"));
        let mut call = self.ask(agent, client, ["tasks/cancel", "CancelTask"], rest, json!({"id": task}));
        if can {
            let task = self.task(&told(task, "canceled"));
            call.got.push(self.answer(&call, task));
            self.calls.push(call);
            return;
        }
        let error = self.error(&call, -32002, 409, "TASK_NOT_CANCELABLE", "Task cannot be canceled");
        self.refuse(call, error);
    }

    fn refuse(&mut self, mut call: Call, (status, error): (u16, Value)) {
        call.status = status;
        call.got.push(error);
        self.calls.push(call);
    }

    /// An error in the binding spoken, with its HTTP status.
    pub fn error(&self, call: &Call, code: i64, status: u16, reason: &str, text: &str) -> (u16, Value) {
        let info = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}]);
        match self.speech {
            Speech::Rest1 => (status, json!({"error": {"code": status, "message": text, "details": info}})),
            _ => (200, json!({"jsonrpc": "2.0", "id": call.sent["id"], "error": {"code": code, "message": text}})),
        }
    }

    /// A look that is no look: what probes and browsers ask for.
    fn noise(&mut self, path: &str, status: u16) {
        let mut call = self.call(&SUMMARY, 0, "GET", path.to_owned());
        (call.status, call.version, call.got) = (status, "", vec![json!({"status": "ok"})]);
        self.calls.push(call);
    }
}

/// Three hours.
pub fn healthy(speech: Speech) -> Day {
    let mut day = Day::new(speech);
    for client in 0..3 {
        day.look(&SUMMARY, client, 200);
        day.look(&TRANSLATE, client, 200);
    }
    work(&mut day);
    failures(&mut day);
    for round in 0..12 {
        day.now += 10 * MINUTE;
        let tasks = [day.id(), day.id(), day.id()];
        day.send(&SUMMARY, 0, false, &told(&tasks[0], "completed"));
        day.stream(&SUMMARY, 1, &tasks[1]);
        day.send(&TRANSLATE, 2, false, &told(&tasks[2], "completed"));
        day.poll(&TRANSLATE, 2, &told(&tasks[2], "completed"));
        day.noise("/healthz", 200);
        if round % 6 == 5 {
            (0..3).for_each(|client| day.look(&SUMMARY, client, 304));
        }
    }
    day.noise("/favicon.ico", 404);
    day
}

/// Tasks that take more than one call.
fn work(day: &mut Day) {
    let long = day.id();
    day.send(&TRANSLATE, 0, false, &told(&long, "working"));
    for _ in 0..5 {
        day.now += MINUTE;
        day.poll(&TRANSLATE, 0, &told(&long, "working"));
    }
    day.now += MINUTE;
    day.poll(&TRANSLATE, 0, &told(&long, "completed"));
    let asks = day.id();
    day.send(&SUMMARY, 1, false, &Told { says: "Which language?", ..told(&asks, "input-required") });
    day.now += MINUTE;
    day.send(&SUMMARY, 1, true, &told(&asks, "completed"));
    let dropped = day.id();
    day.send(&SUMMARY, 0, false, &told(&dropped, "working"));
    day.cancel(&SUMMARY, 0, &dropped, true);
    day.poll(&SUMMARY, 0, &told(&dropped, "canceled"));
    day.now += 30 * MINUTE;
    // Ended tasks stay as they ended.
    day.poll(&TRANSLATE, 0, &told(&long, "completed"));
    day.poll(&SUMMARY, 0, &told(&dropped, "canceled"));
    // Who comes too late is told so.
    day.cancel(&TRANSLATE, 0, &long, false);
}

/// What goes wrong on any day, once.
fn failures(day: &mut Day) {
    day.poll_unknown(&SUMMARY, 1, "a-task-with-a-typo");
    let failed = day.id();
    day.send(&SUMMARY, 1, false, &Told { says: "The model is overloaded, try later", ..told(&failed, "failed") });
    let rejected = day.id();
    day.send(&SUMMARY, 2, false, &Told { says: "The document is longer than 10 pages", ..told(&rejected, "rejected") });
    for (code, status, reason, text) in [
        (-32602, 400, "INVALID_PARAMS", "Invalid params: parts must not be empty"),
        (-32603, 500, "INTERNAL", "Internal error: model backend unavailable"),
    ] {
        let (message, next) = (day.id(), day.id());
        let call = day.sending(&TRANSLATE, 2, &message, None);
        let error = day.error(&call, code, status, reason, text);
        day.refuse(call, error);
        day.now += MINUTE;
        day.send(&TRANSLATE, 2, false, &told(&next, "completed"));
    }
    // A caller that forgot its token, then found it.
    let message = day.id();
    day.send_refused(&SUMMARY, 2, &message, 401, json!({"error": "no token"}));
    let next = day.id();
    day.send_again(&SUMMARY, 2, &message, &told(&next, "completed"));
    // The gateway had nobody to pass it on to, for a moment.
    let message = day.id();
    day.send_refused(&SUMMARY, 1, &message, 503, Value::Null);
    day.now += 5 * SECOND;
    let next = day.id();
    day.send_again(&SUMMARY, 1, &message, &told(&next, "completed"));
}
