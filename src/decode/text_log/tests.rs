//! Lines as the loggers write them; those of Go are in tests/formats/logs.

use serde_json::json;

use super::*;
use crate::decode::framing::collect::Collected;

fn read(line: &str, at: Option<Instant>) -> Option<LogRecord> {
    let mut all = Collected::default();
    let is_known = decode(line, at, &Collected::origin(), &mut all);
    assert!(all.rejects.is_empty() && (is_known || all.records.is_empty()), "{line}");
    match all.records.pop() {
        Some(Record::Log(log)) => Some(*log),
        other => {
            assert_eq!(other, None);
            None
        }
    }
}

const AT: Option<Instant> = Some(Instant(1_796_031_113_311_000_000));

#[test]
fn each_loggers_line_is_taken_apart() {
    let push = "Some push notifications failed to send for taskId: t-1";
    for (line, at, level, logger, message) in [
        (
            "time=2026-11-30T09:31:53.311Z level=WARN msg=\"push sending failed\" a2a.task_id=t",
            AT,
            "WARN",
            "",
            "push sending failed",
        ),
        ("ts=2026-11-30T09:31:53.311Z lvl=warn msg=failed", AT, "WARN", "", "failed"),
        (
            "2026/11/30 09:31:53.311000 server.go:12: ERROR+1 push sending failed k=v",
            Some(Instant(1_796_031_113_000_000_000)),
            "ERROR+1",
            "",
            "push sending failed",
        ),
        // tracing-subscriber 0.3: bare, within spans, in colour.
        (
            "2026-11-30T09:31:53.311000Z  WARN a2a_server::middleware: A2A server error method=SendMessage",
            AT,
            "WARN",
            "a2a_server::middleware",
            "A2A server error",
        ),
        (
            "2026-11-30T09:31:53.311000Z  WARN request{id=\"a: b\"}:inner: a2a_server::push::sender: push endpoint returned status: 401 Unauthorized",
            AT,
            "WARN",
            "a2a_server::push::sender",
            "push endpoint returned status: 401 Unauthorized",
        ),
        (
            "\x1b[2m2026-11-30T09:31:53.311000Z\x1b[0m \x1b[33m WARN\x1b[0m \x1b[2ma2a_server::middleware\x1b[0m\x1b[2m:\x1b[0m A2A server error \x1b[3mmethod\x1b[0m\x1b[2m=\x1b[0mSendMessage",
            AT,
            "WARN",
            "a2a_server::middleware",
            "A2A server error",
        ),
        // Microsoft.Extensions.Logging.Console: on one line, behind a time, for systemd.
        (
            "fail: A2A.A2AServer[3] Background event processing failed for task t-1",
            None,
            "ERROR",
            "A2A.A2AServer",
            "Background event processing failed for task t-1",
        ),
        ("2026-11-30T09:31:53.311Z warn: A2A.AspNetCore.X[504] said", AT, "WARN", "A2A.AspNetCore.X", "said"),
        ("<3>A2A.A2AServer[3] said", None, "ERROR", "A2A.A2AServer", "said"),
        // Logback, Quarkus and Spring Boot by their default patterns.
        (
            "09:31:53.311 [pool-1] WARN  o.a.s.s.t.BasePushNotificationSender -- Some push notifications failed to send for taskId: t-1",
            None,
            "WARN",
            "o.a.s.s.t.BasePushNotificationSender",
            push,
        ),
        (
            "2026-11-30 09:31:53,311 WARN  [org.a2a.sdk.ser.tas.BasePushNotificationSender] (executor-thread-1) Some push notifications failed to send for taskId: t-1",
            AT,
            "WARN",
            "org.a2a.sdk.ser.tas.BasePushNotificationSender",
            push,
        ),
        (
            "2026-11-30T09:31:53.311Z  WARN 4711 --- [agent] [nio-1] o.a.s.s.tasks.BasePushNotificationSender  : Some push notifications failed to send for taskId: t-1",
            AT,
            "WARN",
            "o.a.s.s.tasks.BasePushNotificationSender",
            push,
        ),
        (
            "2026-11-30 09:31:53,311 [main] ERROR io.a2a.server.requesthandlers.JSONRPCHandler - said",
            AT,
            "ERROR",
            "io.a2a.server.requesthandlers.JSONRPCHandler",
            "said",
        ),
        // java.util.logging's second line, a2a-js, .NET's second line.
        ("WARNING: Some push notifications failed to send for taskId: t-1", None, "WARN", "", push),
        (
            "Push notification sent for task_id=t-1 to URL: http://w/",
            None,
            "",
            "",
            "Push notification sent for task_id=t-1 to URL: http://w/",
        ),
        (
            "      Background event processing failed for task t-1",
            None,
            "",
            "",
            "Background event processing failed for task t-1",
        ),
        // Google's ADK: its own format, and the default one of logging.
        (
            "2026-11-30 09:31:53,311 - ERROR - _remote_a2a_agent.py:1243 - Failed to resolve remote A2A agent x: y",
            AT,
            "ERROR",
            "_remote_a2a_agent.py",
            "Failed to resolve remote A2A agent x: y",
        ),
        (
            "ERROR:google_adk.google.adk.a2a.agent._remote_a2a_agent:said",
            None,
            "ERROR",
            "google_adk.google.adk.a2a.agent._remote_a2a_agent",
            "said",
        ),
    ] {
        let log = read(line, None).unwrap_or_else(|| panic!("{line}"));
        assert_eq!((log.at, log.severity.as_str(), log.scope.as_str()), (at, level, logger), "{line}");
        assert_eq!(log.body, json!(message), "{line}");
        // The framing's clock comes first where the line's names no zone.
        let is_zoned = at.is_some() && (line.contains("311Z") || line.contains("311000Z"));
        let expected = if is_zoned { at } else { Some(Instant(5)) };
        assert_eq!(read(line, Some(Instant(5))).and_then(|log| log.at), expected, "{line}");
    }
}

