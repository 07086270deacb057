//! Records made to leak: planted words where names, addresses and classes are expected.

use serde_json::{Value, json};

use super::carriers::{Garden, header};

/// Records made to leak: words where names, addresses and classes are expected.
pub fn records(garden: &mut Garden) -> Vec<String> {
    let mut lines = Vec::new();
    parties(garden, &mut lines);
    registrations(garden, &mut lines);
    refusals(garden, &mut lines);
    events(garden, &mut lines);
    sentences(garden, &mut lines);
    shapes(garden, &mut lines);
    lines
}

fn call(method: &str, url: &str, request: &Value, response: &Value) -> Value {
    json!({"startedDateTime": "2026-11-30T06:15:34Z", "client": "c", "server": "h:1",
        "request": {"method": method, "url": url, "headers": [["content-type", "application/json"]], "body": {"text": request.to_string()}},
        "response": {"status": 200, "headers": [], "body": {"text": response.to_string()}}})
}

fn get_task() -> Value {
    json!({"jsonrpc": "2.0", "id": "1", "method": "GetTask", "params": {"id": "t-1"}})
}

fn task() -> Value {
    json!({"jsonrpc": "2.0", "id": "1", "result": {"id": "t-1", "contextId": "c-1", "status": {"state": "TASK_STATE_WORKING"}}})
}

/// Spellings of a url with a password, right and wrong.
fn spellings(garden: &mut Garden, place: &str) -> Vec<String> {
    let shapes = [
        "http://me:W@h:1/a2a",
        "HTTP://me:W@h:1/a2a",
        "https://W@h:1/a2a",
        "ws://me:W@h:1/a2a",
        "wss://W:x@h:1/a2a?t=W",
        "ftp://me:W@h:1/a2a",
        "grpc://me:W@h:1",
        "http:/me:W@h:1/a2a",
        "http:///me:W@h:1/a2a",
        "http:me:W@h:1/a2a",
        "http:\\\\me:W@h:1\\a2a",
        "ws:/me:W@h:1/a2a",
        "ftp:me:W@h:1",
        "//me:W@h:1/a2a",
        "me:W@h:1",
        "http://me:W/x@h:1/a2a",
        "http://me:W#x@h:1/a2a",
        "http://me:W?x@h:1/a2a",
        "http://me:x/W@h:1/a2a",
        "http://me:x#W@h:1/a2a",
        "http://me:W@x@h:1/a2a",
        "http://me:W%40@h:1/a2a",
        " http://me:W@h:1/a2a ",
        "http ://me:W@h:1/",
        "http://me:W@[::1/a2a",
        "http://me:W@h:99999/a2a",
        "http://h:1/a2a?k=W",
        "http://h:1/a2a#W",
        "http://h:1/a2a;k=v?W",
        "/a2a?k=W",
        "a2a?k=W",
        "http://h:1/http://me:W@i/a2a",
        "http://h:1/a2a&token=W",
        "jdbc:x://me:W@h/db",
        "unix:/me:W@h/a",
        "dns:///me:W@h:1",
        "http://me:W@\u{e9}x\u{1b}ample:1/a2a",
        "http://m\ne:W@h/",
    ];
    shapes.iter().map(|shape| shape.replace('W', &garden.word(&format!("{place} {shape}")))).collect()
}

fn parties(garden: &mut Garden, lines: &mut Vec<String>) {
    for url in spellings(garden, "exchange url") {
        lines.push(call("POST", &url, &get_task(), &task()).to_string());
        lines.push(call("GET", &url.replace("a2a", ".well-known/agent-card.json"), &Value::Null, &task()).to_string());
    }
    for member in ["client", "server", "agent", "observer_name"] {
        for url in spellings(garden, &format!("exchange {member}")) {
            let mut line = call("POST", "/a2a", &get_task(), &task());
            line[member] = json!(url);
            lines.push(line.to_string());
        }
    }
    for name in [
        "host",
        "x-forwarded-for",
        "x-forwarded-host",
        "forwarded",
        "a2a-version",
        "a2a-extensions",
        "user-agent",
        "referer",
        "origin",
        ":authority",
    ] {
        for word in [format!("me:{}@h:1", garden.word(name)), format!("Bearer {}", garden.word(name))] {
            let mut line = call("POST", "/a2a", &get_task(), &task());
            header(&mut line["request"], name, &word);
            lines.push(line.to_string());
        }
    }
    for url in spellings(garden, "card url") {
        let card = json!({"name": "x", "version": "1", "url": url, "documentationUrl": url, "provider": {"organization": "o", "url": url}, "capabilities": {},
            "skills": [], "additionalInterfaces": [{"url": url, "transport": "JSONRPC"}], "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
            "securitySchemes": {"oauth": {"type": "oauth2", "description": garden.word("scheme description"), "flows": {"clientCredentials": {"tokenUrl": url, "scopes": {"s": garden.word("scope description")}}}}}});
        lines.push(call("GET", "http://h:1/.well-known/agent-card.json", &Value::Null, &card).to_string());
    }
}

