//! Who called: the configured name, else a name that the caller gave (its own, or by a span of the same call or trace), else
//! the only name known at its address, else the address.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use crate::tables::{Common, Facts};

pub(super) fn resolve(facts: &mut Facts, names: &BTreeMap<String, String>) {
    let by_call = callers(facts, |common| common.call_id.clone());
    let by_trace = callers(facts, trace_key);
    let of_record = |common: &Common| {
        let is_given = is_name(&common.client_ref) || !may_take_a_name(common);
        if is_given { None } else { only(&by_call, &common.call_id).or_else(|| only(&by_trace, &trace_key(common))) }
    };
    // Who shares an address cannot be told apart but by name: the unnamed calls are those of the only name that is known there.
    let mut by_address: HashMap<String, BTreeSet<String>> = HashMap::new();
    for common in facts.commons().filter(|common| !common.client_ref.is_empty()) {
        if let Some(name) = of_record(common) {
            by_address.entry(common.client_ref.clone()).or_default().insert(name);
        }
    }
    for common in facts.commons_mut() {
        let known =
            of_record(common).or_else(|| only(&by_address, &common.client_ref).filter(|_| may_take_a_name(common)));
        let given = known.unwrap_or_else(|| common.client_ref.clone());
        common.client = names.get(&common.client_ref).or_else(|| names.get(&given)).cloned().unwrap_or(given);
    }
}

/// A trace may pass several agents; its callers are looked for one agent at a time.
fn trace_key(common: &Common) -> String {
    match common.trace_id.is_empty() {
        true => String::new(),
        false => format!("{}|{}", common.trace_id, common.agent),
    }
}

/// A webhook call stands in the trace of the send that made the task, but its caller is the agent.
pub(super) fn may_take_a_name(common: &Common) -> bool {
    common.observer != "receiver"
}

pub(super) fn is_name(reference: &str) -> bool {
    !reference.is_empty() && reference.trim_matches(['[', ']']).parse::<IpAddr>().is_err()
}

fn callers(facts: &Facts, key: impl Fn(&Common) -> String) -> HashMap<String, BTreeSet<String>> {
    let mut names: HashMap<String, BTreeSet<String>> = HashMap::new();
    for common in facts.commons().filter(|common| may_take_a_name(common) && is_name(&common.client_ref)) {
        let key = key(common);
        if !key.is_empty() {
            names.entry(key).or_default().insert(common.client_ref.clone());
        }
    }
    names
}

fn only(names: &HashMap<String, BTreeSet<String>>, key: &str) -> Option<String> {
    names.get(key).filter(|names| names.len() == 1).and_then(|names| names.first()).cloned()
}