#[test]
fn pairs_are_attributes() {
    let log = read("2026-11-30T09:31:53.311000Z WARN a2a_server::middleware: A2A server error method=\"SendMessage\" error=Task not found: x", None).unwrap();
    let expected = [("method", "SendMessage"), ("error", "Task not found: x")];
    assert_eq!(log.attributes.0, expected.map(|(key, value)| (key.to_owned(), json!(value))));
}

#[test]
fn the_head_of_a_dotnet_line_gives_its_time_and_no_sentence() {
    let log = read("2026-11-30T09:31:53.311Z fail: A2A.A2AServer[3]", None).unwrap();
    assert_eq!((log.at, log.body, log.scope.as_str()), (AT, json!(""), "A2A.A2AServer"));
    assert!(is_one("fail: A2A.A2AServer[3]") && is_one("INFO:httpx:said") && !is_one("fail: B[3]"));
}

#[test]
fn lines_that_merely_resemble_are_left_alone() {
    for line in [
        "",
        "time=12:00 it is",
        "time=2026-11-30T09:31:53.311Z msg=failed",
        "the level=WARN msg=failed",
        "2026/11/30 09:31:53 [error] 12#0: *1 connect() failed",
        "2026/11/30 09:31:53 failed to send",
        "2026-11-30T09:31:53.311000Z  WARN hyper::client: a2a_server: said",
        "2026-11-30T09:31:53.311000Z  WARN reqwest::connect: starting new connection",
        "2026-11-30T09:31:53.311000Z NOTICE a2a_server::middleware: said",
        "fail: Microsoft.AspNetCore.Server.Kestrel[13]",
        "fail: A2AX.Server[3] said",
        "fail: A2A.Server[x] said",
        "      A push notification was sent for task_id=t-1",
        "Error sending push notification: HTTP 401",
        "WARNING: push notifications failed",
        "09:31:53.311 [main] WARN com.example.BasePushNotificationSenders - said",
        "09:31:53.311 [main] BasePushNotificationSender - said",
        "2026-11-30 09:31:53,311 - ERROR - agent.py:12 - Failed to resolve remote A2A agent x: y",
        "\x1b[31m\x1b[0m",
        "\x1b[",
        "time=ä level=ö",
    ] {
        assert_eq!(read(line, AT), None, "{line}");
    }
}
