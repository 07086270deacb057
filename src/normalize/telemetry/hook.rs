//! Urls of webhooks, some of which emitters tell only in part.
//!
//! In: urls that push configs, taped deliveries and sentences name. Out: which POST goes to one, and its whole url.

use std::collections::{HashMap, HashSet};

use url::Url;

use crate::normalize::hook_url::hook_url;

/// What emitters write in place of a path that they do not tell.
const REDACTED: &str = "/REDACTED";

/// Urls of webhooks that configs, bodies and sentences name.
#[derive(Debug, Clone, Default)]
pub(super) struct HookUrls {
    urls: HashSet<String>,
    /// The only url under a host, for emitters that do not tell the path; none if there are several.
    by_host: HashMap<String, Option<String>>,
    /// Hosts that sentences name without a path.
    hosts: HashSet<String>,
}

impl HookUrls {
    /// Takes note of a url.
    pub(super) fn add(&mut self, url: &str) {
        let url = &hook_url(url);
        let host = host_of(url);
        if !is_whole(url) {
            self.hosts.insert(host);
            return;
        }
        self.urls.insert(url.to_owned());
        let only = self.by_host.entry(host).or_insert_with(|| Some(url.to_owned()));
        if only.as_ref().is_some_and(|known| known != url) {
            *only = None;
        }
    }

    /// Forgets a url. Its host is no longer known to have just one.
    pub(super) fn forget(&mut self, url: &str) {
        let url = &hook_url(url);
        let host = host_of(url);
        if self.urls.remove(url) {
            self.by_host.insert(host, None);
        } else {
            self.hosts.remove(&host);
        }
    }
}

/// Urls of webhooks: those known, and those that what is open names.
pub(super) struct Hooks<'a> {
    layers: [&'a HookUrls; 2],
}

impl<'a> Hooks<'a> {
    /// What both know together.
    pub(super) fn of(known: &'a HookUrls, open: &'a HookUrls) -> Self {
        Self { layers: [known, open] }
    }

    /// Whether a url is one of these.
    pub(super) fn knows(&self, url: &str) -> bool {
        if self.layers.iter().any(|layer| layer.urls.contains(&hook_url(url))) {
            return true;
        }
        if is_whole(url) {
            return false;
        }
        let host = host_of(url);
        self.layers.iter().any(|layer| layer.hosts.contains(&host) || layer.by_host.contains_key(&host))
    }

    /// The whole url where the path was left out and only one is known.
    pub(super) fn full(&self, url: &str) -> String {
        let only = || {
            let host = host_of(url);
            let mut told = self.layers.iter().filter_map(|layer| layer.by_host.get(&host));
            let first = told.next()?;
            told.all(|other| other == first).then(|| first.clone())?
        };
        let only = if is_whole(url) { None } else { only() };
        only.unwrap_or_else(|| hook_url(url))
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
