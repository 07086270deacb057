//! Urls of webhooks, some of which emitters tell only in part.
//!
//! In: urls that push configs, taped deliveries and sentences name. Out: which POST goes to one, and its whole url.

use std::collections::{HashMap, HashSet};

use url::Url;

use crate::tables::Facts;

use super::sentence::Notes;

/// What emitters write in place of a path that they do not tell.
const REDACTED: &str = "/REDACTED";

/// Urls of webhooks that configs, bodies and sentences name.
pub(super) struct Hooks {
    urls: HashSet<String>,
    /// The only url under a host, for emitters that do not tell the path; none if there are several.
    by_host: HashMap<String, Option<String>>,
    /// Hosts that sentences name without a path.
    hosts: HashSet<String>,
}

impl Hooks {
    /// Urls that facts and notes name.
    pub(super) fn new(notes: &Notes, facts: &Facts) -> Self {
        let configured = facts.exchanges.iter().map(|row| &row.own.push_url);
        let delivered = facts.push_deliveries.iter().map(|row| &row.own.url);
        let noted = notes.deliveries.iter().chain(&notes.receipts).map(|note| &note.url);
        let mut hooks = Self { urls: HashSet::new(), by_host: HashMap::new(), hosts: HashSet::new() };
        for url in configured.chain(delivered).chain(noted).filter(|url| !url.is_empty()) {
            let host = host_of(url);
            if is_whole(url) {
                hooks.urls.insert(url.clone());
                let only = hooks.by_host.entry(host).or_insert_with(|| Some(url.clone()));
                if only.as_ref().is_some_and(|known| known != url) {
                    *only = None;
                }
            } else {
                hooks.hosts.insert(host);
            }
        }
        hooks
    }

    /// Whether a url is one of these.
    pub(super) fn knows(&self, url: &str) -> bool {
        let host = || host_of(url);
        self.urls.contains(url)
            || (!is_whole(url) && (self.hosts.contains(&host()) || self.by_host.contains_key(&host())))
    }

    /// The whole url where the path was left out and only one is known.
    pub(super) fn full(&self, url: &str) -> String {
        let only = if is_whole(url) { None } else { self.by_host.get(&host_of(url)).cloned().flatten() };
        only.unwrap_or_else(|| url.to_owned())
    }
}

/// Whether a url tells its path.
fn is_whole(url: &str) -> bool {
    let path = url.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|at| rest.get(at..))).unwrap_or("/");
    path != "/" && path != REDACTED
}

/// `http://host:port`.
fn host_of(url: &str) -> String {
    match Url::parse(url) {
        Ok(parsed) => parsed.origin().ascii_serialization(),
        Err(_) => url.to_owned(),
    }
}

/// Whether two urls may be one webhook's.
pub(super) fn is_same_hook(a: &str, b: &str) -> bool {
    a == b || b.is_empty() || ((!is_whole(a) || !is_whole(b)) && host_of(a) == host_of(b))
}
