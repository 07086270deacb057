//! Operations and the vocabularies that name them.
//!
//! In: a JSON-RPC method, a gRPC method, a name from telemetry. Out: one of the eleven operations of A2A 1.0 and, where
//! the name alone tells it, the dialect.

use Dialect::{V01, V03, V10};
use Operation::{
    CancelTask, CreateTaskPushNotificationConfig, DeleteTaskPushNotificationConfig, GetExtendedAgentCard, GetTask,
    GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs, ListTasks, SendMessage, SendStreamingMessage,
    SubscribeToTask,
};

/// The operations of A2A 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Send and wait.
    SendMessage,
    /// Send and watch.
    SendStreamingMessage,
    /// Read one task.
    GetTask,
    /// Read many tasks.
    ListTasks,
    /// End a task.
    CancelTask,
    /// Watch a task that runs.
    SubscribeToTask,
    /// Register a webhook.
    CreateTaskPushNotificationConfig,
    /// Read a webhook registration.
    GetTaskPushNotificationConfig,
    /// Read a task's webhook registrations.
    ListTaskPushNotificationConfigs,
    /// Remove a webhook registration.
    DeleteTaskPushNotificationConfig,
    /// Read the card for signed-in callers.
    GetExtendedAgentCard,
}

impl Operation {
    /// The name in the `operation` column.
    pub fn as_str(self) -> &'static str {
        match self {
            SendMessage => "SendMessage",
            SendStreamingMessage => "SendStreamingMessage",
            GetTask => "GetTask",
            ListTasks => "ListTasks",
            CancelTask => "CancelTask",
            SubscribeToTask => "SubscribeToTask",
            CreateTaskPushNotificationConfig => "CreateTaskPushNotificationConfig",
            GetTaskPushNotificationConfig => "GetTaskPushNotificationConfig",
            ListTaskPushNotificationConfigs => "ListTaskPushNotificationConfigs",
            DeleteTaskPushNotificationConfig => "DeleteTaskPushNotificationConfig",
            GetExtendedAgentCard => "GetExtendedAgentCard",
        }
    }

    /// Whether it submits a message.
    pub fn sends(self) -> bool {
        matches!(self, SendMessage | SendStreamingMessage)
    }

    /// Whether it is answered by an event stream when all is well.
    pub fn streams(self) -> bool {
        matches!(self, SendStreamingMessage | SubscribeToTask)
    }

    /// Whether it only reads tasks.
    pub fn polls(self) -> bool {
        matches!(self, GetTask | ListTasks)
    }

    /// Whether it is about webhook registrations.
    pub fn configures_push(self) -> bool {
        matches!(
            self,
            CreateTaskPushNotificationConfig
                | GetTaskPushNotificationConfig
                | ListTaskPushNotificationConfigs
                | DeleteTaskPushNotificationConfig
        )
    }

    /// Reads any name in use for an operation: a method of any dialect, a gRPC path or method, with or without its
    /// service.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.trim();
        by_rpc_method(name).or_else(|| by_grpc_method(name.rsplit('/').next().unwrap_or(name))).map(|(found, _)| found)
    }
}

/// A vocabulary. 0.2 and 0.3 cannot be told apart on calls and are both [`Dialect::V03`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// `tasks/send`.
    V01,
    /// `message/send`.
    V03,
    /// `SendMessage`.
    V10,
}

impl Dialect {
    /// The word in the `dialect` column.
    pub fn as_str(self) -> &'static str {
        match self {
            V01 => "0.1",
            V03 => "0.3",
            V10 => "1.0",
        }
    }
}

