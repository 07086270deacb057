//! HTTP and gRPC calls as spans describe them, in the semantic conventions of before and after 1.23.
//!
//! In: attributes. Out: an [`Http`]. Keeps no query and no credential.

use serde::{Deserialize, Serialize};

use crate::decode::record::Headers;
use crate::normalize::aliases::{Aliases, Carrier, Key, PathCall};
use crate::normalize::credential::Credential;
use crate::normalize::place::{Place, without_port};

use super::node::Side;

/// A request on the wire.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Http {
    /// Upper case; empty for gRPC.
    pub(super) method: String,
    /// Absolute url without query, `//host:port/path`, or empty.
    pub(super) url: String,
    /// Path alone.
    pub(super) path: String,
    /// HTTP status; none when no response was seen.
    pub(super) status: Option<i64>,
    /// gRPC: the service and method; empty for HTTP.
    pub(super) grpc_method: String,
    /// Address of the caller without port, on the server's side.
    pub(super) client_address: String,
    /// Address that answered, as the client or a gateway sees it.
    pub(super) peer: String,
    /// Response headers that say which card was seen.
    pub(super) headers: Headers,
    /// The answer was an event stream; none when its type was not captured.
    pub(super) event_stream: Option<bool>,
    /// A notification token was sent; none when it was not captured.
    pub(super) token: Option<bool>,
    /// Authorization scheme sent, and the key id of a JWT; empty when not captured.
    pub(super) scheme: String,
    pub(super) kid: String,
}

impl Http {
    /// Reads a call; none if the attributes describe none.
    pub(super) fn read(aliases: &Aliases, carrier: &Carrier<'_>, side: Side) -> Option<Self> {
        let text = |key| aliases.text(key, carrier).unwrap_or_default();
        let method = text(Key::HttpMethod).to_ascii_uppercase();
        let grpc_method = grpc_method(carrier);
        if method.is_empty() && grpc_method.is_empty() {
            return None;
        }
        let place = place(aliases, carrier);
        let credential = Credential::read(aliases.text(Key::Authorization, carrier).as_deref());
        let peer_host = text(Key::PeerAddress);
        Some(Self {
            path: place.path.clone(),
            url: if method.is_empty() { String::new() } else { place.url },
            method,
            status: aliases.number(Key::HttpStatus, carrier),
            grpc_method,
            client_address: match side {
                Side::Client => String::new(),
                _ => without_port(&text(Key::ClientAddress)).to_owned(),
            },
            peer: match side {
                Side::Client if !peer_host.is_empty() => host_port(&peer_host, &text(Key::PeerPort)),
                Side::Gateway => text(Key::Upstream),
                _ => String::new(),
            },
            headers: card_headers(aliases, carrier),
            event_stream: aliases.text(Key::ContentType, carrier).map(|kind| kind.starts_with("text/event-stream")),
            token: aliases.text(Key::NotificationToken, carrier).map(|_| true),
            scheme: credential.scheme,
            kid: credential.kid,
        })
    }

    /// A call of which a gateway tells how it was answered, but not where it went.
    pub(super) fn of_status(aliases: &Aliases, carrier: &Carrier<'_>) -> Option<Self> {
        let status = aliases.number(Key::HttpStatus, carrier).filter(|status| (100..=599).contains(status))?;
        let client = aliases.text(Key::ClientAddress, carrier).unwrap_or_default();
        Some(Self { status: Some(status), client_address: without_port(&client).to_owned(), ..Self::default() })
    }

    /// Whether this is a gRPC call.
    pub(super) fn is_grpc(&self) -> bool {
        !self.grpc_method.is_empty()
    }

    /// What the path says about a call of the HTTP+JSON binding.
    pub(super) fn path_call(&self, aliases: &Aliases) -> Option<PathCall> {
        aliases.path_call(&self.method, &self.path)
    }

    /// The interface that was called: the url without what the path says about the call.
    pub(super) fn interface(&self, aliases: &Aliases) -> String {
        let Some(call) = self.path_call(aliases) else { return self.url.clone() };
        match self.url.strip_suffix(self.path.as_str()) {
            Some(root) if call.base.is_empty() => format!("{root}/"),
            Some(root) => format!("{root}{}", call.base),
            None => self.url.clone(),
        }
    }
}

/// `lf.a2a.v1.A2AService/SendMessage`, from the conventions of before and after the method took the service in.
fn grpc_method(carrier: &Carrier<'_>) -> String {
    let named = |name: &str| carrier.attributes.text(name).unwrap_or_default();
    if named("rpc.system") != "grpc" && named("rpc.system.name") != "grpc" {
        return String::new();
    }
    let (service, method) = (named("rpc.service"), named("rpc.method"));
    if service.is_empty() { method } else { format!("{service}/{method}") }
}

fn place(aliases: &Aliases, carrier: &Carrier<'_>) -> Place {
    let text = |key| aliases.text(key, carrier).unwrap_or_default();
    let url = text(Key::Url);
    if url.contains("://") {
        return Place::read(&url, None, "");
    }
    let (path, scheme) = (text(Key::UrlPath), text(Key::UrlScheme));
    let host = host_port(&text(Key::ServerAddress), &text(Key::ServerPort));
    if scheme.is_empty() || host.is_empty() {
        return Place::read(&path, Some(&host), "");
    }
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    Place::read(&format!("{scheme}://{host}{path}"), None, "")
}

/// The address that a span names as the server's, as `host:port`; empty when it names none.
pub(super) fn server(aliases: &Aliases, carrier: &Carrier<'_>) -> String {
    let text = |key| aliases.text(key, carrier).unwrap_or_default();
    host_port(&text(Key::ServerAddress), &text(Key::ServerPort))
}

/// Joins an address and a port. Some emitters write the port into the address as well.
fn host_port(address: &str, port: &str) -> String {
    if address.is_empty() || port.is_empty() || without_port(address) != address {
        return address.to_owned();
    }
    if address.contains(':') && !address.starts_with('[') {
        return format!("[{address}]:{port}");
    }
    format!("{address}:{port}")
}

fn card_headers(aliases: &Aliases, carrier: &Carrier<'_>) -> Headers {
    let names = [(Key::Etag, "etag"), (Key::LastModified, "last-modified"), (Key::CacheControl, "cache-control")];
    let pairs = names.into_iter().filter_map(|(key, name)| Some((name.to_owned(), aliases.text(key, carrier)?)));
    Headers(pairs.collect())
}

/// A duration as gateways write it: `2ms`, `1.5s`, or a number of milliseconds.
pub(super) fn duration_nanos(value: &serde_json::Value) -> Option<i64> {
    let (number, unit) = match value {
        serde_json::Value::Number(number) => (number.as_f64()?, "ms"),
        serde_json::Value::String(text) => {
            let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            let (number, unit) = text.split_at(digits);
            (number.parse().ok()?, unit.trim())
        }
        _ => return None,
    };
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" | "" => 1e6,
        "s" => 1e9,
        "m" => 6e10,
        _ => return None,
    };
    // A day is longer than any call; what is longer is no duration.
    Some(number * scale).filter(|nanos| (0.0..8.64e13).contains(nanos)).map(|nanos| nanos as i64)
}
