//! Our own events, and records of others that say a task's state in attributes.
//!
//! In: a record with an event name of ours, or none and a state. Out: `task_events`, `artifact_parts`, `policy_changes`,
//! and notes on deliveries. Never keeps a reason's text.

use crate::decode::record::Observer;
use crate::instant::Instant;
use crate::normalize::aliases::Key;
use crate::normalize::credential;
use crate::normalize::hook_url::hook_url;
use crate::normalize::place::{agent_url, bare_url, is_authority};
use crate::normalize::protocol::state;
use crate::tables::{
    ArtifactPartColumns, ArtifactPartRow, Common, Facts, PolicyChangeColumns, PolicyChangeRow, TaskEventColumns,
    TaskEventRow,
};

use super::Telemetry;
use super::delivery::Note;
use super::failure::Failure;
use super::http;
use super::log::Reader;
use super::misspelt;
use super::row::{first, service_ref};
use super::statement::Statement;

/// Names of our own events; the last is an exchange, which is read as such before it comes here.
pub const EVENTS: [&str; 5] =
    ["a2a.task.state", "a2a.artifact.pruned", "a2a.push.delivery", "a2a.policy.changed", "a2a.exchange"];

/// Artifacts that one event may name.
const MAX_ARTIFACTS: usize = 4096;
/// What may change about a skill.
const CHANGES: [&str; 4] = ["granted", "revoked", "gated", "changed"];

/// Reads a record; false if it is no event of these.
pub(super) fn read(reader: &Reader<'_>, telemetry: &mut Telemetry, facts: &mut Facts) -> bool {
    let Some(statement) = Statement::read(reader.context.aliases, &reader.carrier).or_else(|| named(reader)) else {
        return false;
    };
    telemetry.rejects.extend(misspelt::told(reader, &statement.state_raw));
    match reader.record.event_name.as_str() {
        "a2a.task.state" => task_state(reader, &statement, facts),
        "a2a.artifact.pruned" => pruned(reader, &statement, facts),
        "a2a.push.delivery" => delivery(reader, statement, telemetry),
        "a2a.policy.changed" => policy(reader, &statement, facts),
        // Loggers make up event names (Rust's are source positions), so the attributes count.
        _ if !statement.state_raw.is_empty() && !statement.gateway => task_state(reader, &statement, facts),
        _ => return false,
    }
    true
}

/// An event may say nothing that a statement holds.
fn named(reader: &Reader<'_>) -> Option<Statement> {
    reader.record.event_name.starts_with("a2a.").then(|| Statement {
        skill_id: reader.text(Key::SkillId),
        client: reader.text(Key::Client),
        agent_url: agent_url(&reader.text(Key::AgentUrl)),
        agent_name: reader.text(Key::AgentName),
        ..Statement::default()
    })
}

/// Who says it: what the event says, else the client for its own verdict, else the agent.
fn observer(statement: &Statement) -> Observer {
    if statement.local { Observer::Client } else { statement.observer.unwrap_or(Observer::Server) }
}

/// Columns of an event, with the agent and client that it names. `url.full` of a delivery is the webhook's.
fn common(reader: &Reader<'_>, statement: &Statement, with_url: bool) -> Common {
    let observer = observer(statement);
    let service = &reader.seen.service;
    let url = if with_url { agent_url(&reader.text(Key::Url)) } else { String::new() };
    let server = http::server(reader.context.aliases, &reader.carrier);
    let host = if is_authority(&server) { format!("//{server}") } else { String::new() };
    let name = if statement.agent_name.is_empty() { String::new() } else { format!("name:{}", statement.agent_name) };
    // A client's service is no agent; its task tells the agent.
    let own = if observer == Observer::Server { service_ref(service) } else { String::new() };
    let caller = if observer == Observer::Client { service.clone() } else { String::new() };
    let mut common = reader.seen.of_record(observer);
    common.agent_ref = first([url, statement.agent_url.clone(), host, name, own]);
    common.client_ref = first([statement.client.clone(), caller]);
    common.tenant.clone_from(&statement.tenant);
    common.principal.clone_from(&statement.principal);
    if !statement.observer_name.is_empty() {
        common.observer_name.clone_from(&statement.observer_name);
    }
    common
}

