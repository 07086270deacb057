//! What Fluent Bit, Fluentd, Vector and Filebeat have in common: a record with the line under one key, and what is known of
//! it beside.
//!
//! In: such a record. Out: the line, or the record without what is the shipper's own, where the shipper took the line apart.

use serde_json::{Map, Value};

use super::labels::Labels;
use super::{GoesOn, Payload, Wrapped, take_text, text};
use crate::decode::exchange::instant;
use crate::decode::frame::Said;
use crate::decode::headers::hex_id;
use crate::decode::{access_log, json, text_log, times, wrapper};

/// Keys under which the line stands.
const LINE: [&str; 3] = ["log", "message", "MESSAGE"];

/// Keys under which the members of a line stand that was taken apart, with the line gone.
const APART: [&str; 4] = ["log_processed", "log_parsed", "structured", "json"];

/// Keys of the time, the line's own first.
const TIME: [&str; 5] = ["time", "@timestamp", "timestamp", "date", "fluentbit_timestamp"];

/// Keys that shippers add and no program has, besides those that begin with an underscore.
const OWN: [&str; 21] = [
    "@metadata",
    "@version",
    "container_created_at",
    "container_hash",
    "container_id",
    "container_image",
    "container_name",
    "docker",
    "ecs",
    "ecs_cluster",
    "ecs_task_arn",
    "ecs_task_definition",
    "fluentbit_timestamp",
    "kubernetes",
    "logtag",
    "partial_id",
    "partial_last",
    "partial_message",
    "partial_ordinal",
    "source_type",
    "timestamp_end",
];

/// Keys that shippers add, and programs have as well.
const SHARED: [&str; 21] = [
    "aws",
    "az",
    "cloud",
    "container",
    "ec2_instance_id",
    "file",
    "filename",
    "flags",
    "host",
    "hostname",
    "image",
    "input",
    "label",
    "nomad",
    "offset",
    "orchestrator",
    "path",
    "source",
    "stream",
    "tag",
    "tags",
];

/// Objects that Elastic's agents add (ECS), and that say nothing of the line.
const AROUND: [&str; 5] = ["data_stream", "elastic_agent", "event", "fields", "process"];

/// Opens a record.
pub(super) fn open(mut map: Map<String, Value>) -> Vec<Wrapped> {
    nest(&mut map);
    let said = said(&map);
    let is_part = text(&map, "logtag") == "P"
        || map.get("_p").and_then(Value::as_str) == Some("P")
        || (is_true(map.get("partial_message")) && !is_true(map.get("partial_last")));
    let is_vectors = map.contains_key("source_type");
    map.retain(|key, value| {
        let is_own = OWN.contains(&key.as_str()) || key.starts_with('_') || key.starts_with("kubernetes.");
        // The host on which the shipper runs is none that the line speaks of.
        let is_host = key == "host" && (is_vectors || value.is_object());
        !(is_own || is_host || is_place(key, value))
    });
    without_place(&mut map);
    let payload = match payload_of(map) {
        Payload::Text(text, _) if is_part => Payload::Text(text, GoesOn::Yes),
        payload => payload,
    };
    vec![Wrapped { said, payload }]
}

/// What was logged, of an object that may hold the line itself or the members that a shipper took out of it.
pub(super) fn payload_of(mut map: Map<String, Value>) -> Payload {
    let find = |is: fn(&Value) -> bool| LINE.into_iter().find(|key| map.get(*key).is_some_and(is));
    let Some(key) = find(Value::is_string).or_else(|| find(is_logged)) else {
        let apart = APART.iter().find(|key| map.get(**key).is_some_and(Value::is_object));
        return Payload::Value(apart.and_then(|key| map.remove(*key)).unwrap_or(Value::Object(map)));
    };
    if map[key].is_object() {
        return Payload::Value(map.remove(key).unwrap_or_default());
    }
    let is_shippers = |other: &str| other == key || TIME.contains(&other) || SHARED.contains(&other);
    let is_around = |other: &str, value: &Value| value.is_object() && AROUND.contains(&other);
    let is_alone = map.iter().all(|(other, value)| is_shippers(other) || is_around(other, value));
    let line = take_text(&mut map, key).unwrap_or_default();
    if is_alone || is_whole(&line) {
        return Payload::Text(line, GoesOn::No);
    }
    // The line was taken apart, and says more than its sentence. Readers of JSON logs know `message`.
    map.entry("message").or_insert(Value::from(line));
    Payload::Value(Value::Object(map))
}

