//! The fact tables. Each is declared once: its row struct, Arrow schema, array building and identity follow from that.
//!
//! In: rows made by `normalize`. Out: Arrow batches that the rules read. Meanings and units are on the columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cells::read;
use super::column::{ColumnKind, Flag, Int, Key, Moment, Texts, Time};
use super::declare::{Table, columns, table};
use super::stamp::TableError;
use crate::instant::Instant;

/// Tables of what a card lists: its time is that of a look at the card, and theirs the epoch in every capture.
pub const TIMELESS: [&str; 2] = ["card_skills", "card_endpoints"];

columns! {
    /// Columns that every fact has.
    pub struct Common {
        /// 128-bit hash of the fact's content, hex.
        fact_id: Key,
        /// Groups the facts made from one record (one exchange, span or log record).
        record_id: Key,
        /// The same call seen by two observers; `''` when no exact key is known.
        call_id: Key,
        /// Event time by the source's clock, UTC.
        observed_at: Moment,
        /// When the service received it; null for files.
        received_at: Time,
        /// `client`, `server`, `gateway`, `receiver`: who saw it.
        observer: Key,
        /// Name of the tap.
        observer_name: Key,
        /// The calling party after resolution.
        client: Key,
        /// The calling party as the record gives it: address without port, or a name.
        client_ref: Key,
        /// Canonical identity of the remote agent after resolution.
        agent: Key,
        /// The agent as the record gives it: an absolute url without query, `name:<card name>`, `service:<service.name>`.
        agent_ref: Key,
        /// Hash of the caller's subject (JWT `sub`, gateway `jwt.sub`); `''` for opaque tokens and none.
        principal: Key,
        /// A2A tenant.
        tenant: Key,
        /// Trace id, 32 hex digits.
        trace_id: Key,
        /// Span id, 16 hex digits: for an exchange the caller's span (from traceparent), for a span its own.
        span_id: Key,
        /// Source name.
        source: Key,
        /// Line, byte, or entry of a HAR (`log.entries[12]`, from zero) within the source.
        position: Key,
    }
}

columns! {
    /// What follows from the common columns.
    struct Bucketed {
        /// `observed_at` cut to ten minutes.
        bucket: Moment,
    }
}

const BUCKET_NANOS: i64 = 600 * 1_000_000_000;

impl Bucketed {
    fn of(common: &Common) -> Self {
        let Instant(at) = common.observed_at;
        Self { bucket: Instant(at.saturating_sub(at.rem_euclid(BUCKET_NANOS))) }
    }
}

impl Common {
    fn hash_content(&self, into: &mut Sha256) {
        Moment::hash(&self.observed_at, into);
        for cell in [
            &self.observer,
            &self.observer_name,
            &self.client_ref,
            &self.agent_ref,
            &self.principal,
            &self.tenant,
            &self.trace_id,
            &self.span_id,
        ] {
            Key::hash(cell, into);
        }
    }
}

table! {
    /// A call, or a webhook-config call, as one observer saw it.
    "exchanges" ExchangeRow in ExchangeColumns {
        /// When the response was complete.
        ended_at: Time,
        /// Name in A2A 1.0: `SendMessage`, `SendStreamingMessage`, `GetTask`, `ListTasks`, `CancelTask`, `SubscribeToTask`,
        /// `CreateTaskPushNotificationConfig`, `GetTaskPushNotificationConfig`, `ListTaskPushNotificationConfigs`,
        /// `DeleteTaskPushNotificationConfig`, `GetExtendedAgentCard`; `''` when the method is of no A2A version.
        operation: Key,
        /// The method, path or rpc as on the wire.
        operation_raw: Key,
        /// `jsonrpc`, `http+json`, `grpc`.
        binding: Key,
        /// `0.1`, `0.3` (also 0.2, whose calls look the same), `1.0`: the vocabulary of the request.
        dialect: Key,
        /// `A2A-Version` header or query parameter; `''` when not sent.
        declared_version: Key,
        /// JSON-RPC id as text. Not unique: pair by exchange.
        rpc_id: Key,
        /// Task named by the caller.
        request_task_id: Key,
        /// Task of the reply, else the one named by the caller.
        task_id: Key,
        /// Context of the reply, else of the request.
        context_id: Key,
        /// Context named by the caller; `''` when it left the choice to the agent.
        request_context_id: Key,
        /// Message id of the request.
        message_id: Key,
        /// `referenceTaskIds` of the request.
        reference_task_ids: Texts,
        /// Skill asked for, by the configured path list.
        skill_id: Key,
        /// The path that gave it.
        skill_from: Key,
        /// `acceptedOutputModes` of the request: canonical media types or 0.1 mode words.
        accepted_output_modes: Texts,
        /// HTTP status; null when no response was seen.
        http_status: Int,
        /// JSON-RPC error code (HTTP+JSON: null).
        error_code: Int,
        /// ErrorInfo reason, else the canonical reason of the code in its dialect (`TASK_NOT_FOUND` ...).
        error_reason: Key,
        /// Class of the error's text by the pattern table: `unknown-skill`, `unsupported-mode`, `auth`, `policy-changed`, `timeout`,
        /// `terminal-task`, `not-found`, `transport`, `other`; `''` without one. The text is not kept.
        error_text_class: Key,
        /// `ok`, `transport`, `rate-limited`, `capability`, `auth`, `not-found`, `version`, `invalid`, `agent-error`.
        outcome: Key,
        /// What came back: `task`, `message`, `tasks`, `push-config`, `card`, `events`, `empty`, `error`, `none`.
        reply_kind: Key,
        /// State of the task that came back, last one of a stream: `submitted`, `working`, `input-required`, `auth-required`,
        /// `completed`, `failed`, `canceled`, `rejected`, `unknown`.
        reply_state: Key,
        /// Whether the reply was an event stream.
        streaming: Flag,
        /// Events in the stream.
        stream_events: Int,
        /// How the stream ended: `terminal`, `interrupted`, `message`, `error`, `cut` (by the server), `client-closed`.
        stream_end: Key,
        /// Caller asked for an answer before the task is done.
        return_immediately: Flag,
        /// Caller went away before the answer was complete.
        client_left: Flag,
        /// Webhook url of a push config in the request (or in the reply of a config call).
        push_url: Key,
        /// First authentication scheme of that push config, lower case; `''` for none.
        push_scheme: Key,
        /// All authentication schemes of that push config, lower case, as listed; null without a push config.
        push_schemes: Texts,
        /// Whether that push config has a token.
        push_token: Flag,
        /// Id of that push config.
        push_config_id: Key,
        /// Hash of the message's parts and metadata, without ids.
        content_hash: Key,
        /// Address that answered, where the tap recorded it.
        server_address: Key,
    }
}

