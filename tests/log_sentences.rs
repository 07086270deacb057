//! What the SDKs' own log lines give: facts where a sentence tells something, nothing where it does not.
//!
//! Go's lines were printed by its log/slog (tests/tools/log-lines), Rust's are printed here by tracing-subscriber, a2a-js'
//! were captured. Those of .NET, Java and Google's ADK are written by their loggers' documentation and the SDKs' sources.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used, clippy::panic, reason = "a test")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use a2a_drift::normalize::identity::{self, IdentitySettings};
use a2a_drift::tables::Facts;
use support::judge::{Files, facts, judge};

/// Facts of lines, each behind the time that a container's log gives it; rejects are left out.
fn of(text: &str) -> Facts {
    facts(&Files::from([("lines.log".to_owned(), text.as_bytes().to_vec())])).0
}

/// Facts of files, with agents and calls told.
fn resolved(files: &Files) -> Facts {
    let (mut facts, _) = facts(files);
    identity::resolve(&mut facts, &IdentitySettings::default());
    facts
}

fn lines(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file)).unwrap()
}

/// Task, url, status and class of each delivery.
fn deliveries(facts: &Facts) -> Vec<(&str, &str, Option<i64>, &str)> {
    facts
        .push_deliveries
        .iter()
        .map(|row| {
            let own = &row.own;
            (own.task_id.as_str(), own.url.as_str(), own.http_status, own.failure_class.as_str())
        })
        .collect()
}

const TASK: &str = "30edcf55-817e-4ccb-bd01-39b838e75625";

#[test]
fn lines_of_a2a_go_tell_of_calls_deliveries_and_failed_tasks() {
    for file in ["formats/logs/go-slog.text.log", "formats/logs/go-slog.json.log", "formats/logs/go-slog.default.log"] {
        let facts = of(&lines(file));
        assert_eq!(deliveries(&facts), [(TASK, "", Some(401), "auth")], "{file}");
        let [event] = facts.task_events.as_slice() else { panic!("{file}") };
        assert_eq!((event.own.task_id.as_str(), event.own.state.as_str()), (TASK, "failed"), "{file}");
        assert_eq!(event.own.context_id, "28707ab2-ee08-4f5f-ba05-ab6b4df1abb0", "{file}");
        let calls: Vec<_> = facts
            .exchanges
            .iter()
            .map(|row| (row.common.observer.as_str(), row.own.operation.as_str(), row.own.request_task_id.as_str()))
            .collect();
        let expected = [("server", "SendMessage", TASK), ("server", "CancelTask", TASK), ("client", "SendMessage", "")];
        assert_eq!(calls, expected, "{file}");
        // `request_id` is a UUID of the logger's own, or what a test wrote for one: no id of JSON-RPC.
        assert!(facts.exchanges.iter().all(|row| row.own.rpc_id.is_empty()), "{file}");
        assert_eq!(facts.exchanges[0].own.outcome, "", "{file}");
        assert_ne!(facts.exchanges[1].own.error_text_class, "", "{file}");
        assert_eq!(facts.exchanges[2].common.agent_ref, "http://127.0.0.1:41001/", "{file}");
    }
}

