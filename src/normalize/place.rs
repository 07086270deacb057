//! Where a call went and came from: urls and addresses as references that carry no secrets.
//!
//! In: a url or path with the `Host` header, a peer's address. Out: an absolute url without user, query and fragment,
//! its path and query, a host without port. Never resolves a name, and never keeps a query in a reference.

use percent_encoding::percent_decode_str;
use url::Url;

use super::host;

/// A call's target.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Place {
    /// `http://host:port/path`; `//host:port/path` when the scheme is not known; empty when the host is not known.
    pub(crate) url: String,
    /// Path, starting with `/`; percent-encoding untouched.
    pub(crate) path: String,
    query: String,
}

impl Place {
    /// Reads a recorded url. A record that has only the path gets its host from the `Host` header, else from the
    /// address that answered.
    pub(crate) fn read(url: &str, host: Option<&str>, server: &str) -> Self {
        if let Some(place) = Self::absolute(url) {
            return place;
        }
        let without_fragment = url.split('#').next().unwrap_or_default();
        let (target, query) = without_fragment.split_once('?').unwrap_or((without_fragment, ""));
        let target = &host::without_secrets(target);
        let (named, path) = match target.split_once("//") {
            // A url of another kind, or one that is none.
            Some((lead, rest)) if lead.is_empty() || (lead.ends_with(':') && !lead.contains('/')) => {
                match rest.find('/') {
                    Some(slash) => rest.split_at(slash),
                    None => (rest, ""),
                }
            }
            _ => ("", target.as_str()),
        };
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        // What is no host would make an agent of every path.
        let hosts = [named, host.unwrap_or_default(), server].map(|host| host.rsplit('@').next().unwrap_or_default());
        let host = hosts.into_iter().find(|host| is_authority(host)).unwrap_or_default().to_ascii_lowercase();
        let url = if host.is_empty() { String::new() } else { format!("//{host}{path}") };
        Self { url, path, query: query.to_owned() }
    }

    fn absolute(text: &str) -> Option<Self> {
        let mut url =
            Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https" | "grpc" | "grpcs"))?;
        // A reader of urls takes the path for the host where that is missing, and passes over what it cannot show.
        let (_, rest) = text.split_once(':')?;
        let slashes = rest.find(|c| !matches!(c, '/' | '\\')).unwrap_or(rest.len());
        if slashes != 2 || text.contains(char::is_control) {
            return None;
        }
        let query = url.query().unwrap_or_default().to_owned();
        url.set_query(None);
        url.set_fragment(None);
        // Refused only for urls that cannot have them, and then there are none.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let path = host::path_without_secrets(url.path()).into_owned();
        if path != url.path() {
            url.set_path(&path);
        }
        Some(Self { path: url.path().to_owned(), url: url.into(), query })
    }

    /// First value of a query parameter; names are compared without case.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        self.query.split('&').find_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            decoded(key).eq_ignore_ascii_case(name).then(|| decoded(&value.replace('+', " ")))
        })
    }

    /// The path's segments, decoded; a trailing slash makes none.
    pub(crate) fn segments(&self) -> Vec<String> {
        self.path.split('/').filter(|segment| !segment.is_empty()).map(decoded).collect()
    }

    /// The url without its last segments: the interface that a path of an HTTP+JSON or gRPC call hangs under.
    pub(crate) fn base(&self, segments_off: usize) -> String {
        let mut base = self.url.trim_end_matches('/');
        let root = self.url.find("//").map_or(0, |at| at + 2);
        for _ in 0..segments_off {
            match base.get(root..).and_then(|rest| rest.rfind('/')) {
                Some(slash) => base = base.get(..root + slash).unwrap_or_default().trim_end_matches('/'),
                None => break,
            }
        }
        // A url of a scheme and host alone is written with its slash, as everywhere else.
        let has_path = base.get(root..).is_some_and(|rest| rest.contains('/'));
        if has_path || self.url.is_empty() { base.to_owned() } else { format!("{base}/") }
    }
}