/// An object that was a line, and no message of the protocol.
fn is_logged(line: &Value) -> bool {
    line.is_object() && !["parts", "messageId", "role", "content"].iter().any(|key| line.get(*key).is_some())
}

/// Whether a line says all by itself.
fn is_whole(line: &str) -> bool {
    let line = line.trim();
    json::begins(line.as_bytes()) != Some(false) && !line.is_empty()
        || line.starts_with("data:")
        || wrapper::cri(line).is_some()
        || text_log::is_one(line)
        || access_log::is_one(line)
}

/// Whether a member says where a line was read: `stream` of a container, `agent` and `input` of Filebeat.
fn is_place(key: &str, value: &Value) -> bool {
    match key {
        "stream" => value == "stdout" || value == "stderr",
        "agent" | "input" => value.is_object(),
        _ => false,
    }
}

fn is_true(value: Option<&Value>) -> bool {
    value.is_some_and(|value| value == "true" || value == &Value::Bool(true))
}

/// Makes `kubernetes.pod_name` a member of `kubernetes`, for sinks that flatten.
fn nest(map: &mut Map<String, Value>) {
    if map.contains_key("kubernetes") {
        return;
    }
    let flat = map.iter().filter_map(|(key, value)| Some((key.strip_prefix("kubernetes.")?.to_owned(), value.clone())));
    let nested: Map<String, Value> = flat.collect();
    if !nested.is_empty() {
        map.insert("kubernetes".to_owned(), Value::Object(nested));
    }
}

/// Takes out of `log` where a file was read: Filebeat puts it beside what the line itself says there.
fn without_place(map: &mut Map<String, Value>) {
    let Some(Value::Object(log)) = map.get_mut("log") else { return };
    log.retain(|key, _| !matches!(key.as_str(), "offset" | "file" | "flags" | "source"));
    if log.is_empty() {
        map.remove("log");
    }
}

fn said(map: &Map<String, Value>) -> Said {
    let mut labels = Labels::default();
    if let Some(Value::Object(kubernetes)) = map.get("kubernetes") {
        labels.kubernetes(kubernetes);
    }
    for (name, keys) in [
        ("container.id", &["container_id"][..]),
        ("container.name", &["container_name"]),
        ("container.image.name", &["image", "container_image"]),
        ("host.name", &["host", "hostname"]),
        ("log.file.path", &["file", "filename", "path"]),
        ("aws.ecs.cluster.arn", &["ecs_cluster"]),
        ("aws.ecs.task.arn", &["ecs_task_arn"]),
        ("aws.ecs.task.family", &["ecs_task_definition"]),
    ] {
        keys.iter().for_each(|key| labels.text(name, map.get(*key)));
    }
    let inside = |object: &str, name: &str| map.get(object).and_then(|object| object.get(name));
    labels.text("container.id", inside("container", "id"));
    labels.text("host.name", inside("host", "name"));
    if let Some(Value::Object(docker)) = map.get("label") {
        labels.service(docker, &["com.docker.compose.service"]);
    }
    let id = |object: &str| inside(object, "id").and_then(Value::as_str).unwrap_or_default();
    let stream = ["stream", "source"].iter().map(|key| text(map, key)).find(|text| !text.is_empty());
    let time = TIME.iter().find_map(|key| map.get(*key));
    let at = time.and_then(instant);
    Said {
        at,
        has_bad_time: at.is_none() && times::is_given(time),
        labels: labels.done(),
        trace_id: hex_id::<32>(id("trace")).unwrap_or_default(),
        span_id: hex_id::<16>(id("span")).unwrap_or_default(),
        stream: format!("{}{}", stream.unwrap_or_default(), text(map, "tag")),
    }
}
