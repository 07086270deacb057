//! Which facts of different observers are one call.
//!
//! The exact key is the caller's span id: a traceparent names it, the caller's own span has it, the callee's span has it as
//! parent. Without one, JSON-RPC id and message id together name a call of an agent.

use std::collections::{BTreeSet, HashMap};

use sha2::{Digest, Sha256};

use crate::tables::{Common, ExchangeRow, Facts};

pub(super) fn resolve(facts: &mut Facts) {
    for common in facts.commons_mut() {
        if common.call_id.is_empty() && !common.span_id.is_empty() && is_taped(common) {
            common.call_id = format!("span:{}", common.span_id);
        }
    }
    let shared = spans_of_several_calls(facts);
    let mut by_record: HashMap<String, String> = HashMap::new();
    for row in &mut facts.exchanges {
        if row.common.call_id.is_empty() {
            row.common.call_id = rpc_call(row, &row.common.agent);
        } else if shared.contains(&row.common.call_id) {
            row.common.call_id = format!("{}:{}", row.common.call_id, request_key(row));
        }
        // Of several calls in one record the smallest speaks for what is not itself a call.
        let call = by_record.entry(row.common.record_id.clone()).or_insert_with(|| row.common.call_id.clone());
        if call.is_empty() || (!row.common.call_id.is_empty() && row.common.call_id < *call) {
            call.clone_from(&row.common.call_id);
        }
    }
    for row in &mut facts.push_deliveries {
        // A delivery that nothing pairs is a call of its own, so that deliveries can be kept by call.
        if row.common.call_id.is_empty() {
            row.common.call_id = format!("fact:{}", row.common.fact_id);
        }
    }
    for common in facts.commons_mut() {
        if let Some(call) =
            by_record.get(&common.record_id).filter(|call| !common.record_id.is_empty() && !call.is_empty())
        {
            common.call_id.clone_from(call);
        }
    }
}

/// Whether the span is the caller's, out of a traceparent: a span has its own, and a log record the active one.
pub(super) fn is_taped(common: &Common) -> bool {
    !["span/", "log/"].iter().any(|carrier| common.record_id.starts_with(carrier))
}

/// An application that opens one span around several calls sends the same parent id with each: one observer then
/// sees different requests under it.
fn spans_of_several_calls(facts: &Facts) -> BTreeSet<String> {
    let mut requests: HashMap<(&str, &str, &str), BTreeSet<String>> = HashMap::new();
    for row in facts.exchanges.iter().filter(|row| row.common.call_id.starts_with("span:")) {
        let common = &row.common;
        let tap = (common.call_id.as_str(), common.observer.as_str(), common.observer_name.as_str());
        requests.entry(tap).or_default().insert(request_key(row));
    }
    requests.into_iter().filter(|(_, keys)| keys.len() > 1).map(|((call, _, _), _)| call.to_owned()).collect()
}

pub(super) fn request_key(row: &ExchangeRow) -> String {
    hash(&[&row.own.operation_raw, &row.own.rpc_id, &row.own.message_id, &row.own.request_task_id])
}

/// The call of an agent that JSON-RPC id and message id name together; `''` without both.
pub(super) fn rpc_call(row: &ExchangeRow, agent: &str) -> String {
    if row.own.rpc_id.is_empty() || row.own.message_id.is_empty() {
        return String::new();
    }
    format!("rpc:{}", hash(&[agent, &row.own.rpc_id, &row.own.message_id]))
}

fn hash(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize()[..8])
}