/// Whether a text is a host, with or without a port; an address of IPv6 may be without brackets.
pub(crate) fn is_authority(text: &str) -> bool {
    let is_bare_v6 = text.matches(':').count() > 1 && text.bytes().all(|b| b.is_ascii_hexdigit() || b":.".contains(&b));
    let is_plain = |text: &str| !text.contains(|c: char| c.is_control() || c.is_whitespace() || "/\\?#@".contains(c));
    is_bare_v6 || (is_plain(text) && Url::parse(&format!("http://{text}/")).is_ok_and(|url| url.path() == "/"))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// A url that an agent is said to be at; empty where it has a scheme of the web and no host that can be one.
pub(crate) fn agent_url(text: &str) -> String {
    let url = bare_url(text);
    let is_none = url.split_once("://").is_some_and(|(scheme, rest)| {
        let host = rest.split(['/', '\\']).next().unwrap_or_default();
        matches!(scheme, "http" | "https" | "grpc" | "grpcs") && !is_authority(host)
    });
    if is_none { String::new() } else { url }
}

/// A url as a reference: no user, query or fragment, whatever scheme it has and whether or not it is one.
pub(crate) fn bare_url(text: &str) -> String {
    Place::absolute(text.trim()).map_or_else(|| host::without_secrets(text), |place| place.url)
}

/// A peer's address without its port; a name stays as it is.
pub(crate) fn without_port(address: &str) -> &str {
    let address = address.trim();
    if let Some(rest) = address.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    match address.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            host
        }
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_carry_neither_user_nor_query() {
        for url in ["ws://me:pw@a.example/a2a?token=secret", "http://me:pw@a b/a2a?token=secret", "//me:pw@a/?secret"] {
            let (reference, place) = (bare_url(url), Place::read(url, Some("a.example"), ""));
            for text in [&reference, &place.url, &place.path] {
                assert!(!text.contains("pw") && !text.contains("secret"), "{text}");
            }
        }
        let place = Place::read("https://me:pw@Agent.Example:8443/a2a?token=secret#x", None, "");
        assert_eq!(place.url, "https://agent.example:8443/a2a");
        assert_eq!(place.path, "/a2a");
        assert_eq!(place.query("TOKEN").as_deref(), Some("secret"));
        assert_eq!(bare_url("http://h/hook?k=v"), "http://h/hook");
        assert_eq!(bare_url("not a url?k=v"), "not a url");
    }

    #[test]
    fn a_path_takes_its_host_from_the_header_or_the_answering_address() {
        assert_eq!(Place::read("/a2a?x=1", Some("Agent:8080"), "10.0.0.1:80").url, "//agent:8080/a2a");
        assert_eq!(Place::read("/a2a", None, "10.0.0.1:80").url, "//10.0.0.1:80/a2a");
        assert_eq!(Place::read("/a2a", None, "").url, "");
        assert_eq!(Place::read("//h:1", None, "").url, "//h:1/");
    }

    #[test]
    fn what_is_no_host_is_in_no_reference_and_the_path_is_still_known() {
        for url in
            ["http://a b:1/a2a", "http://a\u{1}b:1/a2a", "http://h:99999/a2a", "http:///a2a", "http://me:pw@/a2a"]
        {
            let place = Place::read(url, None, "");
            assert_eq!((place.url.as_str(), place.path.as_str()), ("", "/a2a"), "{url:?}");
            assert_eq!(Place::read(url, Some("a b:1"), "h:99999").url, "", "{url:?}");
            assert_eq!(Place::read(url, Some("a b:1"), "10.0.0.1:80").url, "//10.0.0.1:80/a2a", "{url:?}");
            assert_eq!(Place::read(url, Some("Agent:1"), "").url, "//agent:1/a2a", "{url:?}");
            assert_eq!(agent_url(url), "", "{url:?}");
        }
        assert_eq!(Place::read("http:///.well-known/agent-card.json", None, "").url, "");
        assert_eq!(Place::read("//a b:1/a2a", None, "").url, "");
        assert_eq!(Place::read("/proxy/http://b/a2a", Some("h:1"), "").url, "//h:1/proxy/http://b/a2a");
        assert_eq!(Place::read("ws://a.example/a2a", None, "").url, "//a.example/a2a");
        assert_eq!(Place::read("http://[::1]:80/a2a", None, "").url, "http://[::1]/a2a");
        assert_eq!(agent_url("name of a thing"), "name of a thing");
        assert_eq!(agent_url("http://h:1/a2a?k=v"), "http://h:1/a2a");
    }

    #[test]
    fn the_base_of_a_path_is_the_url_without_its_last_segments() {
        let place = Place::read("http://h:1/rest/tasks/7:cancel", None, "");
        assert_eq!(place.base(2), "http://h:1/rest");
        assert_eq!(place.base(3), "http://h:1/");
        assert_eq!(place.base(9), "http://h:1/");
        assert_eq!(Place::read("/tasks/7", None, "").base(2), "");
    }

    #[test]
    fn addresses_lose_their_port_and_names_stay() {
        for (address, expected) in [
            ("127.0.0.1:57340", "127.0.0.1"),
            ("[::1]:80", "::1"),
            ("::1", "::1"),
            ("orchestrator", "orchestrator"),
            ("", ""),
        ] {
            assert_eq!(without_port(address), expected, "{address}");
        }
    }
}