/// JSON-RPC methods. Reading, cancelling and resubscribing are named alike in 0.1 to 0.3, so those tell no dialect.
const RPC_METHODS: [(&str, Operation, Option<Dialect>); 29] = [
    ("tasks/send", SendMessage, Some(V01)),
    ("tasks/sendSubscribe", SendStreamingMessage, Some(V01)),
    ("tasks/pushNotification/set", CreateTaskPushNotificationConfig, Some(V01)),
    ("tasks/pushNotification/get", GetTaskPushNotificationConfig, Some(V01)),
    ("tasks/get", GetTask, None),
    ("tasks/cancel", CancelTask, None),
    ("tasks/resubscribe", SubscribeToTask, None),
    ("message/send", SendMessage, Some(V03)),
    ("message/stream", SendStreamingMessage, Some(V03)),
    ("tasks/list", ListTasks, Some(V03)),
    ("tasks/subscribe", SubscribeToTask, Some(V03)),
    ("tasks/pushNotificationConfig/set", CreateTaskPushNotificationConfig, Some(V03)),
    ("tasks/pushNotificationConfig/get", GetTaskPushNotificationConfig, Some(V03)),
    ("tasks/pushNotificationConfig/list", ListTaskPushNotificationConfigs, Some(V03)),
    ("tasks/pushNotificationConfig/delete", DeleteTaskPushNotificationConfig, Some(V03)),
    ("agent/getAuthenticatedExtendedCard", GetExtendedAgentCard, Some(V03)),
    ("agent/authenticatedExtendedCard", GetExtendedAgentCard, Some(V03)),
    ("agent/getExtendedCard", GetExtendedAgentCard, Some(V03)),
    ("SendMessage", SendMessage, Some(V10)),
    ("SendStreamingMessage", SendStreamingMessage, Some(V10)),
    ("GetTask", GetTask, Some(V10)),
    ("ListTasks", ListTasks, Some(V10)),
    ("CancelTask", CancelTask, Some(V10)),
    ("SubscribeToTask", SubscribeToTask, Some(V10)),
    ("CreateTaskPushNotificationConfig", CreateTaskPushNotificationConfig, Some(V10)),
    ("GetTaskPushNotificationConfig", GetTaskPushNotificationConfig, Some(V10)),
    ("ListTaskPushNotificationConfigs", ListTaskPushNotificationConfigs, Some(V10)),
    ("DeleteTaskPushNotificationConfig", DeleteTaskPushNotificationConfig, Some(V10)),
    ("GetExtendedAgentCard", GetExtendedAgentCard, Some(V10)),
];

/// gRPC methods of 0.2.3 to 0.3 that 1.0 renamed.
const OLD_GRPC_METHODS: [(&str, Operation); 7] = [
    ("TaskSubscription", SubscribeToTask),
    ("CreateTaskPushNotification", CreateTaskPushNotificationConfig),
    ("GetTaskPushNotification", GetTaskPushNotificationConfig),
    ("ListTaskPushNotification", ListTaskPushNotificationConfigs),
    ("ListTaskPushNotificationConfig", ListTaskPushNotificationConfigs),
    ("DeleteTaskPushNotification", DeleteTaskPushNotificationConfig),
    ("GetAgentCard", GetExtendedAgentCard),
];

/// A JSON-RPC method's operation, and its dialect if the name tells it.
pub fn by_rpc_method(method: &str) -> Option<(Operation, Option<Dialect>)> {
    RPC_METHODS.iter().find(|(name, ..)| *name == method).map(|(_, operation, dialect)| (*operation, *dialect))
}

/// A gRPC method's operation, and its dialect if the name tells it; the service tells it otherwise.
pub fn by_grpc_method(method: &str) -> Option<(Operation, Option<Dialect>)> {
    if let Some((_, operation)) = OLD_GRPC_METHODS.iter().find(|(name, _)| *name == method) {
        return Some((*operation, Some(V03)));
    }
    let (operation, dialect) = by_rpc_method(method).filter(|(_, dialect)| *dialect == Some(V10))?;
    let only_in_10 = matches!(operation, SubscribeToTask | GetExtendedAgentCard | ListTaskPushNotificationConfigs);
    Some((operation, dialect.filter(|_| only_in_10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vocabulary_gives_the_same_operation() {
        for name in [
            "tasks/send",
            "message/send",
            "SendMessage",
            "lf.a2a.v1.A2AService/SendMessage",
            "/a2a.v1.A2AService/SendMessage",
        ] {
            assert_eq!(Operation::from_name(name), Some(SendMessage), "{name}");
        }
        for name in ["tasks/resubscribe", "SubscribeToTask", "a2a.v1.A2AService/TaskSubscription"] {
            assert_eq!(Operation::from_name(name), Some(SubscribeToTask), "{name}");
        }
        for name in ["tasks/frobnicate", "initialize", "tools/call", ""] {
            assert_eq!(Operation::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_method_tells_its_dialect_unless_two_share_it() {
        assert_eq!(by_rpc_method("tasks/sendSubscribe"), Some((SendStreamingMessage, Some(V01))));
        assert_eq!(by_rpc_method("message/stream"), Some((SendStreamingMessage, Some(V03))));
        assert_eq!(by_rpc_method("SendStreamingMessage"), Some((SendStreamingMessage, Some(V10))));
        assert_eq!(by_rpc_method("tasks/get"), Some((GetTask, None)));
    }
}
