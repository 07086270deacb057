//! When an alert on a rule fires and how long it stays, beyond what the rule itself says.
//!
//! In: `alert` of a rule's header. Out: two spans of time as Prometheus writes them. Holds no time of its own: a rule that
//! waits for something says so in `due_at`.

use std::fmt;

use serde::Deserialize;

use crate::findings::Severity;

/// How an alert on a rule behaves, where the header says otherwise than the defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alerting {
    /// How long findings must stand before the alert fires: late facts may take them back.
    #[serde(rename = "for")]
    wait: Option<Span>,
    /// How long the alert stays after the last of them is gone: what comes back within it is one alert.
    keep: Option<Span>,
}

impl Alerting {
    /// How long findings must stand; none when the alert fires at once, as it does by default where someone is paged.
    pub fn wait(&self, severity: Severity) -> Option<Span> {
        let default = match severity {
            Severity::Critical => "0s",
            Severity::Warning => "1m",
            Severity::Info => "5m",
        };
        let wait = self.wait.clone().unwrap_or_else(|| Span(default.to_owned()));
        (!wait.is_zero()).then_some(wait)
    }

    /// How long the alert stays; by default, longer than a restart of the service or of an agent takes.
    pub fn keep(&self) -> Option<Span> {
        let keep = self.keep.clone().unwrap_or_else(|| Span("10m".to_owned()));
        (!keep.is_zero()).then_some(keep)
    }
}

/// A span of time as Prometheus writes it, such as `90s` or `1h30m`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(String);

/// Units from the longest on, the order in which Prometheus wants them.
const UNITS: [&str; 7] = ["y", "w", "d", "h", "m", "s", "ms"];

impl Span {
    fn is_zero(&self) -> bool {
        self.0.bytes().all(|b| !matches!(b, b'1'..=b'9'))
    }
}

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not a span of time such as `90s` or `1h30m`");
        let mut units = UNITS.iter();
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let number = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let unit = rest[number..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| number + at);
            // Six digits of years are beyond what Prometheus counts, and no one waits that long.
            if !(1..=5).contains(&number) || !units.any(|known| *known == &rest[number..unit]) {
                return Err(wrong());
            }
            rest = &rest[unit..];
        }
        if text.is_empty() { Err(wrong()) } else { Ok(Self(text)) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alerting(toml: &str) -> Result<Alerting, toml::de::Error> {
        toml::from_str(toml)
    }

    #[test]
    fn spans_are_those_that_prometheus_takes() {
        for good in ["90s", "1h30m", "0s", "1d", "500ms", "1m500ms"] {
            assert_eq!(Span::try_from(good.to_owned()).map(|span| span.to_string()), Ok(good.to_owned()));
        }
        for bad in ["", "5", "m", "5 m", "1m1h", "5m5m", "-5m", "1.5h", "5mins", "ä", "1000000y", "5m "] {
            assert!(Span::try_from(bad.to_owned()).is_err(), "{bad:?} is none");
        }
    }

    #[test]
    fn what_pages_fires_at_once_unless_the_header_says_otherwise() {
        let wait = |toml: &str, severity| alerting(toml).unwrap().wait(severity).map(|span| span.to_string());
        assert_eq!(wait("", Severity::Critical), None);
        assert_eq!(wait("", Severity::Warning).as_deref(), Some("1m"));
        assert_eq!(wait("for = '2m'", Severity::Critical).as_deref(), Some("2m"));
        assert_eq!(wait("for = '0s'", Severity::Info), None);
        assert_eq!(alerting("keep = '0s'").unwrap().keep(), None);
        assert!(alerting("until = '5m'").is_err());
    }
}
