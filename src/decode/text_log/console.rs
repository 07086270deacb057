//! Sentences that stand alone on their line: what a2a-js prints with `console`, .NET's formatter below its head, and
//! `java.util.logging` behind its level.
//!
//! In: a line. Out: the line as it is, if it begins as one of the sentences of `queries/aliases.toml` that are printed so.
//! What it says is for them to tell; here it is only known that it is worth it.

use super::Line;

/// Beginnings of the sentences.
const BEGINNINGS: [&str; 8] = [
    // @a2a-js/sdk 1.3.0 and 0.3, server/index.js and server/express/index.js
    "Push notification sent for task_id=",
    "Error sending push notification for task_id=",
    "Pre-stream error for request ",
    "Error during SSE streaming (request ",
    "Error in agent event stream for ",
    "Unhandled error in JSON-RPC POST handler: ",
    // a2a-dotnet, src/A2A/Log.cs
    "Background event processing failed for task ",
    // a2a-java, BasePushNotificationSender
    "Some push notifications failed to send for taskId",
];

/// Levels that `java.util.logging` puts before the sentence.
const LEVELS: [(&str, &str); 3] = [("SEVERE: ", "ERROR"), ("WARNING: ", "WARN"), ("INFO: ", "INFO")];

/// Reads a line.
pub(super) fn read(line: &str) -> Option<Line> {
    let (level, said) =
        LEVELS.iter().find_map(|(word, level)| Some((*level, line.strip_prefix(word)?))).unwrap_or_default();
    let said = if level.is_empty() { line } else { said };
    BEGINNINGS.iter().any(|beginning| said.starts_with(beginning)).then(|| Line {
        level: level.to_owned(),
        message: said.to_owned(),
        ..Line::default()
    })
}
