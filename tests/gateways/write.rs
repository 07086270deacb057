//! Calls as gateways and tapes write them down, a line each.
//!
//! Where the form of a line is documented stands in the README.md of its folder in `tests/formats`; Apache's is its `vhost_combined`
//! (mod_log_config: `%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"`, where `%t` is when the request came, in whole
//! seconds).

#![allow(dead_code, reason = "suites that use it need a part each")]

use serde_json::{Map, Value, json};

/// A call that somebody saw.
#[derive(Debug, Clone)]
pub struct Call {
    /// When it began, in nanoseconds.
    pub at: i64,
    pub millis: i64,
    /// Address and port.
    pub client: String,
    pub method: &'static str,
    /// As the caller names it.
    pub host: &'static str,
    pub path: String,
    /// Address and port behind the gateway; empty where it answered itself.
    pub upstream: &'static str,
    pub status: u16,
    /// What the caller says in `A2A-Version`.
    pub version: &'static str,
    /// Null where there is none.
    pub sent: Value,
    /// The answer, or the events of a stream.
    pub got: Vec<Value>,
    pub streams: bool,
    /// Goes to a webhook.
    pub is_delivery: bool,
}

/// How a call is written down.
pub type Form = fn(&Call) -> Option<String>;

pub fn lines(calls: &[Call], form: Form) -> Vec<u8> {
    calls.iter().filter_map(form).map(|line| line + "\n").collect::<String>().into_bytes()
}

impl Call {
    fn end(&self) -> i64 {
        self.at + self.millis * 1_000_000
    }

    fn request(&self) -> String {
        if self.sent.is_null() { String::new() } else { self.sent.to_string() }
    }

    fn response(&self) -> String {
        match self.streams {
            true => self.got.iter().map(|event| format!("data: {event}\n\n")).collect(),
            false => self.got.first().map(Value::to_string).unwrap_or_default(),
        }
    }

    fn content_type(&self) -> &'static str {
        if self.streams { "text/event-stream" } else { "application/json" }
    }

    fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }

    fn client_address(&self) -> &str {
        self.client.rsplit_once(':').map_or(&self.client, |(address, _)| address)
    }

    /// What of the task the answers say last: a member of it or of its status.
    fn told(&self, path: &[&str]) -> Option<&str> {
        let bodies = self.got.iter().rev();
        let results =
            bodies.filter_map(|body| body.get("result").or_else(|| body.get("error").is_none().then_some(body)));
        let inner = results.flat_map(|result| {
            let wrapped = ["task", "statusUpdate", "artifactUpdate"].into_iter().filter_map(|name| result.get(name));
            wrapped.chain([result])
        });
        inner.filter_map(|body| path.iter().try_fold(body, |value, name| value.get(name))?.as_str()).next()
    }

    fn task_id(&self) -> Option<&str> {
        self.told(&["taskId"]).or_else(|| self.told(&["status", "state"]).and_then(|_| self.told(&["id"])))
    }

    fn state(&self) -> Option<String> {
        let state = self.told(&["status", "state"])?;
        Some(state.trim_start_matches("TASK_STATE_").to_ascii_lowercase().replace('_', "-"))
    }

    fn error_code(&self) -> Option<i64> {
        self.got.first()?.get("error")?.get("code")?.as_i64()
    }

    fn is_card(&self) -> bool {
        self.path.ends_with("agent-card.json")
    }
}

fn time(nanos: i64, format: &str) -> String {
    chrono::DateTime::from_timestamp_nanos(nanos).format(format).to_string()
}

