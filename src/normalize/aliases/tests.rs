//! What the shipped table answers, and how a user's is taken.

use serde_json::{Value, json};

use super::*;
use crate::decode::record::Attributes;

fn attributes(pairs: &[(&str, Value)]) -> Attributes {
    Attributes(pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

fn carrier<'a>(attributes: &'a Attributes, resource: &'a Attributes, scope: &'a str, evidence: bool) -> Carrier<'a> {
    Carrier { attributes, body: None, resource, scope, evidence }
}

#[test]
fn the_shipped_table_is_read_and_names_every_key() {
    let aliases = read::read(EMBEDDED).unwrap();
    for key in Key::ALL {
        assert!(!aliases.names[*key as usize].is_empty(), "{}", key.as_str());
    }
    assert!(aliases.sentences.len() > 10 && aliases.texts.len() > 5 && aliases.paths.len() > 10);
}

#[test]
fn every_emitters_task_id_is_found() {
    let (aliases, none) = (Aliases::embedded(), Attributes::default());
    for name in [
        "a2a.task.id",
        "gen_ai.a2a.task.id",
        "gen_ai.agent.a2a.task_id",
        "kong.a2a.task.id",
        "aisix.a2a.task_id",
        "a2a_task_id",
        "a2a:task_id",
        "a2a.task_id",
    ] {
        let given = attributes(&[(name, json!("t-1"))]);
        assert_eq!(aliases.text(Key::TaskId, &carrier(&given, &none, "", false)).as_deref(), Some("t-1"), "{name}");
        assert!(aliases.is_evidence(&carrier(&given, &none, "", false)), "{name}");
    }
}

#[test]
fn common_words_count_only_where_something_says_a2a() {
    let (aliases, none) = (Aliases::embedded(), Attributes::default());
    let given = attributes(&[("task_id", json!("t-1")), ("gen_ai.conversation.id", json!("c-1"))]);
    assert_eq!(aliases.text(Key::TaskId, &carrier(&given, &none, "celery", false)), None);
    assert_eq!(aliases.text(Key::TaskId, &carrier(&given, &none, "celery", true)).as_deref(), Some("t-1"));
    assert_eq!(aliases.text(Key::ContextId, &carrier(&given, &none, "", false)), None);
    assert!(!aliases.is_evidence(&carrier(&given, &none, "celery", false)));
    let dotnet = attributes(&[("task.id", json!("t-2")), ("request.method", json!("message/send"))]);
    assert_eq!(aliases.text(Key::TaskId, &carrier(&dotnet, &none, "A2A.AspNetCore", false)).as_deref(), Some("t-2"));
    assert_eq!(aliases.text(Key::Operation, &carrier(&dotnet, &none, "requests", false)), None);
}

#[test]
fn prefixes_go_and_empty_words_are_skipped() {
    let (aliases, none) = (Aliases::embedded(), Attributes::default());
    let operation = |pairs: &[(&str, Value)], evidence| {
        aliases.text(Key::Operation, &carrier(&attributes(pairs), &none, "", evidence))
    };
    let service = ("rpc.method", json!("lf.a2a.v1.A2AService/SendMessage"));
    assert_eq!(operation(std::slice::from_ref(&service), false).as_deref(), Some("SendMessage"));
    assert_eq!(operation(&[("rpc.method", json!("shop.v1.Cart/Add"))], false), None);
    let other = [("rpc.method", json!("_OTHER")), ("rpc.method_original", json!("tasks/frobnicate"))];
    assert_eq!(operation(&other, true).as_deref(), Some("tasks/frobnicate"));
    let agentgateway = [("a2a.method", json!("unknown")), ("a2a_method", json!("message/send"))];
    assert_eq!(operation(&agentgateway, true).as_deref(), Some("message/send"));
}