fn registrations(garden: &mut Garden, lines: &mut Vec<String>) {
    let mut config = |config: Value| {
        let params = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "x"}]}, "configuration": {"pushNotificationConfig": config, "taskPushNotificationConfig": config}});
        lines.push(
            call(
                "POST",
                "http://h:1/a2a",
                &json!({"jsonrpc": "2.0", "id": "1", "method": "SendMessage", "params": params}),
                &task(),
            )
            .to_string(),
        );
        let set = json!({"jsonrpc": "2.0", "id": "1", "method": "tasks/pushNotificationConfig/set", "params": {"taskId": "t-1", "pushNotificationConfig": config}});
        lines.push(
            call(
                "POST",
                "http://h:1/a2a",
                &set,
                &json!({"jsonrpc": "2.0", "id": "1", "result": {"taskId": "t-1", "pushNotificationConfig": config}}),
            )
            .to_string(),
        );
    };
    for url in spellings(garden, "webhook url") {
        config(
            json!({"url": url, "token": garden.word("push token"), "authentication": {"schemes": ["Bearer"], "credentials": garden.word("push credentials")}}),
        );
    }
    for (place, scheme) in [
        ("scheme with token", format!("Bearer {}", garden.word("scheme with token"))),
        ("scheme alone", garden.word("scheme alone")),
        ("scheme quoted", format!("Bearer:{}", garden.word("scheme quoted"))),
        ("scheme jwt", garden.jwt("scheme jwt")),
    ] {
        config(
            json!({"url": "http://r/hook", "authentication": {"scheme": scheme, "credentials": garden.word(place)}}),
        );
        config(json!({"url": "http://r/hook", "authentication": {"schemes": [scheme, "Basic"]}}));
    }
}