table! {
    /// A state of a task as seen once.
    "task_events" TaskEventRow in TaskEventColumns {
        /// Task.
        task_id: Key,
        /// Context (0.1: session).
        context_id: Key,
        /// Skill asked for in the same exchange, else by the first message in a whole task's history.
        skill_id: Key,
        /// `submitted`, `working`, `input-required`, `auth-required`, `completed`, `failed`, `canceled`, `rejected`, `unknown`.
        state: Key,
        /// State as on the wire.
        state_raw: Key,
        /// Class of the status message by the pattern table (`unknown-skill`, `unsupported-mode`, `auth`, `policy-changed`, `timeout`,
        /// `terminal-task`, `not-found`, `transport`, `other`); `''` without a message. The text is not kept.
        reason_class: Key,
        /// `status.timestamp`.
        status_at: Time,
        /// `reply`, `stream`, `push`, `poll` (get, list), `local` (a client's own verdict), `log`, `span`.
        origin: Key,
        /// Whole task, rather than a status event.
        snapshot: Flag,
        /// Position within its stream.
        ordinal: Int,
        /// `generation` of A2A dev-1.1.
        generation: Int,
        /// `final` of 0.x.
        is_final: Flag,
        /// Number of artifacts in the snapshot; null where the reply would not list them.
        artifact_count: Int,
        /// Operation of the exchange that carried it.
        operation: Key,
        /// Address that answered.
        server_address: Key,
    }
}

table! {
    /// A part of an artifact as seen once.
    "artifact_parts" ArtifactPartRow in ArtifactPartColumns {
        /// Task.
        task_id: Key,
        /// Context.
        context_id: Key,
        /// Skill asked for in the same exchange, else by the first message in a whole task's history.
        skill_id: Key,
        /// `artifactId`; 0.1: `index` as text.
        artifact_id: Key,
        /// Index of the part; null for an artifact without parts.
        part_index: Int,
        /// `text`, `raw`, `url`, `data`; `''` for an artifact without parts.
        part_kind: Key,
        /// Type without parameters, lower case; `''` when absent.
        media_type: Key,
        /// `declared`, `inferred` (from the part's kind), `absent`.
        media_type_from: Key,
        /// Artifact event that appends.
        append: Flag,
        /// Artifact event that says it is the last.
        last_chunk: Flag,
        /// Bytes of the part's content (decoded length of raw bytes, UTF-8 length of text).
        size: Int,
        /// `reply`, `stream`, `push`, `poll` (get, list), `local` (a client's own verdict), `log`, `span`.
        origin: Key,
        /// Within a whole task, rather than an artifact event.
        snapshot: Flag,
        /// Position within its stream, or within its snapshot.
        ordinal: Int,
        /// `received`, `pruned` (own event).
        action: Key,
    }
}

