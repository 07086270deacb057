//! Where a url points: its scheme and host, and how far that host can be reached from.
//!
//! In: urls and addresses as cards and captures spell them. Out: the host without port, its class, and the url without
//! what may be secret in it. Never resolves a name.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Longest host name (RFC 1035 2.3.4: 255 octets on the wire, 253 as text), with room for the closing dot.
const MAX_HOST_BYTES: usize = 254;

/// Endings that never lead out of an organisation: reserved for it (`internal` by ICANN in 2024, `local` by RFC 6762,
/// `home.arpa` by RFC 8375), in private use as RFC 6762 appendix G lists them, or Kubernetes's service names.
const INTERNAL_ENDINGS: [&str; 9] =
    [".internal", ".local", ".home.arpa", ".intranet", ".private", ".corp", ".home", ".lan", ".svc"];

/// The parts of a url that matter here. `lead` is the scheme with its `://`, a lone `//`, or nothing.
struct Parts<'a> {
    lead: &'a str,
    /// Host and port, without user information.
    authority: &'a str,
    /// Path, without query and fragment.
    path: &'a str,
}

fn parts(url: &str) -> Parts<'_> {
    let whole = url.trim();
    let url = without_query(whole);
    let lead = match url.find("://") {
        Some(at) if is_scheme(&url[..at]) => &url[..at + 3],
        _ if url.starts_with("//") => "//",
        _ => "",
    };
    let (authority, path) = authority_and_path(&url[lead.len()..]);
    if is_password(authority) {
        // Cut short by a character that should have been escaped: the host comes behind it.
        let rest = &whole[lead.len()..];
        let (authority, path) = match rest.rsplit_once('@') {
            Some((_, rest)) => authority_and_path(without_query(rest)),
            None => (authority.split(':').next().unwrap_or_default(), path),
        };
        return Parts { lead, authority, path };
    }
    Parts { lead, authority, path }
}

fn without_query(url: &str) -> &str {
    // A query without its mark begins at the next one.
    &url[..url.find(['?', '#', '&']).unwrap_or(url.len())]
}

fn authority_and_path(rest: &str) -> (&str, &str) {
    let (authority, path) = rest.split_at(rest.find(SLASHES).unwrap_or(rest.len()));
    (authority.rsplit_once('@').map_or(authority, |(_, host)| host), path)
}

/// What urls are divided by, by people, too.
const SLASHES: [char; 2] = ['/', '\\'];