#[test]
fn a_users_names_come_first_and_their_errors_name_key_and_line() {
    let mut aliases = Aliases::embedded();
    aliases.extend("[keys]\ntask_id = [\"acme.job\"]\n").unwrap();
    let (none, given) = (Attributes::default(), attributes(&[("a2a.task.id", json!("a")), ("acme.job", json!("b"))]));
    assert_eq!(aliases.text(Key::TaskId, &carrier(&given, &none, "", false)).as_deref(), Some("b"));
    let before = aliases.names.clone().len();
    for (text, expected) in [
        ("[keys]\ntask = [\"x\"]\n", "line 2: keys.task: no such key"),
        ("[keys]\n\ntask_id = \"x\"\n", "line 3: keys.task_id: should be a list"),
        ("[keys]\ntask_id = [{ called = \"x\" }]\n", "line 2: keys.task_id.called: no such condition"),
        ("[keys]\ntask_id = [{ scope = \"x\" }]\n", "line 2: keys.task_id: an entry needs `name`"),
        ("[[sentences]]\ntext = 'a'\ngives = \"gold\"\n", "line 3: sentences.gives: no such kind of sentence"),
        ("[color]\n", "line 1: color: no such section"),
    ] {
        assert_eq!(aliases.extend(text).unwrap_err().to_string(), expected);
    }
    let broken = aliases.extend("[keys]\ntask_id = [\n").unwrap_err().to_string();
    assert!(broken.starts_with("line "), "{broken}");
    let pattern = aliases.extend("[[texts]]\ntext = '('\n").unwrap_err().to_string();
    assert!(pattern.starts_with("line 2: texts.text: "), "{pattern}");
    assert_eq!(aliases.names.len(), before);
}

#[test]
fn the_end_of_a_path_tells_the_call() {
    let aliases = Aliases::embedded();
    let call = |method: &str, path: &str| {
        aliases.path_call(method, path).map(|call| (call.operation, call.task_id, call.base))
    };
    let some = |operation: &str, task: &str, base: &str| Some((operation.to_owned(), task.to_owned(), base.to_owned()));
    assert_eq!(call("POST", "/rest/v1/message:send"), some("SendMessage", "", "/rest/v1"));
    assert_eq!(call("POST", "/tasks/t-1:cancel"), some("CancelTask", "t-1", ""));
    assert_eq!(call("GET", "/x/tasks/a%20b:subscribe"), some("SubscribeToTask", "a b", "/x"));
    assert_eq!(call("GET", "/x/tasks/t-1/"), some("GetTask", "t-1", "/x"));
    assert_eq!(
        call("GET", "/rest/tasks/t/pushNotificationConfigs/c"),
        some("GetTaskPushNotificationConfig", "t", "/rest")
    );
    for (method, path) in
        [("GET", "/message:send"), ("POST", "/a2a"), ("GET", "/"), ("GET", ""), ("POST", "/tasks/:cancel")]
    {
        assert_eq!(call(method, path), None, "{method} {path}");
    }
}

#[test]
fn error_texts_give_ids_and_codes() {
    let aliases = Aliases::embedded();
    let told = |text: &str| aliases.error_text(text);
    assert_eq!(told("Task 1-2 is in terminal state: TASK_STATE_COMPLETED").task_id, "1-2");
    assert_eq!(told("Task not found").task_id, "");
    assert_eq!(told("Task not found: no-such-task").task_id, "no-such-task");
    let mismatch = told("Context other does not match context c-1 of task t-1");
    assert_eq!((mismatch.context_id.as_str(), mismatch.task_id.as_str()), ("other", "t-1"));
    let old = told("JSON-RPC Error code=-32602 data=None message='Task t-9 is in terminal state: completed'");
    assert_eq!((old.code, old.task_id.as_str()), (Some(-32602), "t-9"));
    assert_eq!(told("Client error '401 Unauthorized' for url 'http://h/hook'").status, Some(401));
    assert_eq!(told("[-32603] push notification got non-retryable HTTP 401 Unauthorized").status, Some(401));
    assert_eq!(told("status = StatusCode.NOT_FOUND\n\tdetails = \"Task x not found\"").grpc, "NOT_FOUND");
}

