//! Artifacts to rows of `artifact_parts`.
//!
//! In: a whole task's artifacts or an artifact event, of any dialect, and where it was seen. Out: one row a part. Never the
//! content: its kind, type and size.

use serde_json::Value;

use super::json;
use super::media_type;
use super::task::Sighting;
use crate::tables::{ArtifactPartColumns, ArtifactPartRow, Facts, bounded};

/// The task that artifacts belong to.
pub(crate) struct Owner<'a> {
    pub(crate) task_id: &'a str,
    pub(crate) context_id: &'a str,
}

/// Rows of a whole task's artifacts.
pub(crate) fn snapshot(artifacts: &[Value], owner: &Owner<'_>, seen: &Sighting<'_>, facts: &mut Facts) {
    for (index, artifact) in artifacts.iter().enumerate() {
        let row = ArtifactPartColumns {
            artifact_id: artifact_id(artifact, index),
            snapshot: Some(true),
            ordinal: i64::try_from(index).ok(),
            ..columns(owner, seen)
        };
        parts(artifact, &row, seen, facts);
    }
}

/// Rows of an artifact event. 0.1 keeps `append` and `lastChunk` in the artifact; all dialects may leave out `false`.
pub(crate) fn event(event: &Value, owner: &Owner<'_>, seen: &Sighting<'_>, facts: &mut Facts) {
    let artifact = event.get("artifact").unwrap_or(&Value::Null);
    let said = |names: &[&str]| json::flag(event, names).or_else(|| json::flag(artifact, names)).unwrap_or(false);
    let row = ArtifactPartColumns {
        artifact_id: artifact_id(artifact, 0),
        append: Some(said(&["append"])),
        last_chunk: Some(said(&["lastChunk", "last_chunk"])),
        snapshot: Some(false),
        ordinal: seen.ordinal,
        ..columns(owner, seen)
    };
    parts(artifact, &row, seen, facts);
}

fn columns(owner: &Owner<'_>, seen: &Sighting<'_>) -> ArtifactPartColumns {
    ArtifactPartColumns {
        task_id: owner.task_id.to_owned(),
        context_id: owner.context_id.to_owned(),
        skill_id: seen.skill_id.to_owned(),
        origin: seen.origin.to_owned(),
        action: "received".to_owned(),
        ..ArtifactPartColumns::default()
    }
}

/// `artifactId`; 0.1's `index`, whose default is 0 in an event and the place in a list.
fn artifact_id(artifact: &Value, place: usize) -> String {
    match json::text(artifact, &["artifactId", "artifact_id"]) {
        "" => json::integer(artifact.get("index")).map_or_else(|| place.to_string(), |index| index.to_string()),
        id => bounded(id).into_owned(),
    }
}

fn parts(artifact: &Value, row: &ArtifactPartColumns, seen: &Sighting<'_>, facts: &mut Facts) {
    let parts = json::list(artifact, &["parts"]).map(Vec::as_slice).unwrap_or_default();
    if parts.is_empty() {
        facts.push_artifact_part(ArtifactPartRow { common: seen.common.clone(), own: row.clone() });
    }
    for (index, part) in parts.iter().enumerate() {
        let part = Part::read(part);
        let own = ArtifactPartColumns {
            part_index: i64::try_from(index).ok(),
            part_kind: part.kind.to_owned(),
            media_type: part.media_type,
            media_type_from: part.from.to_owned(),
            size: part.size,
            ..row.clone()
        };
        facts.push_artifact_part(ArtifactPartRow { common: seen.common.clone(), own });
    }
}

/// A part of any dialect.
struct Part {
    kind: &'static str,
    media_type: String,
    from: &'static str,
    size: Option<i64>,
}

impl Part {
    /// Told apart by the member present, which holds in all dialects; `kind` and `type` of 0.x only repeat it.
    fn read(part: &Value) -> Self {
        let file = json::object(part, &["file"]);
        let holder = file.unwrap_or(part);
        let raw = json::text(holder, &["raw", "bytes", "fileWithBytes", "file_with_bytes"]);
        let url = json::text(holder, &["url", "uri", "fileWithUri", "file_with_uri"]);
        let (kind, size) = if let Some(text) = part.get("text").and_then(Value::as_str) {
            ("text", length(text.len()))
        } else if let Some(data) = part.get("data") {
            ("data", length(data.to_string().len()))
        } else if !raw.is_empty() {
            ("raw", length(decoded_len(raw)))
        } else if !url.is_empty() {
            ("url", None)
        } else {
            ("", None)
        };
        let named = ["mediaType", "mimeType", "media_type", "mime_type"];
        let stated = json::text(part, &named);
        let stated = if stated.is_empty() { json::text(holder, &named) } else { stated };
        let (media_type, from) = match (media_type::canonical(stated), kind) {
            (stated, _) if !stated.is_empty() => (stated, "declared"),
            (_, "data") => ("application/json".to_owned(), "inferred"),
            _ => (String::new(), "absent"),
        };
        Self { kind, media_type, from, size }
    }
}

fn length(bytes: usize) -> Option<i64> {
    i64::try_from(bytes).ok()
}

/// Length of what a base64 text decodes to, without decoding it.
fn decoded_len(base64: &str) -> usize {
    base64.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=').count() * 3 / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(value: Value) -> (&'static str, String, &'static str, Option<i64>) {
        let part = Part::read(&value);
        (part.kind, part.media_type, part.from, part.size)
    }

    fn expected(
        kind: &'static str,
        media: &str,
        from: &'static str,
        size: Option<i64>,
    ) -> (&'static str, String, &'static str, Option<i64>) {
        (kind, media.to_owned(), from, size)
    }

    #[test]
    fn parts_of_all_dialects_give_kind_type_and_size() {
        // 1.0
        assert_eq!(
            part(json!({"text": "# é", "mediaType": "Text/Markdown; charset=utf-8"})),
            expected("text", "text/markdown", "declared", Some(4))
        );
        assert_eq!(
            part(json!({"raw": "iVBORw0K", "filename": "c.png", "mediaType": "image/png"})),
            expected("raw", "image/png", "declared", Some(6))
        );
        assert_eq!(
            part(json!({"url": "https://f/r.pdf", "mediaType": "application/pdf"})),
            expected("url", "application/pdf", "declared", None)
        );
        // ListTasks of Python 1.3.0 writes the empty type.
        assert_eq!(
            part(json!({"text": "x", "filename": "", "mediaType": ""})),
            expected("text", "", "absent", Some(1))
        );
        // 0.2, 0.3
        assert_eq!(part(json!({"kind": "text", "text": "x"})), expected("text", "", "absent", Some(1)));
        assert_eq!(
            part(json!({"kind": "file", "file": {"bytes": "iVBORw0K", "mimeType": "image/png"}})),
            expected("raw", "image/png", "declared", Some(6))
        );
        assert_eq!(
            part(json!({"kind": "file", "file": {"uri": "https://f", "mimeType": "application/pdf"}})),
            expected("url", "application/pdf", "declared", None)
        );
        assert_eq!(
            part(json!({"kind": "data", "data": {"a": 1}})),
            expected("data", "application/json", "inferred", Some(7))
        );
        // 0.3 over HTTP+JSON
        assert_eq!(
            part(json!({"file": {"fileWithBytes": "AAA=", "mimeType": "image/png"}})),
            expected("raw", "image/png", "declared", Some(2))
        );
        // 0.1: the part's type is no media type.
        assert_eq!(part(json!({"type": "text", "text": "x"})), expected("text", "", "absent", Some(1)));
    }
}
