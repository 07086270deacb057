//! Lines of gateways that hold bodies of the HTTP+JSON binding: path and method say the call, and no word of A2A's need stand
//! beside them.

use serde_json::{Value, json};

use super::{Files, facts};

const TASK: &str =
    r#"{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-11-30T06:15:34Z"}}"#;
const SEND: &str = r#"{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"x"}]}}"#;

/// agentgateway's line with the members that examples/gateways/agentgateway.yaml adds.
fn agentgateway(method: &str, path: &str, status: u16, request: &str, response: &str) -> Value {
    json!({
        "level": "info", "time": "2026-11-30T06:15:34.856376Z", "scope": "request", "endpoint": "127.0.0.1:41001", "src.addr": "127.0.0.1:5",
        "http.method": method, "http.host": "gw:3000", "http.path": path, "http.status": status, "duration": "25ms",
        "http.request.body": request, "http.response.body": response,
    })
}

/// A line of Envoy's or nginx's, of which a filter keeps bodies.
fn envoy(method: &str, path: &str, status: u16, request: &str, response: &str) -> Value {
    json!({
        "start_time": "2026-11-30T06:15:34.831Z", "method": method, "path": path, "authority": "gw:3000", "response_code": status,
        "response_flags": "-", "duration": 25, "upstream_host": "127.0.0.1:41001", "request_body": request, "response_body": response,
    })
}

fn nginx(method: &str, path: &str, status: u16, request: &str, response: &str) -> Value {
    json!({
        "time_iso8601": "2026-11-30T06:15:34+00:00", "request": format!("{method} {path} HTTP/1.1"), "status": status, "http_host": "gw:3000",
        "request_time": "0.025", "upstream_addr": "127.0.0.1:41001", "request_body": request, "response_body": response,
    })
}

fn log(lines: &[Value]) -> Files {
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    Files::from([("log".to_owned(), lines.join("\n").into_bytes())])
}

#[test]
fn path_and_method_say_the_call_and_bodies_its_task() {
    let reply = format!(r#"{{"task":{TASK}}}"#);
    for line in [agentgateway, envoy, nginx] {
        let facts = facts(&log(&[
            line("POST", "/v1/message:send", 200, SEND, &reply),
            line("GET", "/v1/tasks/t-1", 200, "", TASK),
            line("POST", "/v1/tasks/t-1:cancel", 200, "{}", TASK),
        ]));
        let calls: Vec<_> = facts
            .exchanges
            .iter()
            .map(|row| (row.own.operation.as_str(), row.own.task_id.as_str(), row.own.reply_state.as_str()))
            .collect();
        let all = ["SendMessage", "GetTask", "CancelTask"].map(|operation| (operation, "t-1", "completed"));
        assert_eq!(calls, all);
        assert!(facts.exchanges.iter().all(|row| row.own.binding == "http+json"));
        assert_eq!(facts.exchanges[0].own.message_id, "m-1");
        assert!(facts.exchanges.iter().all(|row| row.own.server_address == "127.0.0.1:41001"));
    }
}

#[test]
fn a_stream_of_events_is_read_as_one() {
    let event = |state: &str| {
        let update = json!({"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": {"state": state}}});
        format!("data: {update}\n\n")
    };
    let stream = event("TASK_STATE_WORKING") + &event("TASK_STATE_COMPLETED");
    let facts = facts(&log(&[envoy("POST", "/v1/message:stream", 200, SEND, &stream)]));
    let [call] = facts.exchanges.as_slice() else { panic!("{:?}", facts.exchanges) };
    assert_eq!((call.own.operation.as_str(), call.own.stream_events), ("SendStreamingMessage", Some(2)));
    let states: Vec<_> = facts.task_events.iter().map(|row| row.own.state.as_str()).collect();
    assert_eq!(states, ["working", "completed"]);
}

#[test]
fn without_its_body_a_path_still_says_the_call_where_another_has_shown_the_agent() {
    let mut line = agentgateway("GET", "/v1/tasks/t-1", 200, "", "");
    let map = line.as_object_mut().unwrap();
    map.retain(|key, _| !key.ends_with(".body"));
    let mut elsewhere = line.clone();
    elsewhere["http.path"] = "/shop/tasks/t-1".into();
    let reply = format!(r#"{{"task":{TASK}}}"#);
    let facts = facts(&log(&[agentgateway("POST", "/v1/message:send", 200, SEND, &reply), line, elsewhere]));
    let calls: Vec<_> =
        facts.exchanges.iter().map(|row| (row.own.operation.as_str(), row.own.task_id.as_str())).collect();
    assert_eq!(calls, [("SendMessage", "t-1"), ("GetTask", "t-1")]);
}

#[test]
fn what_others_ask_by_such_paths_is_no_call() {
    let chore = r#"{"id":7,"title":"buy milk","done":false}"#;
    let order = r#"{"item":"milk"}"#;
    let facts = facts(&log(&[
        agentgateway("GET", "/shop/tasks/7", 200, "", chore),
        agentgateway("POST", "/shop/orders", 201, order, order),
        agentgateway("PUT", "/v1/tasks/t-1", 200, order, chore),
    ]));
    assert_eq!(facts.exchanges.len(), 0, "{:?}", facts.exchanges);
}