fn task_state(reader: &Reader<'_>, statement: &Statement, facts: &mut Facts) {
    if statement.task_id.is_empty() || statement.state_raw.is_empty() {
        return;
    }
    let origin = if statement.local { "local" } else { "log" };
    let common = common(reader, statement, true);
    let artifacts = reader.context.aliases.texts(Key::ArtifactIds, &reader.carrier);
    facts.push_task_event(TaskEventRow {
        common: common.clone(),
        own: TaskEventColumns {
            task_id: statement.task_id.clone(),
            context_id: statement.context_id.clone(),
            skill_id: statement.skill_id.clone(),
            state: state::canonical(&statement.state_raw).to_owned(),
            state_raw: statement.state_raw.clone(),
            reason_class: reason_class(reader),
            // When the agent sent the event is not when the state changed: it may tell one state twice.
            status_at: reader
                .context
                .aliases
                .text(Key::StatusAt, &reader.carrier)
                .and_then(|at| Instant::parse_rfc3339(&at)),
            origin: origin.to_owned(),
            artifact_count: artifacts.as_ref().and_then(|ids| i64::try_from(ids.len()).ok()),
            ..TaskEventColumns::default()
        },
    });
    for (ordinal, artifact_id) in artifacts.unwrap_or_default().into_iter().take(MAX_ARTIFACTS).enumerate() {
        let own = ArtifactPartColumns {
            snapshot: Some(true),
            ordinal: i64::try_from(ordinal).ok(),
            ..artifact(statement, artifact_id, origin, "received")
        };
        facts.push_artifact_part(ArtifactPartRow { common: common.clone(), own });
    }
}

fn artifact(statement: &Statement, artifact_id: String, origin: &str, action: &str) -> ArtifactPartColumns {
    ArtifactPartColumns {
        task_id: statement.task_id.clone(),
        context_id: statement.context_id.clone(),
        skill_id: statement.skill_id.clone(),
        artifact_id,
        media_type_from: "absent".to_owned(),
        origin: origin.to_owned(),
        action: action.to_owned(),
        ..ArtifactPartColumns::default()
    }
}

/// Class of the reason given, a code word being read as the words it is made of; else of the sentence around it.
fn reason_class(reader: &Reader<'_>) -> String {
    let reason = reader.text(Key::Reason);
    let words = reason.replace(['_', '-', '.'], " ");
    let sentence = reader.record.body.as_str().unwrap_or_default();
    let classes = [reason.as_str(), words.as_str(), sentence].map(|text| reader.context.patterns.class(text));
    let telling = classes.into_iter().find(|class| !matches!(*class, "" | "other"));
    telling.unwrap_or(classes.into_iter().find(|class| !class.is_empty()).unwrap_or_default()).to_owned()
}

fn pruned(reader: &Reader<'_>, statement: &Statement, facts: &mut Facts) {
    let aliases = reader.context.aliases;
    let ids = aliases.texts(Key::ArtifactId, &reader.carrier);
    let ids = ids.or_else(|| aliases.texts(Key::ArtifactIds, &reader.carrier)).unwrap_or_default();
    let common = common(reader, statement, true);
    for artifact_id in ids.into_iter().take(MAX_ARTIFACTS) {
        let own = artifact(statement, artifact_id, "log", "pruned");
        facts.push_artifact_part(ArtifactPartRow { common: common.clone(), own });
    }
}

fn delivery(reader: &Reader<'_>, statement: Statement, telemetry: &mut Telemetry) {
    let aliases = reader.context.aliases;
    let observer = observer(&statement);
    let status = aliases.number(Key::HttpStatus, &reader.carrier);
    let failure = Failure::of_attributes(&reader.carrier, reader.context);
    let error_type = reader.carrier.attributes.text("error.type").is_some();
    let url = first([hook_url(&bare_url(&reader.text(Key::Url))), statement.push_url.clone()]);
    let signature = reader.text(Key::PushSignature).to_ascii_lowercase();
    let note = Note {
        agent_ref: common(reader, &statement, false).agent_ref,
        seen: reader.seen.clone(),
        observer,
        task_id: statement.task_id,
        url,
        config_id: statement.push_config_id,
        status,
        failed: status.is_none() && (error_type || failure.is_some()),
        scheme: credential::scheme_word(&reader.text(Key::PushScheme)),
        kid: reader.text(Key::PushKid),
        signature: if matches!(signature.as_str(), "valid" | "invalid" | "absent") { signature } else { String::new() },
        state: if statement.state_raw.is_empty() { "" } else { state::canonical(&statement.state_raw) }.to_owned(),
    };
    match observer {
        Observer::Server => telemetry.notes.deliveries.push(note),
        _ => telemetry.notes.receipts.push(note),
    }
}

fn policy(reader: &Reader<'_>, statement: &Statement, facts: &mut Facts) {
    let change = reader.text(Key::Change).to_ascii_lowercase();
    let own = PolicyChangeColumns {
        skill_id: statement.skill_id.clone(),
        change: CHANGES.iter().find(|known| **known == change).copied().unwrap_or("changed").to_owned(),
        origin: "log".to_owned(),
    };
    facts.push_policy_change(PolicyChangeRow { common: common(reader, statement, true), own });
}