fn refusals(garden: &mut Garden, lines: &mut Vec<String>) {
    let errors = [
        json!({"code": -32602, "message": format!("bad token {}", garden.word("error message")), "data": garden.word("error data")}),
        json!({"code": -32000, "message": garden.word("error message alone"), "data": {"detail": garden.word("error data detail"), garden.word("error data key"): 1}}),
        json!({"code": -32001, "message": "x", "data": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": format!("token {} refused", garden.word("error reason")), "domain": garden.word("error domain"), "metadata": {"token": garden.word("error metadata")}}]}),
        json!({"code": format!("bad {}", garden.word("error code")), "message": garden.word("error with code of text")}),
        json!(format!("plain {}", garden.word("error as text"))),
        json!({"status": format!("REFUSED {}", garden.word("error status")), "code": 403, "message": garden.word("google error"), "details": [{"reason": format!("Bearer {}", garden.word("google error reason")), "domain": "a2a-protocol.org"}]}),
        json!({"type": format!("https://e/?x={}", garden.word("problem type")), "title": garden.word("problem title"), "detail": garden.word("problem detail"), "instance": garden.word("problem instance")}),
    ];
    for error in errors {
        let mut line =
            call("POST", "http://h:1/a2a", &get_task(), &json!({"jsonrpc": "2.0", "id": "1", "error": error}));
        lines.push(line.to_string());
        line["response"]["status"] = json!(403);
        line["response"]["body"]["text"] = json!(error.to_string());
        lines.push(line.to_string());
        line["request"]["url"] = json!("http://h:1/v1/tasks/t-1");
        line["request"]["method"] = json!("GET");
        lines.push(line.to_string());
    }
    let mut grpc = call("POST", "http://h:1/lf.a2a.v1.A2AService/GetTask", &Value::Null, &Value::Null);
    header(&mut grpc["response"], "grpc-status", "16");
    header(&mut grpc["response"], "grpc-message", &format!("bad%20{}", garden.word("grpc-message")));
    header(&mut grpc["response"], "grpc-status-details-bin", &garden.word("grpc details"));
    lines.push(grpc.to_string());
    for state in [
        format!("failed because {}", garden.word("state with text")),
        format!("\"{} at last\"", garden.word("state quoted")),
    ] {
        let mut answer = task();
        answer["result"]["status"]["state"] = json!(state);
        answer["result"]["status"]["message"] = json!(garden.word("status message as text"));
        lines.push(call("POST", "http://h:1/a2a", &get_task(), &answer).to_string());
    }
    let method = format!("say hello to {}", garden.word("method with text"));
    lines.push(
        call(
            "POST",
            "http://h:1/a2a",
            &json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": {"message": {"parts": [{"text": "x"}]}}}),
            &task(),
        )
        .to_string(),
    );
}

fn events(garden: &mut Garden, lines: &mut Vec<String>) {
    for event in ["a2a.task.state", "a2a.push.delivery", "a2a.artifact.pruned", "a2a.policy.changed", "a2a.something"] {
        for key in [
            "a2a.agent.url",
            "url.full",
            "a2a.push.url",
            "a2a.client",
            "a2a.observer.name",
            "service.name",
            "server.address",
            "client.address",
            "a2a.agent.card.url",
            "upstream_host",
            "endpoint",
            "network.peer.address",
        ] {
            let spelt = spellings(garden, &format!("{event} {key}"));
            for url in spelt.iter().take(14) {
                lines.push(json!({"event": event, "time": 1_796_019_334, "a2a.task.id": "t-1", "a2a.task.state": "failed", "a2a.artifact.id": "a", "a2a.skill.id": "s", "service.name": "svc", key: url}).to_string());
            }
        }
        for key in [
            "a2a.reason",
            "a2a.task.reason",
            "a2a.push.scheme",
            "a2a.push.signature",
            "a2a.push.token",
            "a2a.change",
            "a2a.status.message",
            "body",
            "severity",
            "exception.message",
            "error.type",
            "error",
            "a2a.task.state",
            "a2a.error.reason",
            "a2a.response.outcome",
        ] {
            let text = format!("Bearer {} because", garden.word(&format!("{event} {key}")));
            lines.push(json!({"event": event, "time": 1_796_019_334, "a2a.task.id": "t-1", "a2a.task.state": "failed", "service.name": "svc", key: text}).to_string());
        }
    }
}

fn sentences(garden: &mut Garden, lines: &mut Vec<String>) {
    let texts = [
        (
            "a2a.client",
            "Successfully fetched agent card data from http://me:W@h:1/.well-known/agent-card.json?k=W: {'name': 'x', 'description': 'W', 'url': 'http://me:W@h:1/', 'capabilities': {}, 'skills': [], 'version': '1', 'W': 'W'}",
        ),
        ("a2a.client", "Failed to fetch agent card from http://me:W@h:1/card?k=W: W"),
        ("a2a.server.tasks", "Push-notification sent for task_id=t-1 to URL: http://me:W@h:1/hook?k=W"),
        (
            "a2a.server.tasks",
            "Error sending push-notification for task_id=t-1 to URL: http://me:W@h:1/hook?k=W. Error: W",
        ),
        ("x", "Push notification sent for task_id=t-1 to URL: https://me:W@h/hook?k=W"),
        ("x", "Error sending push notification for task_id=t-1 to URL: https://me:W@h/hook?k=W. W"),
        ("a2a.server", "Request Error (ID: 1): Code=-32602, Message='W', Data=W"),
        ("a2a.utils.error_handlers", "Request error: Code=-32602, Message='W', Data=W"),
        ("a2a.utils.version_validator", "Version mismatch: actual='token W', expected='1.0'"),
        ("httpx", "HTTP Request: POST http://me:W@h:1/a2a?k=W \"HTTP/1.1 200 OK\" W"),
        ("httpx", "HTTP Request: GET http://me:W@h:1/.well-known/agent-card.json?k=W \"HTTP/1.1 304 Not Modified\""),
    ];
    for (logger, text) in texts {
        let text = text.replace('W', &garden.word(&format!("sentence of {logger}: {}", &text[..30])));
        lines.push(json!({"resourceLogs": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "svc"}}]}, "scopeLogs": [{"scope": {"name": logger},
            "logRecords": [{"timeUnixNano": "1796019334786335680", "body": {"stringValue": text}}]}]}]}).to_string());
        lines.push(format!("2026-11-30 06:15:34,123 - {logger} - INFO - {text}"));
        lines.push(format!("INFO:{logger}:{text}"));
    }
}

/// What is no record, and must be refused without being quoted.
fn shapes(garden: &mut Garden, lines: &mut Vec<String>) {
    let mut word = |what: &str| garden.word(what);
    lines.push(json!({ word("key"): word("value"), "token": word("token") }).to_string());
    lines.push(json!([word("list of text")]).to_string());
    lines.push(json!({"event": word("foreign event"), "password": word("password")}).to_string());
    lines.push(format!("{{\"token\": \"{}\", broken {}", word("broken JSON"), word("broken JSON tail")));
    lines.push(format!("{{{}: 1}}", word("bare key")));
    lines.push(format!("[{}]", word("bare word")));
    lines.push(format!("password={}", word("text")));
    lines.push(format!("data: {}", word("SSE data")));
    lines.push(format!("event: {}\ndata: {{\"{}\": 1}}\n", word("SSE name"), word("SSE key")));
    lines.push(
        json!({"startedDateTime": word("time"), "request": {"method": "GET", "url": ""}, "response": null}).to_string(),
    );
    lines.push(json!({"startedDateTime": "2026-11-30T06:15:34Z", "trace_id": word("trace id"), "request": {"method": word("HTTP method"), "url": "http://h:1/a2a", "headers": [["traceparent", word("traceparent")], ["content-encoding", word("coding")]], "body": {"base64": "AAAA"}}, "response": {"status": word("status"), "body": {"base64": word("base64")}}}).to_string());
    lines.push(json!({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": word("span trace id"), "spanId": word("span id"), "name": word("span name"), "kind": word("span kind"), "startTimeUnixNano": word("span start"), "attributes": {word("attribute map"): 1}}]}]}]}).to_string());
}