/// An object without the members that are null.
fn filled(value: Value) -> Map<String, Value> {
    let Value::Object(members) = value else { return Map::new() };
    members.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn agentgateway(call: &Call) -> Map<String, Value> {
    let mut line = filled(json!({
        "gateway": "default/default", "listener": "listener0", "route": "default/route0",
        "endpoint": if call.upstream.is_empty() { Value::Null } else { call.upstream.into() },
        "src.addr": call.client, "http.method": call.method, "http.host": call.host, "http.path": call.path,
        "http.version": "HTTP/1.1", "http.status": call.status, "protocol": "a2a",
    }));
    if let Some(method) = call.sent.get("method") {
        line.insert("a2a.method".to_owned(), method.clone());
        if !call.streams && !call.got.is_empty() {
            let is_answer = call.got[0].get("jsonrpc").is_some();
            let outcome = match (is_answer, call.error_code()) {
                (false, _) => "unknown",
                (true, Some(_)) => "error",
                (true, None) => "success",
            };
            line.append(&mut filled(json!({
                "a2a.response.outcome": outcome, "a2a.response.error_code": call.error_code(),
                "a2a.result.kind": call.told(&["kind"]), "a2a.task.state": call.told(&["status", "state"]),
                "a2a.context.id": call.told(&["contextId"]),
            })));
        }
    }
    line.insert("duration".to_owned(), format!("{}ms", call.millis).into());
    line
}

fn with_head(call: &Call, mut fields: Map<String, Value>) -> String {
    let head = json!({"level": "info", "time": time(call.end(), "%Y-%m-%dT%H:%M:%S.%6fZ"), "scope": "request"});
    let mut line = filled(head);
    line.append(&mut fields);
    Value::Object(line).to_string()
}

pub fn agentgateway_json(call: &Call) -> Option<String> {
    Some(with_head(call, agentgateway(call)))
}

/// With the keys of `examples/gateways/agentgateway.yaml`.
pub fn agentgateway_bodies(call: &Call) -> Option<String> {
    let mut line = agentgateway(call);
    line.append(&mut filled(json!({
        "http.request.header.a2a-version": if call.version.is_empty() { Value::Null } else { call.version.into() },
        "http.request.body": call.request(), "http.response.body": call.response(),
    })));
    Some(with_head(call, line))
}

pub fn agentgateway_text(call: &Call) -> Option<String> {
    let said = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs: String = agentgateway(call).iter().map(|(key, value)| format!(" {key}={}", said(value))).collect();
    Some(format!("{}\tinfo\trequest{pairs}", time(call.end(), "%Y-%m-%dT%H:%M:%S.%6fZ")))
}

fn kong(call: &Call, with_payloads: bool) -> String {
    let method = if call.is_card() { Some("agent/getCard") } else { call.sent.get("method").and_then(Value::as_str) };
    let mut rpc = filled(json!({
        "method": method, "binding": if call.is_card() { "rest" } else { "jsonrpc" }, "latency": call.millis,
        "id": call.sent.get("id"), "task_id": call.task_id(), "task_state": call.state(), "context_id": call.told(&["contextId"]),
        "error": call.error_code().map(|code| code.to_string()), "response_body_size": call.response().len(),
    }));
    if call.streams {
        rpc.append(&mut filled(json!({"streaming": true, "ttfb_latency": 1, "sse_events_count": call.got.len()})));
    }
    if with_payloads {
        let said = |text: String| if text.is_empty() { Value::Null } else { text.into() };
        let payload = filled(json!({"request": said(call.request()), "response": said(call.response())}));
        rpc.insert("payload".to_owned(), payload.into());
    }
    let (ip, port) = call.upstream.rsplit_once(':').unwrap_or_default();
    let tries = if ip.is_empty() { json!([]) } else { json!([{"ip": ip, "port": port.parse::<u16>().unwrap()}]) };
    let version = if call.version.is_empty() { Value::Null } else { call.version.into() };
    let headers = filled(json!({"host": call.host, "content-type": "application/json", "a2a-version": version}));
    let mut line = filled(json!({
        "response": {"size": call.response().len(), "headers": {"content-type": call.content_type()}, "status": call.status},
        "route": {"name": "agents", "paths": ["/"]}, "service": {"name": "agents", "host": "agents.internal", "port": 8000},
        "workspace_name": "default", "tries": tries, "client_ip": call.client_address(),
        "request": {"headers": headers, "uri": call.path, "size": call.request().len(), "method": call.method, "querystring": {}, "url": call.url()},
        "upstream_uri": call.path, "started_at": call.at / 1_000_000, "upstream_status": call.status.to_string(),
        "latencies": {"kong": 0, "proxy": call.millis, "request": call.millis, "receive": 0},
    }));
    if method.is_some() {
        line.insert("ai".to_owned(), json!({"a2a": {"rpc": [rpc]}}));
    }
    Value::Object(line).to_string()
}

pub fn kong_statistics(call: &Call) -> Option<String> {
    Some(kong(call, false))
}

pub fn kong_payloads(call: &Call) -> Option<String> {
    Some(kong(call, true))
}

/// Calls of agents alone; `a2a_operation` is the method of 0.3.
pub fn aisix(call: &Call) -> Option<String> {
    let method = call.sent.get("method")?.as_str()?;
    let operation = match method {
        "SendMessage" => "message/send",
        "SendStreamingMessage" => "message/stream",
        "GetTask" => "tasks/get",
        "CancelTask" => "tasks/cancel",
        other => other,
    };
    let line = filled(json!({
        "request_id": format!("req-{}", call.at), "occurred_at": time(call.end(), "%Y-%m-%dT%H:%M:%SZ"), "api_key_id": "key-1",
        "status_code": call.status, "upstream_latency_ms": call.millis, "downstream_latency_ms": call.millis,
        "inbound_protocol": "a2a", "operation": "a2a", "client_source_ip": call.client_address(),
        "a2a_agent_name": call.path.trim_start_matches('/'), "a2a_method": method, "a2a_operation": operation,
        "a2a_protocol_version": call.version, "a2a_task_id": call.task_id(), "a2a_context_id": call.told(&["contextId"]),
        "a2a_task_state": call.state(), "a2a_stream_event_count": call.streams.then_some(call.got.len()),
    }));
    Some(Value::Object(line).to_string())
}

/// With the keys of Istio's JSON encoding.
pub fn envoy_json(call: &Call) -> Option<String> {
    let upstream = if call.upstream.is_empty() { Value::Null } else { call.upstream.into() };
    let line = json!({
        "start_time": time(call.at, "%Y-%m-%dT%H:%M:%S.%3fZ"), "method": call.method, "path": call.path, "protocol": "HTTP/1.1",
        "response_code": call.status, "response_flags": if call.upstream.is_empty() { "UH" } else { "-" },
        "response_code_details": "via_upstream", "connection_termination_details": null,
        "upstream_transport_failure_reason": null, "bytes_received": call.request().len(), "bytes_sent": call.response().len(),
        "duration": call.millis, "upstream_service_time": call.millis.to_string(), "x_forwarded_for": null,
        "user_agent": "python-httpx/0.28.1", "request_id": "a279ad6e-0e1c-98ea-9d74-d6028e2017f8", "authority": call.host,
        "upstream_host": upstream, "upstream_cluster": "outbound|80||agents", "upstream_local_address": "10.0.0.4:46062",
        "downstream_local_address": "10.0.0.4:8080", "downstream_remote_address": call.client, "requested_server_name": null,
        "route_name": "default",
    });
    Some(line.to_string())
}

/// Envoy's own default.
pub fn envoy_text(call: &Call) -> Option<String> {
    let (start, flags) = (time(call.at, "%Y-%m-%dT%H:%M:%S.%3fZ"), if call.upstream.is_empty() { "UH" } else { "-" });
    let upstream = if call.upstream.is_empty() { "-" } else { call.upstream };
    let sizes = format!("{} {} {ms} {ms}", call.request().len(), call.response().len(), ms = call.millis);
    Some(format!(
        r#"[{start}] "{} {} HTTP/1.1" {} {flags} {sizes} "-" "python-httpx/0.28.1" "a279ad6e-0e1c-98ea-9d74-d6028e2017f8" "{}" "{upstream}""#,
        call.method, call.path, call.status, call.host
    ))
}

pub fn istio_text(call: &Call) -> Option<String> {
    let line = envoy_text(call)?.replacen(" - ", " - via_upstream - \"-\" ", 1).replacen(
        " UH ",
        " UH no_healthy_upstream - \"-\" ",
        1,
    );
    Some(format!("{line} outbound|80||agents 10.0.0.4:46062 10.0.0.4:8080 {} - default", call.client))
}

/// The format of `tests/tools/nginx/run.py`, whose times are those of the end.
pub fn nginx_json(call: &Call) -> Option<String> {
    let seconds = |millis: i64| format!("{}.{:03}", millis / 1000, millis % 1000);
    let line = json!({
        "time_iso8601": time(call.end(), "%Y-%m-%dT%H:%M:%S+00:00"), "msec": seconds(call.end() / 1_000_000),
        "remote_addr": call.client_address(), "request": format!("{} {} HTTP/1.1", call.method, call.path),
        "status": call.status.to_string(), "http_host": call.host, "request_time": seconds(call.millis),
        "upstream_addr": call.upstream, "http_traceparent": "", "http_a2a_version": call.version, "request_body": call.request(),
    });
    Some(line.to_string())
}

/// The same where bodies are not logged.
pub fn nginx_without_bodies(call: &Call) -> Option<String> {
    nginx_json(&Call { sent: Value::Null, ..call.clone() })
}

/// `vhost_combined`.
pub fn apache(call: &Call) -> Option<String> {
    let host = if call.host.contains(':') { call.host.to_owned() } else { format!("{}:80", call.host) };
    Some(format!(
        r#"{host} {} - - [{}] "{} {} HTTP/1.1" {} {} "-" "python-httpx/0.28.1""#,
        call.client_address(),
        time(call.at, "%d/%b/%Y:%H:%M:%S +0000"),
        call.method,
        call.path,
        call.status,
        call.response().len(),
    ))
}

fn taped(call: &Call) -> Value {
    let headers = filled(json!({
        "content-type": "application/json", "a2a-version": if call.version.is_empty() { Value::Null } else { call.version.into() },
    }));
    json!({
        "start_unix_ns": call.at, "time_ms": call.millis, "client": call.client, "server": call.host,
        "leg": if call.is_delivery { "webhook" } else { "agent" },
        "request": {"method": call.method, "url": call.url(), "headers": headers, "body": {"text": call.request()}},
        "response": {"status": call.status, "headers": {"content-type": call.content_type()}, "body": {"text": call.response()}},
    })
}

/// A line of exchanges (README.md, What it reads).
pub fn exchange(call: &Call) -> Option<String> {
    Some(taped(call).to_string())
}

/// HAR 1.2, whose times are of milliseconds.
pub fn har(calls: &[Call]) -> Vec<u8> {
    let entries = calls.iter().map(|call| {
        let header = |name: &str, value: &str| json!({"name": name, "value": value});
        let mut headers = vec![header("content-type", "application/json")];
        if !call.version.is_empty() {
            headers.push(header("a2a-version", call.version));
        }
        let mut request = json!({"method": call.method, "url": call.url(), "httpVersion": "HTTP/1.1", "headers": headers});
        if !call.sent.is_null() {
            request["postData"] = json!({"mimeType": "application/json", "text": call.request()});
        }
        let content = json!({"size": call.response().len(), "mimeType": call.content_type(), "text": call.response()});
        json!({
            "startedDateTime": time(call.at, "%Y-%m-%dT%H:%M:%S.%3fZ"), "time": call.millis, "request": request,
            "response": {"status": call.status, "headers": [header("content-type", call.content_type())], "content": content},
            "timings": {"send": 0, "wait": call.millis, "receive": 0},
        })
    });
    let entries: Vec<Value> = entries.collect();
    json!({"log": {"version": "1.2", "creator": {"name": "a tape", "version": "1"}, "entries": entries}})
        .to_string()
        .into_bytes()
}
