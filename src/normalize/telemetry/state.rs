//! States of tasks that spans tell.
//!
//! In: statements with a task and a state. Out: `task_events`. A run's end that the store overruled is no state.

use std::collections::HashSet;

use crate::decode::record::Observer;
use crate::normalize::protocol::state;
use crate::tables::{Common, ExchangeColumns, Facts, TaskEventColumns, TaskEventRow};

use super::knowledge::Knowledge;
use super::node::{Node, Side};
use super::row::{first, service_ref};
use super::statement::Statement;

/// The end of a task that a call's answer told.
pub(super) struct End {
    /// Index of the node that begins the call.
    pub(super) node: usize,
    pub(super) task_id: String,
    pub(super) state: &'static str,
}

/// What calls tell that others are judged by.
pub(super) struct Judged {
    /// Interfaces under which calls happened that nothing else is like, with the index of the first node of each.
    pub(super) bases: Vec<(usize, String)>,
    /// Ends of tasks.
    pub(super) ends: Vec<End>,
}

/// The state that a call's answer told, at the end of the call.
pub(super) fn task_event(
    node: &Node,
    said: &Statement,
    common: &Common,
    exchange: &ExchangeColumns,
) -> Option<TaskEventRow> {
    if said.state_raw.is_empty() || said.task_id.is_empty() {
        return None;
    }
    let mut common = common.clone();
    common.observed_at = node.end();
    if said.local {
        common.observer = Observer::Client.as_str().to_owned();
    }
    let own = TaskEventColumns {
        operation: exchange.operation.clone(),
        server_address: exchange.server_address.clone(),
        ..columns(said, &exchange.error_text_class)
    };
    Some(TaskEventRow { common, own })
}

fn columns(said: &Statement, reason_class: &str) -> TaskEventColumns {
    TaskEventColumns {
        task_id: said.task_id.clone(),
        context_id: said.context_id.clone(),
        skill_id: said.skill_id.clone(),
        state: state::canonical(&said.state_raw).to_owned(),
        state_raw: said.state_raw.clone(),
        reason_class: reason_class.to_owned(),
        origin: if said.local { "local" } else { "span" }.to_owned(),
        ..TaskEventColumns::default()
    }
}

/// States of tasks in spans that are no call: a server's executor says how its run ended, a client what it made of it.
/// An executor whose task another call ended first (a cancel) is overruled by the store, so where a call on its task
/// told another end, the executor's is none.
pub(super) fn push_executor_ends(nodes: &[Node], ends: &[End], known: &Knowledge, facts: &mut Facts) {
    let told: HashSet<(&str, &str)> = ends.iter().map(|end| (end.task_id.as_str(), end.state)).collect();
    let ended: HashSet<&str> = ends.iter().map(|end| end.task_id.as_str()).collect();
    for node in nodes.iter().filter(|node| node.side == Side::Inside) {
        let Some(said) = node.statement.as_deref() else { continue };
        if said.task_id.is_empty() || said.state_raw.is_empty() {
            continue;
        }
        let word = state::canonical(&said.state_raw);
        let (ended_before, told_before) = known.ended(&said.task_id, word);
        let ended = ended_before || ended.contains(said.task_id.as_str());
        let overruled = ended && !told_before && !told.contains(&(said.task_id.as_str(), word));
        if overruled && !said.local {
            continue;
        }
        let observer = if said.local { Observer::Client } else { said.observer.unwrap_or(Observer::Server) };
        let mut common = node.seen.of_span(observer);
        common.observed_at = node.end();
        let name = if said.agent_name.is_empty() { String::new() } else { format!("name:{}", said.agent_name) };
        let service = if observer == Observer::Server { service_ref(&node.seen.service) } else { String::new() };
        common.agent_ref = first([said.agent_url.clone(), name, service]);
        if observer == Observer::Client {
            common.client_ref = first([said.client.clone(), node.seen.service.clone()]);
        }
        let class = node.failure.as_ref().map(|failure| failure.class.clone()).unwrap_or_default();
        facts.push_task_event(TaskEventRow { common, own: columns(said, &class) });
    }
}
