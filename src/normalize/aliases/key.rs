//! What is looked up in a table of names.
//!
//! The words are those of the `[keys]` section of `queries/aliases.toml`, which says what each is.

use crate::normalize::protocol::state;
use crate::normalize::{credential, host};

macro_rules! keys {
    ($($key:ident = $word:literal,)*) => {
        /// What is looked up, in the words of the `[keys]` section.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "the words are explained in aliases.toml")]
        pub enum Key { $($key,)* }

        impl Key {
            pub(super) const ALL: &'static [Self] = &[$(Self::$key,)*];

            /// The word in the file.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$key => $word,)* }
            }
        }
    };
}

keys! {
    Operation = "operation", RpcId = "rpc_id", MessageId = "message_id", ReferenceTaskIds = "reference_task_ids",
    ProtocolVersion = "protocol_version", Streaming = "streaming", StreamEvents = "stream_events", Binding = "binding",
    Tenant = "tenant", Principal = "principal", RequestBody = "request_body", ResponseBody = "response_body", ResponseSize = "response_size",
    Duration = "duration", TaskId = "task_id", ContextId = "context_id", TaskState = "task_state",
    EventState = "event_state", SkillId = "skill_id", Reason = "reason", ArtifactIds = "artifact_ids", StatusAt = "status_at",
    ArtifactId = "artifact_id", Change = "change", Observer = "observer", ObserverName = "observer_name",
    Local = "local", StateSource = "state_source", AgentName = "agent_name", AgentUrl = "agent_url", Client = "client", Service = "service",
    TraceId = "trace_id", SpanId = "span_id", Traceparent = "traceparent", Upstream = "upstream",
    ErrorCode = "error_code", GrpcStatus = "grpc_status", ErrorReason = "error_reason", ErrorText = "error_text",
    Outcome = "outcome", HttpMethod = "http_method", HttpStatus = "http_status", Url = "url", UrlPath = "url_path",
    UrlScheme = "url_scheme", ServerAddress = "server_address", ServerPort = "server_port",
    ClientAddress = "client_address", PeerAddress = "peer_address", PeerPort = "peer_port", Etag = "etag",
    LastModified = "last_modified", CacheControl = "cache_control", ContentType = "content_type",
    NotificationToken = "notification_token", Authorization = "authorization", PushUrl = "push_url",
    PushConfigId = "push_config_id", PushScheme = "push_scheme", PushKid = "push_kid", PushSignature = "push_signature",
}

impl Key {
    /// What may be kept of the text of a key: names of parties without passwords, ids that are some.
    pub(super) fn kept(self, text: String) -> Option<String> {
        let is_hex = |digits: usize| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        match self {
            Self::AgentName
            | Self::Client
            | Self::ClientAddress
            | Self::ObserverName
            | Self::PeerAddress
            | Self::ServerAddress
            | Self::Service => Some(host::name_without_secrets(&text)).filter(|name| !name.is_empty()),
            Self::Operation => Some(credential::one_word(&text)),
            Self::TaskState | Self::EventState if state::canonical(&text) == "unknown" => {
                Some(credential::one_word(&text))
            }
            Self::ProtocolVersion => Some(credential::version_word(&text)),
            Self::TraceId => is_hex(32).then(|| text.to_ascii_lowercase()),
            Self::SpanId => is_hex(16).then(|| text.to_ascii_lowercase()),
            _ => Some(text),
        }
    }
}