/// Whether what should be a host and a port has something else for a port.
fn is_password(authority: &str) -> bool {
    let port = authority.split_once(':').map(|(_, port)| port).filter(|_| !authority.starts_with('['));
    // Several colons are an address without brackets, or what is no url at all.
    port.is_some_and(|port| !port.contains(':') && !port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A path without passwords and parameters: urls stand in paths of proxies, and behind a scheme whose slashes are not two.
pub(super) fn path_without_secrets(path: &str) -> Cow<'_, str> {
    let end = path.find('&').unwrap_or(path.len());
    let path = &path[..end];
    let secret = |segment: &str| segment.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    if !path.split(SLASHES).any(secret) {
        return Cow::Borrowed(path);
    }
    let pieces = path.split_inclusive(SLASHES).map(|segment| match segment.rsplit_once('@') {
        Some((_, rest)) if secret(segment) => rest,
        _ => segment,
    });
    Cow::Owned(pieces.collect())
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// Host of an authority: no user information, port, brackets, zone or closing dot; lower case.
fn host_of_authority(authority: &str) -> String {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host).trim();
    let host = match host.strip_prefix('[') {
        Some(bracketed) => bracketed.split([']', '%']).next().unwrap_or_default(),
        // Two colons are an address without brackets, one begins a port.
        None if host.matches(':').count() > 1 => host.split('%').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.strip_suffix('.').unwrap_or(host).to_lowercase()
}

/// Scheme of a url, lower case; `''` for a bare host such as a card's gRPC address.
pub(super) fn scheme_of(url: &str) -> String {
    parts(url).lead.trim_end_matches("://").trim_matches('/').to_ascii_lowercase()
}

/// Host of a url or of a bare `host:port`, without port and brackets, lower case; `''` for a path and for a gRPC target
/// of another kind than `dns:///host:port`.
pub(super) fn host_of(url: &str) -> String {
    let Parts { lead, authority, path } = parts(url);
    if authority.is_empty() && lead.eq_ignore_ascii_case("dns://") {
        return host_of_authority(path.trim_start_matches('/'));
    }
    host_of_authority(authority)
}

/// The url without user information, query and fragment, where credentials may be.
pub(super) fn without_secrets(url: &str) -> String {
    let Parts { lead, authority, path } = parts(url);
    [lead, authority, &path_without_secrets(path)].concat()
}

/// A name or address that a recorder gave for a party, without what may be secret in it where it is a url or has a
/// password.
pub(super) fn name_without_secrets(name: &str) -> String {
    let has_password = name.split_once('@').is_some_and(|(user, _)| user.contains(':'));
    // A question is followed by a blank, and a query by what it gives.
    let has_query = name.split_once('?').is_some_and(|(_, query)| query.contains('=') && !query.contains(' '));
    if name.contains("://") || has_password || has_query { without_secrets(name) } else { name.to_owned() }
}

/// Class of a host, given with or without user information, brackets and port: `loopback`, `unspecified`, `link-local`,
/// `private`, `single-label`, `internal` or `public`; `''` for what is no host.
///
/// Numbers count as addresses in every spelling that clients accept (`127.1`, `0x7f000001`); addresses of IPv4 in IPv6
/// clothing count as what they are.
pub(super) fn classify(host: &str) -> &'static str {
    let host = host_of_authority(host);
    if host.is_empty() || host.len() > MAX_HOST_BYTES {
        return "";
    }
    if let Ok(address) = host.parse::<IpAddr>() {
        return match address {
            IpAddr::V4(address) => class_of_v4(address),
            IpAddr::V6(address) => class_of_v6(address),
        };
    }
    match url::Host::parse(&host) {
        Ok(url::Host::Ipv4(address)) => class_of_v4(address),
        Ok(url::Host::Ipv6(address)) => class_of_v6(address),
        Ok(url::Host::Domain(name)) => class_of_name(name.trim_end_matches('.')),
        Err(_) => "",
    }
}

fn class_of_v4(address: Ipv4Addr) -> &'static str {
    let [first, second, ..] = address.octets();
    if address.is_loopback() {
        "loopback"
    } else if address.is_unspecified() {
        "unspecified"
    } else if address.is_link_local() {
        "link-local"
    } else if address.is_private() || (first == 100 && (64..128).contains(&second)) {
        // RFC 1918, and the shared address space 100.64.0.0/10 of RFC 6598.
        "private"
    } else {
        "public"
    }
}

fn class_of_v6(address: Ipv6Addr) -> &'static str {
    if let Some(mapped) = address.to_ipv4_mapped() {
        class_of_v4(mapped)
    } else if address.is_loopback() {
        "loopback"
    } else if address.is_unspecified() {
        "unspecified"
    } else if address.is_unicast_link_local() {
        "link-local"
    } else if address.is_unique_local() {
        // fc00::/7, RFC 4193.
        "private"
    } else {
        "public"
    }
}