table! {
    /// A look at a card: GET, 304, extended card call, resolver log, card file.
    "cards" CardRow in CardColumns {
        /// Where it was fetched.
        url: Key,
        /// Class of the fetched url's host, as in `card_endpoints`.
        host_class: Key,
        /// `fetch`, `call` (extended card), `log`, `file`.
        origin: Key,
        /// HTTP status; null for logs and files.
        http_status: Int,
        /// A 304.
        not_modified: Flag,
        /// `ETag`.
        etag: Key,
        /// `Last-Modified`.
        last_modified: Key,
        /// `max-age` of `Cache-Control`, seconds.
        max_age_s: Int,
        /// The authenticated extended card.
        extended: Flag,
        /// SHA-256 of the body; `''` when no card was in it.
        body_sha256: Key,
        /// Skill fingerprint: the hash that clients log of the skills and modes they rely on.
        fingerprint: Key,
        /// The same material on the dialect-neutral model.
        contract_sha256: Key,
        /// Name, descriptions, tags, examples, provider.
        descriptive_sha256: Key,
        /// Security schemes and requirements, of the card and of each skill.
        security_sha256: Key,
        /// Card name.
        name: Key,
        /// Card version.
        version: Key,
        /// Protocol versions named in the card.
        protocol_versions: Texts,
        /// All interface urls.
        endpoints: Texts,
        /// `capabilities.streaming`, absent is false; null without a card.
        streaming: Flag,
        /// `capabilities.pushNotifications`, absent is false; null without a card.
        push_notifications: Flag,
        /// Names of security schemes, sorted.
        security_schemes: Texts,
        /// Ways to be let in, one enough: schemes with scopes, `oauth(run) and mtls`, or `nothing`; null without a card.
        security_required: Texts,
        /// Key ids of the card's signatures.
        signature_kids: Texts,
        /// Shape: `0.1`, `0.3`, `1.0`, `0.3+1.0` (both in one body).
        dialect: Key,
        /// The card's default output modes, canonical; null without a card.
        default_output_modes: Texts,
    }
}

table! {
    /// A skill of a card body.
    "card_skills" CardSkillRow in CardSkillColumns {
        /// The card body.
        body_sha256: Key,
        /// Skill id.
        skill_id: Key,
        /// Effective input modes: own, else the card's defaults; canonical media types or mode words, sorted, distinct.
        input_modes: Texts,
        /// Effective output modes.
        output_modes: Texts,
        /// The skill's own security requirements.
        security_sha256: Key,
        /// They, in the words of `cards.security_required`.
        security_required: Texts,
    }
}

table! {
    /// An interface that a card body advertises.
    "card_endpoints" CardEndpointRow in CardEndpointColumns {
        /// The card body.
        body_sha256: Key,
        /// Advertised url as in the card.
        url: Key,
        /// `jsonrpc`, `http+json`, `grpc`, else as in the card.
        binding: Key,
        /// Protocol version of the interface.
        protocol_version: Key,
        /// `url`, `additionalInterfaces`, `supportedInterfaces`.
        field: Key,
        /// `http`, `https`; `''` for a bare host.
        scheme: Key,
        /// Host without port, lower case.
        host: Key,
        /// `loopback`, `unspecified`, `link-local`, `private`, `single-label`, `internal`, `public`.
        host_class: Key,
        /// First in order of preference.
        preferred: Flag,
    }
}

table! {
    /// A webhook POST.
    "push_deliveries" PushDeliveryRow in PushDeliveryColumns {
        /// Task that the body names.
        task_id: Key,
        /// Webhook url without query.
        url: Key,
        /// Push config id, where known.
        config_id: Key,
        /// Receiver's answer; null when none was seen.
        http_status: Int,
        /// `''` for success, else `auth`, `transport`, `client-error`, `server-error`.
        failure_class: Key,
        /// Authorization scheme used, lower case; `''` for none.
        scheme: Key,
        /// `kid` of the JWT, where the credential is one.
        kid: Key,
        /// `valid`, `invalid`, `absent`, `unknown`.
        signature: Key,
        /// A notification token header was sent.
        token_present: Flag,
        /// In the body: `submitted`, `working`, `input-required`, `auth-required`, `completed`, `failed`, `canceled`, `rejected`, `unknown`.
        state: Key,
        /// `task`, `status`, `artifact`, `message`; `''` when the body was not seen.
        payload: Key,
    }
}

table! {
    /// A key seen in a key set or a card's signature.
    "signing_keys" SigningKeyRow in SigningKeyColumns {
        /// Where the key set was fetched; the card's url for a signature.
        url: Key,
        /// Key id.
        kid: Key,
        /// RFC 7638 thumbprint; `''` for a signature, which has no public key.
        thumbprint: Key,
        /// `jwks`, `card`.
        origin: Key,
    }
}

table! {
    /// A change of who may use a skill, told by an own event. Changes seen in cards follow from `cards`.
    "policy_changes" PolicyChangeRow in PolicyChangeColumns {
        /// Skill.
        skill_id: Key,
        /// What changed, in the teller's words from a closed list: `granted`, `revoked`, `gated`, `changed`.
        change: Key,
        /// How it was seen: `log`.
        origin: Key,
    }
}