#[test]
fn each_sdks_sentences_are_known_by_their_logger_and_words() {
    let aliases = Aliases::embedded();
    for (logger, text, gives, groups) in [
        (
            "a2a.server.tasks.base_push_notification_sender",
            "Push-notification sent for task_id=t to URL: http://w/",
            Gives::PushSent,
            vec![("task_id", "t"), ("url", "http://w/")],
        ),
        (
            "a2a.server.agent_execution.active_task",
            "Consumer[t]: Push notification sender raised; ignoring the failure.",
            Gives::PushFailed,
            vec![("task_id", "t")],
        ),
        (
            "a2a.server.request_handlers.default_request_handler",
            "Push notification sender raised for task_id=t; ignoring the failure.",
            Gives::PushFailed,
            vec![("task_id", "t")],
        ),
        (
            "google_adk.google.adk.a2a.agent._remote_a2a_agent",
            "Failed to resolve remote A2A agent hotel: Failed to resolve AgentCard from URL http://h:8001/.well-known/agent-card.json: HTTP Error 503: busy",
            Gives::CardFailed,
            vec![("url", "http://h:8001/.well-known/agent-card.json"), ("error", "HTTP Error 503: busy")],
        ),
        (
            "",
            "Failed to resolve AgentCard from URL http://h/card: no",
            Gives::CardFailed,
            vec![("url", "http://h/card")],
        ),
        (
            "a2a_server::push::sender",
            "push endpoint returned status: 401 Unauthorized",
            Gives::PushFailed,
            vec![("status", "401")],
        ),
        ("a2a_server::middleware", "A2A server error", Gives::Call, vec![]),
        (
            "",
            "Pre-stream error for request 37: TaskNotFoundError: Task not found: x",
            Gives::RequestError,
            vec![("rpc_id", "37"), ("exception", "TaskNotFoundError"), ("error", "Task not found: x")],
        ),
        (
            "",
            "Error during SSE streaming (request r-1): Error: reset",
            Gives::RequestError,
            vec![("rpc_id", "r-1"), ("exception", "Error"), ("error", "reset")],
        ),
        (
            "",
            "Error in agent event stream for message/stream (request 4): A2AError: no",
            Gives::RequestError,
            vec![("rpc_id", "4"), ("exception", "A2AError"), ("error", "no")],
        ),
        (
            "",
            "Unhandled error in JSON-RPC POST handler: VersionNotSupportedError: The requested A2A protocol version '9.9' is not supported. Supported versions: 1.0",
            Gives::VersionMismatch,
            vec![("version", "9.9")],
        ),
        ("", "push sending failed", Gives::PushFailed, vec![]),
        ("", "task moved to failed state due to a processor error", Gives::TaskFailed, vec![]),
        ("", "a2a call failed", Gives::Call, vec![]),
        (
            "o.a.s.s.tasks.BasePushNotificationSender",
            "Some push notifications failed to send for taskId t: java.util.concurrent.TimeoutException",
            Gives::PushFailed,
            vec![("task_id", "t"), ("error", "java.util.concurrent.TimeoutException")],
        ),
        ("A2A.A2AServer", "Background event processing failed for task t", Gives::TaskFailed, vec![("task_id", "t")]),
    ] {
        let said = aliases.sentence(logger, text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(said.gives, gives, "{text}");
        let found: Vec<_> = said.groups.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        assert_eq!(found, groups, "{text}");
    }
}

#[test]
fn sentences_that_merely_resemble_are_none() {
    let aliases = Aliases::embedded();
    for (logger, text) in [
        ("shop.push", "Push notification sender raised for task_id=t; ignoring the failure."),
        ("shop::push", "push endpoint returned status: 401 Unauthorized"),
        ("a2a_server::push", "push endpoint returned status: OK"),
        ("a2a_client::middleware", "A2A server error"),
        ("a2a_client::middleware", "A2A client error"),
        ("", "A2A server error"),
        ("", "a2a call started"),
        ("", "a2a call failed badly"),
        ("", "the push sending failed"),
        ("", "push sending failed: 401"),
        ("", "task moved to failed state due to an operator"),
        ("", "Pre-stream error for request 37"),
        ("", "Error during SSE streaming (request 37)"),
        ("", "Unhandled error in JSON-RPC POST handler: SyntaxError: version '9.9' is not supported"),
        ("", "Some push notifications failed to send"),
        ("", "Some push notifications failed to send for taskId: "),
        ("", "Background event processing failed for 3 tasks"),
        ("", "No background event processing failed for task t"),
        ("google_adk.x", "Failed to resolve remote A2A agent hotel: no such file card.json"),
        (
            "A2A.AspNetCore.HttpPushNotificationSender",
            "Push failed: task hash AB, config hash CD, attempt 3, status 401",
        ),
    ] {
        assert!(aliases.sentence(logger, text).is_none(), "{logger}: {text}");
    }
}
