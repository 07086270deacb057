//! Addresses to listen at, as they are written in settings.
//!
//! In: `host:port` or `off`. Out: an address, or none. A name is looked up in what the system knows of names; nothing is opened:
//! whether the address is one of this machine and its port free is found out when it is used.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};

use serde::{Deserialize, Deserializer};

/// An address to listen at, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// Listens there.
    At(SocketAddr),
    /// Does not listen.
    Off,
}

impl Listen {
    /// Reads `host:port`, or `off`.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        address(text).map(Self::At).map_err(|wrong| format!("{wrong}, or \"off\""))
    }

    pub(super) fn address(self) -> Option<SocketAddr> {
        match self {
            Self::At(address) => Some(address),
            Self::Off => None,
        }
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// Reads an address and a port to listen at. Of a name that stands for several addresses, the first of IPv4 counts, else the
/// first; `localhost` is 127.0.0.1, whatever the system says.
///
/// # Errors
/// When it has no port, or its host is neither an IP address nor a name that this machine knows.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let wrong = |what: &str| {
        format!("\"{text}\" {what}: give an IP address or a host name, and a port, such as 127.0.0.1:4317")
    };
    let port = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    let Some((host, port)) = port.filter(|(host, _)| !host.is_empty() && !host.contains([':', '/'])) else {
        return Err(wrong("is no address and port"));
    };
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_or_else(|_| Vec::new(), Iterator::collect);
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| wrong("names a host that this machine does not know"))
}

/// As [`address`], in a configuration file.
pub(super) fn some_address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SocketAddr>, D::Error> {
    address(&String::deserialize(deserializer)?).map(Some).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_this_machine() {
        for (text, expected) in [
            ("localhost:9464", "127.0.0.1:9464"),
            ("LOCALHOST:0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:4317", "[::1]:4317"),
        ] {
            assert_eq!(address(text).unwrap().to_string(), expected);
            assert_eq!(Listen::parse(text), Ok(Listen::At(expected.parse().unwrap())));
        }
        assert_eq!(Listen::parse("off"), Ok(Listen::Off));
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_write() {
        for text in ["localhost", "localhost:", ":9464", "localhost:99999", "http://localhost:9464", "::1:4317", ""] {
            let error = address(text).unwrap_err();
            assert!(error.contains("is no address and port: give an IP address or a host name, and a port"), "{error}");
        }
        // The domain is reserved for names that do not exist (RFC 6761).
        let error = Listen::parse("collector.invalid:4317").unwrap_err();
        assert!(
            error.starts_with("\"collector.invalid:4317\" names a host that this machine does not know"),
            "{error}"
        );
        assert!(error.ends_with("such as 127.0.0.1:4317, or \"off\""), "{error}");
    }
}