fn class_of_name(name: &str) -> &'static str {
    if name == "localhost" || name.ends_with(".localhost") {
        "loopback"
    } else if name.is_empty() {
        ""
    } else if !name.contains('.') {
        "single-label"
    } else if INTERNAL_ENDINGS.iter().any(|ending| name.ends_with(ending)) {
        "internal"
    } else {
        "public"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_classed_by_how_far_they_reach() {
        for (class, hosts) in [
            (
                "loopback",
                &["127.0.0.1", "127.255.255.254", "::1", "[::1]", "localhost", "LOCALHOST.", "a.localhost"][..],
            ),
            (
                "loopback",
                &["127.1", "0x7f000001", "2130706433", "::ffff:127.0.0.1", "[::FFFF:7f00:1]:8080", "127.0.0.1."],
            ),
            ("unspecified", &["0.0.0.0", "::", "[::]:8000", "0", "::ffff:0.0.0.0"]),
            ("link-local", &["169.254.169.254", "fe80::1", "[fe80::1%25eth0]", "fe80::1%eth0", "febf::1"]),
            ("private", &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1:8443", "fc00::1", "fdff::1"]),
            ("private", &["100.64.0.1", "100.127.255.255", "::ffff:10.1.2.3"]),
            ("single-label", &["agent-a", "Agent_A:8080", "svc", "internal"]),
            ("internal", &["host.docker.internal", "printer.local", "a.ns.svc", "a.ns.svc.cluster.local.", "nas.lan"]),
            ("internal", &["git.corp", "x.home.arpa", "X.INTRANET"]),
            ("public", &["agents.example.com", "user:secret@Agents.Example.COM.:443", "8.8.8.8", "2001:db8::1"]),
            (
                "public",
                &["172.15.0.1", "172.32.0.1", "100.63.255.255", "100.128.0.1", "11.0.0.1", "fec0::1", "169.253.1.1"],
            ),
            ("public", &["notlocalhost.example", "local.example", "xn--bcher-kva.example", "bücher.example"]),
            ("", &["", " ", ".", "[", "[]", "a b", "999.1.1.1", "exa<mple.com", "1.2.3.4.5"]),
        ] {
            for host in hosts {
                assert_eq!(classify(host), class, "{host}");
            }
        }
        assert_eq!(classify(&"a".repeat(100_000)), "");
    }

    #[test]
    fn scheme_and_host_are_read_from_urls_and_bare_addresses() {
        for (url, scheme, host) in [
            ("http://127.0.0.1:41001/a2a", "http", "127.0.0.1"),
            ("HTTPS://user:p@ss@Agents.Example.com.:8443/x?y#z", "https", "agents.example.com"),
            ("127.0.0.1:41013", "", "127.0.0.1"),
            ("agent.example:443", "", "agent.example"),
            ("//agent:80/x", "", "agent"),
            ("https://[2001:DB8::1]:8443/", "https", "2001:db8::1"),
            ("2001:db8::1", "", "2001:db8::1"),
            ("dns:///agents.example:50051", "dns", "agents.example"),
            ("http://0.0.0.0:8000/", "http", "0.0.0.0"),
            ("/.well-known/agent-card.json", "", ""),
            ("https://agent.example?next=http://other@evil/", "https", "agent.example"),
            ("http://", "http", ""),
            ("", "", ""),
        ] {
            assert_eq!((scheme_of(url).as_str(), host_of(url).as_str()), (scheme, host), "{url}");
        }
    }

    #[test]
    fn credentials_in_urls_do_not_survive() {
        for (url, clean) in [
            ("https://user:secret@agent.example:8443/a2a?api_key=secret#secret", "https://agent.example:8443/a2a"),
            ("user:secret@agent.example:443", "agent.example:443"),
            ("//user@agent/x", "//agent/x"),
            ("http://127.0.0.1:41001/a2a", "http://127.0.0.1:41001/a2a"),
            ("/v1/card?token=secret", "/v1/card"),
            ("https://agent.example/@team/x", "https://agent.example/@team/x"),
            ("https://me:se/cr@agent:8443/a2a", "https://agent:8443/a2a"),
            ("https://me:se?cr@agent/a2a?secret", "https://agent/a2a"),
            ("https://me:se#cret", "https://me"),
            ("http:/me:secret@agent:80/a2a", "http:/agent:80/a2a"),
            ("http:\\\\me:secret@agent\\a2a", "http:\\\\agent\\a2a"),
            ("https://proxy/http://me:secret@agent/a2a", "https://proxy/http://agent/a2a"),
            ("jdbc:x://me:secret@agent/db", "jdbc:x://agent/db"),
            ("dns:///me:secret@agent:443", "dns:///agent:443"),
            ("2001:db8::1", "2001:db8::1"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(url), clean, "{url}");
        }
    }

    #[test]
    fn names_of_parties_lose_passwords_and_queries_and_stay_names() {
        for (name, clean) in [
            ("http://me:pw@a.example/a2a?key=x", "http://a.example/a2a"),
            ("me:pw@10.0.0.9:80", "10.0.0.9:80"),
            ("10.0.0.9:80", "10.0.0.9:80"),
            ("[::1]:80", "[::1]:80"),
            ("Agent for what? #1", "Agent for what? #1"),
            ("/a2a?key=x", "/a2a"),
            ("team@corp.example", "team@corp.example"),
        ] {
            assert_eq!(name_without_secrets(name), clean, "{name}");
        }
    }
}
