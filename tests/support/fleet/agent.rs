//! An agent of a generated fleet, in the dialect that it speaks: its card, its answers.

use serde_json::{Value, json};

use super::tape::{Tape, Taped, rfc3339};

/// What an agent and its callers speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// A2A 0.1: `tasks/send`, ids by the client.
    V01,
    /// A2A 0.3 over JSON-RPC.
    V03,
    /// A2A 1.0 over JSON-RPC.
    V10,
}

/// A skill of a card.
#[derive(Clone)]
pub struct Skill {
    pub id: String,
    pub input: Vec<String>,
    pub output: Vec<String>,
    pub description: String,
}

impl Skill {
    /// A skill that takes plain text.
    pub fn new(id: &str, output: &[&str]) -> Self {
        let output = output.iter().map(|&mode| mode.to_owned()).collect();
        Self { id: id.to_owned(), input: vec!["text/plain".to_owned()], output, description: format!("Does {id}.") }
    }
}

/// An agent as it is now.
#[derive(Clone)]
pub struct Agent {
    pub host: String,
    pub name: String,
    pub dialect: Dialect,
    pub version: String,
    pub skills: Vec<Skill>,
    pub description: String,
}

/// How a task goes.
#[derive(Clone)]
pub enum Ending {
    /// Completes with one artifact of this declared type (`""` for none).
    Completes(&'static str),
    /// Fails with this text.
    Fails(&'static str),
}

impl Agent {
    /// Where its card is.
    pub fn card_url(&self) -> String {
        let file = if self.dialect == Dialect::V10 { "agent-card.json" } else { "agent.json" };
        format!("https://{}/.well-known/{file}", self.host)
    }

    /// Where it is called.
    pub fn url(&self) -> String {
        format!("https://{}/a2a", self.host)
    }

    /// Its card, in its dialect.
    pub fn card(&self) -> Value {
        let skills: Vec<Value> = self
            .skills
            .iter()
            .map(|s| json!({"id": s.id, "name": s.id, "description": s.description, "tags": ["t"], "inputModes": s.input, "outputModes": s.output}))
            .collect();
        let mut card = json!({
            "name": self.name, "description": self.description, "version": self.version, "skills": skills,
            "capabilities": {"streaming": true, "pushNotifications": true},
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        });
        match self.dialect {
            Dialect::V10 => {
                card["supportedInterfaces"] =
                    json!([{"url": self.url(), "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
            }
            Dialect::V03 => {
                card["url"] = json!(self.url());
                card["protocolVersion"] = json!("0.3.0");
                card["preferredTransport"] = json!("JSONRPC");
            }
            Dialect::V01 => card["url"] = json!(self.url()),
        }
        card
    }

    /// A caller fetches the card.
    pub fn look(&self, tape: &mut Tape, at: i64, caller: &str) {
        let url = self.card_url();
        tape.write(Taped { response: Some(self.card()), ..Taped::new(at, caller, "GET", &url) });
    }

    /// A caller sends a message for a skill and the agent answers at once with an accepted task; a poll 20 s later finds
    /// it ended. The task's id.
    pub fn work(&self, tape: &mut Tape, at: i64, caller: &str, skill: Option<&str>, ending: &Ending) -> String {
        let id = tape.id();
        let context = tape.id();
        self.send(tape, at, caller, (&id, &context), skill, "submitted");
        self.poll(tape, at + 20_000_000_000, caller, (&id, &context), Some(ending));
        id
    }

    /// A message that makes a task, answered with the task in a state.
    pub fn send(&self, tape: &mut Tape, at: i64, caller: &str, task: (&str, &str), skill: Option<&str>, state: &str) {
        let (id, context) = task;
        let (rpc, message) = (tape.id(), tape.id());
        let metadata = skill.map_or(json!({}), |skill| json!({"skillId": skill}));
        let (method, params) = match self.dialect {
            Dialect::V01 => {
                let mut params = json!({"id": id, "sessionId": context, "message": {"role": "user", "parts": [{"type": "text", "text": "please"}]}});
                if let Some(skill) = skill {
                    params["skillId"] = json!(skill);
                }
                ("tasks/send", params)
            }
            Dialect::V03 => (
                "message/send",
                json!({"message": {"kind": "message", "messageId": message, "role": "user", "metadata": metadata, "parts": [{"kind": "text", "text": "please"}]}, "configuration": {"blocking": false}}),
            ),
            Dialect::V10 => (
                "SendMessage",
                json!({"message": {"messageId": message, "role": "ROLE_USER", "metadata": metadata, "parts": [{"text": "please"}]}, "configuration": {"returnImmediately": true}}),
            ),
        };
        let result = self.task(task, at + 10_000_000, state, None);
        let result = if self.dialect == Dialect::V10 { json!({"task": result}) } else { result };
        self.call(tape, at, caller, method, (&rpc, params), json!({"result": result}));
    }

    /// A read of the task; without an ending it still works.
    pub fn poll(&self, tape: &mut Tape, at: i64, caller: &str, task: (&str, &str), ending: Option<&Ending>) {
        let rpc = tape.id();
        let method = if self.dialect == Dialect::V10 { "GetTask" } else { "tasks/get" };
        let state = match ending {
            None => "working",
            Some(Ending::Completes(_)) => "completed",
            Some(Ending::Fails(_)) => "failed",
        };
        let result = self.task(task, at - 5_000_000_000, state, ending);
        self.call(tape, at, caller, method, (&rpc, json!({"id": task.0})), json!({"result": result}));
    }

    /// A JSON-RPC call with its answer (`result` or `error`).
    pub fn call(
        &self,
        tape: &mut Tape,
        at: i64,
        caller: &str,
        method: &str,
        request: (&str, Value),
        mut answer: Value,
    ) {
        let (rpc, params) = request;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = json!(rpc);
        let url = self.url();
        let headers = if self.dialect == Dialect::V10 { vec![("a2a-version", "1.0".to_owned())] } else { Vec::new() };
        tape.write(Taped {
            request: Some(json!({"jsonrpc": "2.0", "id": rpc, "method": method, "params": params})),
            request_headers: headers,
            response: Some(answer),
            ..Taped::new(at, caller, "POST", &url)
        });
    }

    /// A task object in the agent's dialect.
    pub fn task(&self, task: (&str, &str), at: i64, state: &str, ending: Option<&Ending>) -> Value {
        let (id, context) = task;
        let part = |text: &str, mode: &str| match (self.dialect, mode) {
            (Dialect::V01, _) => json!({"type": "text", "text": text}),
            (Dialect::V03, _) => json!({"kind": "text", "text": text}),
            (Dialect::V10, "") => json!({"text": text}),
            (Dialect::V10, mode) => json!({"text": text, "mediaType": mode}),
        };
        let state = match self.dialect {
            Dialect::V10 => format!("TASK_STATE_{}", state.to_uppercase().replace('-', "_")),
            _ => state.to_owned(),
        };
        let mut result = json!({"id": id, "status": {"state": state, "timestamp": rfc3339(at)}});
        match self.dialect {
            Dialect::V01 => result["sessionId"] = json!(context),
            Dialect::V03 => {
                result["contextId"] = json!(context);
                result["kind"] = json!("task");
            }
            Dialect::V10 => result["contextId"] = json!(context),
        }
        match ending {
            Some(Ending::Completes(mode)) => {
                let artifact = match self.dialect {
                    Dialect::V01 => json!({"index": 0, "parts": [part("fine", mode)]}),
                    _ => json!({"artifactId": "art-1", "parts": [part("fine", mode)]}),
                };
                result["artifacts"] = json!([artifact]);
            }
            Some(Ending::Fails(text)) => {
                let role = if self.dialect == Dialect::V10 { "ROLE_AGENT" } else { "agent" };
                result["status"]["message"] =
                    json!({"role": role, "messageId": format!("{id}-m"), "parts": [part(text, "")]});
            }
            None => {}
        }
        result
    }
}
