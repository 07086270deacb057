//! Who called: the configured name, else a name that the caller gave (its own, or by a span of the same call or trace), else
//! its address.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use crate::tables::{Common, Facts};

pub(super) fn resolve(facts: &mut Facts, names: &BTreeMap<String, String>) {
    let by_call = callers(facts, |common| common.call_id.clone());
    let by_trace = callers(facts, |common| match common.trace_id.is_empty() {
        true => String::new(),
        false => format!("{}|{}", common.trace_id, common.agent),
    });
    for common in facts.commons_mut() {
        let trace = format!("{}|{}", common.trace_id, common.agent);
        let given = if is_name(&common.client_ref) {
            common.client_ref.clone()
        } else if may_take_a_name(common) {
            only(&by_call, &common.call_id)
                .or_else(|| only(&by_trace, &trace))
                .unwrap_or_else(|| common.client_ref.clone())
        } else {
            common.client_ref.clone()
        };
        common.client = names.get(&common.client_ref).or_else(|| names.get(&given)).cloned().unwrap_or(given);
    }
}

/// A webhook call stands in the trace of the send that made the task, but its caller is the agent.
fn may_take_a_name(common: &Common) -> bool {
    common.observer != "receiver"
}

fn is_name(reference: &str) -> bool {
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
