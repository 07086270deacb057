//! Urls as places of agents: authority and path, and which prefix belongs to whom.

use url::Url;

/// Where something answers: `host:port` and a path without trailing slash (`""` for the root).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Site {
    pub(super) authority: String,
    pub(super) path: String,
}

/// Path endings at which a card is served, below the base of the agent.
const CARD_PATHS: [&str; 6] = [
    "/.well-known/agent.json",
    "/.well-known/agent-card.json",
    "/agent/authenticatedExtendedCard",
    "/extendedAgentCard",
    "/v1/card",
    "/.well-known/agent",
];

/// Ends of paths by which agents tell their interfaces apart, besides versions.
const BINDING_WORDS: [&str; 11] =
    ["a2a", "api", "grpc", "http", "http+json", "http-json", "json", "json-rpc", "jsonrpc", "rest", "rpc"];

impl Site {
    /// Reads an absolute url, `//host:port/path`, or a bare `host:port` (gRPC endpoints).
    pub(super) fn parse(reference: &str) -> Option<Self> {
        let bare = reference.strip_prefix("//");
        let url = match (bare, reference.contains("://")) {
            (Some(rest), _) => Url::parse(&format!("http://{rest}")),
            (None, true) => Url::parse(reference),
            (None, false) => Url::parse(&format!("http://{reference}")),
        }
        .ok()?;
        let host = url.host_str().filter(|host| !host.is_empty())?.to_ascii_lowercase();
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host,
        };
        Some(Self { authority, path: url.path().trim_end_matches('/').to_owned() })
    }

    /// The first place of an authority in the order of places.
    pub(super) fn first(authority: &str) -> Self {
        Self { authority: authority.to_owned(), path: String::new() }
    }

    /// The base of the agent whose card is served here; the place itself when it is no card path.
    pub(super) fn card_base(mut self) -> Self {
        if let Some(base) = CARD_PATHS.iter().find_map(|ending| self.path.strip_suffix(ending)) {
            self.path = base.to_owned();
        }
        self
    }

    /// The place without what names an operation, a binding or a version at its end: that of the agent, as far as a path tells.
    pub(super) fn home(&self) -> Self {
        let mut path = before_operation(&self.path);
        while let Some((before, last)) = path.rsplit_once('/')
            && names_a_binding(last)
        {
            path = before;
        }
        Self { authority: self.authority.clone(), path: path.to_owned() }
    }

    /// Whether only the same machine can mean it.
    pub(super) fn is_loopback(&self) -> bool {
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        host == "localhost" || host.ends_with(".localhost") || host.starts_with("127.") || host == "[::1]"
    }

    /// Whether a place lies at or below this one.
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.authority == other.authority
            && other.path.strip_prefix(&self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':']))
    }
}

/// What precedes the path of an operation of the HTTP+JSON binding (specification 11.3): `/tasks/..`, `/message:send`.
fn before_operation(path: &str) -> &str {
    let is_operation = |at: usize| {
        let rest = &path[at + 1..];
        rest.starts_with("message:") || rest == "tasks" || rest.starts_with("tasks/")
    };
    let operation = path.match_indices('/').map(|(at, _)| at).find(|at| is_operation(*at));
    operation.map_or(path, |at| &path[..at])
}

fn names_a_binding(word: &str) -> bool {
    let is_version = |number: &str| {
        number.starts_with(|c: char| c.is_ascii_digit()) && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    BINDING_WORDS.contains(&word) || word.strip_prefix('v').is_some_and(is_version)
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.authority, self.path)
    }
}
