//! The server-sent events of a recorded stream, editable, with body text and arrival chunks kept alike.
//!
//! In: the `response.body.text` and `chunks` of an exchange line. Out: the same members again after an edit.

use serde_json::{Value, json};

use super::Told;
use super::edit::body_text;

/// A stream taken apart.
#[derive(Debug, Clone)]
pub struct Stream {
    events: Vec<Event>,
    /// Arrival of each chunk: the other members of the chunk's object.
    chunks: Vec<Value>,
}

#[derive(Debug, Clone)]
struct Event {
    /// Lines before and between the data, such as `event: error`, and comments.
    fields: Vec<String>,
    data: Option<Value>,
    /// The block as it was; empty once edited.
    raw: String,
    /// Chunk in which its last byte arrived.
    chunk: usize,
}

impl Stream {
    /// Takes apart the stream of an exchange line.
    ///
    /// # Errors
    /// When the line holds none.
    pub fn open(line: &Value) -> Told<Self> {
        let text = line
            .pointer(body_text(line, "response"))
            .and_then(Value::as_str)
            .ok_or("the line has no response body text")?;
        let chunks = line.get("chunks").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut ends = Vec::new();
        let mut end = 0;
        for chunk in &chunks {
            end += chunk.get("text").and_then(Value::as_str).map_or(0, str::len);
            ends.push(end);
        }
        let mut events = Vec::new();
        let mut from = 0;
        for block in blocks(text) {
            from += block.len();
            let chunk = ends.iter().position(|end| *end >= from).unwrap_or(ends.len().saturating_sub(1));
            events.push(Event::read(block, chunk));
        }
        if !events.iter().any(|event| event.data.is_some()) {
            return Err("the response is no event stream".to_owned());
        }
        Ok(Self { events, chunks })
    }

    /// Data of the n-th event that has data, counted from 1.
    ///
    /// # Errors
    /// When there is no such event.
    pub fn data(&mut self, n: usize) -> Told<&mut Value> {
        let at = self.index(n)?;
        let event = &mut self.events[at];
        event.raw.clear();
        event.data.as_mut().ok_or_else(|| format!("event {n} has no data"))
    }

    /// Removes the n-th event.
    ///
    /// # Errors
    /// When there is no such event.
    pub fn remove(&mut self, n: usize) -> Told<()> {
        let at = self.index(n)?;
        self.events.remove(at);
        Ok(())
    }

    /// Adds an event at the end, arriving with the last chunk.
    pub fn push(&mut self, data: Value) {
        let chunk = self.chunks.len().saturating_sub(1);
        self.events.push(Event { fields: Vec::new(), data: Some(data), raw: String::new(), chunk });
    }

    /// Data of all events, in order.
    pub fn all(&self) -> impl Iterator<Item = &Value> {
        self.events.iter().filter_map(|event| event.data.as_ref())
    }

    /// Puts the stream back.
    pub fn close(self, line: &mut Value) {
        let text: String = self.events.iter().map(Event::write).collect();
        if let Some(body) = line.pointer_mut(body_text(line, "response")) {
            *body = Value::String(text);
        }
        let mut chunks = self.chunks;
        for (at, chunk) in chunks.iter_mut().enumerate() {
            let text: String = self.events.iter().filter(|event| event.chunk == at).map(Event::write).collect();
            if let Some(chunk) = chunk.as_object_mut() {
                chunk.insert("text".to_owned(), Value::String(text));
            }
        }
        chunks.retain(|chunk| chunk.get("text").is_none_or(|text| text != ""));
        if let Some(place) = line.get_mut("chunks") {
            *place = json!(chunks);
        }
    }

    fn index(&self, n: usize) -> Told<usize> {
        let with_data = self.events.iter().enumerate().filter(|(_, event)| event.data.is_some());
        let count = with_data.clone().count();
        with_data
            .map(|(at, _)| at)
            .nth(n.wrapping_sub(1))
            .ok_or_else(|| format!("no event {n}: the stream has {count}"))
    }
}

impl Event {
    fn read(block: &str, chunk: usize) -> Self {
        let (data, fields): (Vec<&str>, Vec<&str>) =
            block.lines().filter(|line| !line.is_empty()).partition(|line| line.starts_with("data:"));
        let json = data.iter().map(|line| line["data:".len()..].trim_start()).collect::<Vec<_>>().join("\n");
        Self {
            fields: fields.into_iter().map(str::to_owned).collect(),
            data: serde_json::from_str(&json).ok(),
            raw: block.to_owned(),
            chunk,
        }
    }

    fn write(&self) -> String {
        match &self.data {
            Some(data) if self.raw.is_empty() => {
                let fields: String = self.fields.iter().map(|field| format!("{field}\r\n")).collect();
                format!("{fields}data: {data}\r\n\r\n")
            }
            _ => self.raw.clone(),
        }
    }
}

/// Cuts a stream after each blank line; what follows the last one is a block too.
fn blocks(text: &str) -> Vec<&str> {
    let mut blocks = Vec::new();
    let mut from = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_end().is_empty() {
            blocks.push(&text[from..at]);
            from = at;
        }
    }
    if from < text.len() {
        blocks.push(&text[from..]);
    }
    blocks
}
