//! Names for what is in a case's lines: `@2:46.task` is the task id in the line that the second group picked as 46;
//! `@2:46#3.task` that of its third copy.
//!
//! In: an assembled capture and a name. Out: the id, or the line meant.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::assemble::{Capture, Line};
use super::edit::body_json;
use super::stream::Stream;
use super::{Told, pattern};

impl Capture {
    /// The line that `@group:number` or `@group:number#copy` means.
    ///
    /// # Errors
    /// When there is none.
    pub fn line(&self, name: &str) -> Told<&Line> {
        static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^@(\d+):(\d+)(?:#(\d+))?$"));
        let parts = NAME.as_ref().and_then(|pattern| pattern.captures(name));
        let parts = parts.ok_or_else(|| format!("`{name}`: write @group:line or @group:line#copy"))?;
        let number = |at: usize| parts.get(at).map_or(1, |n| n.as_str().parse().unwrap_or(0));
        let is_it =
            |line: &&Line| line.group == number(1) && line.number == number(2) && line.copy as usize == number(3);
        self.lines.iter().find(is_it).ok_or_else(|| format!("`{name}`: the case has no such line"))
    }

    /// The value that a name stands for; a value without `@` stands for itself.
    ///
    /// # Errors
    /// When the name stands for nothing.
    pub fn resolve(&self, name: &str) -> Told<String> {
        if !name.starts_with('@') {
            return Ok(name.to_owned());
        }
        let (line, what) = name.split_once('.').ok_or_else(|| format!("`{name}`: write @group:line.task"))?;
        let line: Value = serde_json::from_str(&self.line(line)?.text).map_err(|e| format!("`{name}`: {e}"))?;
        let pointers: &[&str] = match what {
            "task" => &["/task/id", "/taskId", "/statusUpdate/taskId", "/artifactUpdate/taskId", "/id"],
            "context" => &["/task/contextId", "/contextId", "/statusUpdate/contextId", "/sessionId"],
            "artifact" => &[
                "/task/artifacts/0/artifactId",
                "/artifacts/0/artifactId",
                "/artifactUpdate/artifact/artifactId",
                "/artifact/artifactId",
            ],
            "message" => &["/message/messageId"],
            _ => return Err(format!("`{name}`: task, context, artifact or message")),
        };
        documents(&line)
            .iter()
            .find_map(|document| {
                pointers.iter().find_map(|pointer| document.pointer(pointer)?.as_str().map(str::to_owned))
            })
            .or_else(|| if what == "task" { url_task(&line) } else { None })
            .ok_or_else(|| format!("`{name}`: the line has none"))
    }
}

/// What a line says: the answer, the events of its stream, then the request; without JSON-RPC envelopes.
fn documents(line: &Value) -> Vec<Value> {
    let answer = body_json(line, "response").into_iter();
    let events = Stream::open(line).map_or_else(|_| Vec::new(), |stream| stream.all().cloned().collect());
    let request = body_json(line, "request").into_iter();
    let bare = |document: Value| {
        let inside = document.get("result").or_else(|| document.get("params"));
        match inside {
            Some(inside) => Some(inside.clone()),
            None if document.get("jsonrpc").is_some() => None,
            None => Some(document),
        }
    };
    answer.chain(events).chain(request).filter_map(bare).collect()
}

/// The task in a path such as `/rest/tasks/ID:cancel`.
fn url_task(line: &Value) -> Option<String> {
    static PATH: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"/tasks/([^/:?]+)"));
    Some(PATH.as_ref()?.captures(line.pointer("/request/url")?.as_str()?)?[1].to_owned())
}