/// A writer that keeps what is written.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_of_a2a_rs_are_read_plain_in_colour_and_as_json() {
    for form in ["plain", "colour", "json"] {
        let kept = Kept::default();
        let writer = kept.clone();
        let builder = tracing_subscriber::fmt().with_ansi(form == "colour").with_writer(move || writer.clone());
        let subscriber: Box<dyn tracing::Subscriber + Send + Sync> = match form {
            "json" => Box::new(builder.json().finish()),
            _ => Box::new(builder.finish()),
        };
        tracing::subscriber::with_default(subscriber, || {
            // a2a-server-lf 0.4.2: middleware.rs, push/sender.rs
            tracing::info!(target: "a2a_server::middleware", method = %"SendMessage", "A2A server request");
            tracing::info!(target: "a2a_server::middleware", method = %"SendMessage", "A2A server response");
            tracing::warn!(
                target: "a2a_server::middleware", method = %"GetTask", error = %"Task not found: t-9", "A2A server error"
            );
            tracing::error!(target: "a2a_server::push::sender", "{}", "push endpoint returned status: 401 Unauthorized");
            tracing::warn!(target: "shop::middleware", method = %"GetTask", "A2A server error");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        let facts = of(&text);
        let calls: Vec<_> = facts.exchanges.iter().map(|row| row.own.operation.as_str()).collect();
        assert_eq!(calls, ["SendMessage", "GetTask"], "{text}");
        assert_eq!(facts.exchanges[1].own.error_text_class, "not-found", "{text}");
        // Neither task nor webhook is named.
        assert_eq!(deliveries(&facts), [], "{text}");
    }
}

#[test]
fn a_sentence_of_dotnet_is_on_the_line_below_its_head_or_on_the_same() {
    let two_lines = "2026-11-30T09:31:53.311Z fail: A2A.A2AServer[3]\n      Background event processing failed for task t-1\n      System.InvalidOperationException: no\n";
    let one_line = "2026-11-30T09:31:53.311Z fail: A2A.A2AServer[3] Background event processing failed for task t-1\n";
    // JsonConsoleFormatter, by .NET's documentation of console log formatting.
    let json = "{\"Timestamp\":\"2026-11-30T09:31:53.311Z\",\"EventId\":3,\"LogLevel\":\"Error\",\"Category\":\"A2A.A2AServer\",\"Message\":\"Background event processing failed for task t-1\",\"Exception\":\"System.InvalidOperationException: no\",\"State\":{\"Message\":\"Background event processing failed for task t-1\",\"TaskId\":\"t-1\",\"{OriginalFormat}\":\"Background event processing failed for task {TaskId}\"}}\n";
    let in_frames = "2026-11-30T09:31:53.311Z stderr F fail: A2A.A2AServer[3]\n2026-11-30T09:31:53.311Z stderr F       Background event processing failed for task t-1\n";
    for text in [two_lines, one_line, json, in_frames] {
        let facts = of(text);
        let [event] = facts.task_events.as_slice() else { panic!("{text}") };
        assert_eq!((event.own.task_id.as_str(), event.own.state.as_str(), facts.len()), ("t-1", "failed", 1), "{text}");
        assert_eq!(event.common.observed_at.0, 1_796_031_113_311_000_000, "{text}");
    }
}

#[test]
fn a_sentence_of_the_console_and_the_delivery_that_was_taped_are_one() {
    let (console, tape) = ("captures/a2a-js-1.3.0/js.console.cri.log", "captures/a2a-js-1.3.0/js.exchanges.ndjson");
    let facts = resolved(&[console, tape].map(|file| (file.to_owned(), lines(file).into_bytes())).into());
    // The console names no trace; each of its 19 sentences stands some milliseconds behind one of 19 posts of the same task.
    let mut observers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in &facts.push_deliveries {
        observers.entry(&row.common.call_id).or_default().insert(&row.common.observer);
    }
    assert_eq!((facts.push_deliveries.len(), observers.len()), (38, 19));
    assert!(observers.values().all(|observers| *observers == ["receiver", "server"].into()), "{observers:?}");
    let storm = |files: &[&str]| {
        let files = files.iter().map(|file| ((*file).to_owned(), lines(file).into_bytes())).collect();
        let findings = judge(&files, None).unwrap().findings;
        findings.into_iter().find(|finding| finding.rule == "unauthorized_storm").map(|storm| (storm.count, storm.id))
    };
    assert_eq!(storm(&[tape]).map(|(count, _)| count), Some(12));
    assert_eq!(storm(&[console, tape]), storm(&[tape]));
}

#[test]
fn a_sentence_of_another_answer_or_another_time_is_a_delivery_of_its_own() {
    let tape = r#"{"startedDateTime": "2026-11-30T09:31:53Z", "time_ms": 3, "leg": "webhook", "client": "10.0.0.9:1", "server": "h:1", "request": {"method": "POST", "url": "http://h:1/hook", "headers": {"traceparent": "00-b4a55c73950cc2728f5c83857ffbc7b1-d85277cb32219500-01"}, "body": {"statusUpdate": {"taskId": "t-1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}}}, "response": {"status": 401}}"#;
    let failed =
        "Error sending push notification for task_id=t-1 to URL: http://h:1/hook. Error: Error: HTTP 401: Unauthorized";
    for (said, time, calls) in [
        (failed, "2026-11-30T09:31:53.311Z", 1),
        (failed, "2026-11-30T09:31:52.311Z", 2),
        (failed, "2026-11-30T09:33:53.311Z", 2),
        ("Push notification sent for task_id=t-1 to URL: http://h:1/hook", "2026-11-30T09:31:53.311Z", 2),
        (failed.replace("401", "403").as_str(), "2026-11-30T09:31:53.311Z", 2),
        (failed.replace("t-1", "t-2").as_str(), "2026-11-30T09:31:53.311Z", 2),
        (failed.replace("/hook", "/other").as_str(), "2026-11-30T09:31:53.311Z", 2),
    ] {
        let console = format!("{time} stderr F {said}\n");
        let files = [("tape", tape.to_owned()), ("console", console)];
        let facts = resolved(&files.map(|(name, text)| (name.to_owned(), text.into_bytes())).into());
        let told: BTreeSet<&str> = facts.push_deliveries.iter().map(|row| row.common.call_id.as_str()).collect();
        assert_eq!((facts.push_deliveries.len(), told.len()), (2, calls), "{said} {time}");
    }
}

#[test]
fn lines_of_a2a_js_tell_of_deliveries_and_refusals() {
    let facts = of(&lines("captures/a2a-js-1.3.0/js.console.cri.log"));
    let all = deliveries(&facts);
    let refused = all.iter().filter(|(_, _, status, class)| (*status, *class) == (Some(401), "auth")).count();
    let sent = all.iter().filter(|(_, _, _, class)| class.is_empty()).count();
    assert_eq!((all.len(), refused, sent), (19, 12, 7));
    assert!(all.iter().all(|(task, url, _, _)| task.len() == 36 && *url == "http://127.0.0.1:51002/hooks/a2a"));
    let calls: Vec<_> = facts
        .exchanges
        .iter()
        .map(|row| (row.own.rpc_id.as_str(), row.own.error_reason.as_str(), row.own.declared_version.as_str()))
        .collect();
    let expected =
        [("", "VERSION_NOT_SUPPORTED", "9.9"), ("37", "TASK_NOT_FOUND", ""), ("38", "UNSUPPORTED_OPERATION", "")];
    assert_eq!(calls.iter().copied().collect::<std::collections::BTreeSet<_>>(), expected.into());
}

#[test]
fn a_java_sender_names_the_task_and_adk_the_card() {
    let java = "2026-11-30 09:31:53,311 WARN  [org.a2a.sdk.ser.tas.BasePushNotificationSender] (executor-thread-1) Some push notifications failed to send for taskId: t-1\n";
    assert_eq!(deliveries(&of(java)), [("t-1", "", None, "transport")]);
    let adk = "2026-11-30 09:31:53,311 - ERROR - _remote_a2a_agent.py:1243 - Failed to resolve remote A2A agent hotel: Failed to resolve AgentCard from URL http://127.0.0.1:8001/.well-known/agent-card.json: HTTP Error 404: Not Found\n";
    let facts = of(adk);
    let [look] = facts.cards.as_slice() else { panic!("{}", facts.len()) };
    assert_eq!(
        (look.own.http_status, look.own.url.as_str()),
        (Some(404), "http://127.0.0.1:8001/.well-known/agent-card.json")
    );
    let resembling = "2026-11-30 09:31:53,311 - ERROR - _remote_a2a_agent.py:1243 - Failed to resolve remote A2A agent hotel: Failed to parse http://127.0.0.1:8001/x\n";
    assert_eq!(of(resembling).len(), 0);
}

#[test]
fn python_says_that_a_sender_raised() {
    for line in [
        "2026-11-30 09:31:53,311 ERROR a2a.server.agent_execution.active_task: Consumer[t-1]: Push notification sender raised; ignoring the failure.",
        "2026-11-30 09:31:53,311 ERROR a2a.server.request_handlers.default_request_handler: Push notification sender raised for task_id=t-1; ignoring the failure.",
    ] {
        assert_eq!(
            deliveries(&of(&format!("{line}\nTraceback (most recent call last):\n"))),
            [("t-1", "", None, "transport")]
        );
    }
}
