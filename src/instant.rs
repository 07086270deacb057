//! One instant of event time: nanoseconds since the Unix epoch, UTC.
//!
//! Comes in as the spellings that captures use (RFC 3339, epoch in s, ms, us or ns); goes out as nanoseconds
//! for tables and as RFC 3339 for people. Never reads a clock.

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// Nanoseconds since 1970-01-01T00:00:00Z by the source's own clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Instant(pub i64);

/// 2200-01-01T00:00:00Z: past every clock that is merely wrong, and far enough below the end of the count (2262) that
/// rules can add their patience to any instant read.
const END: i64 = 7_258_118_400_000_000_000;

impl Instant {
    /// Nanoseconds since the epoch, if they are of the years 1970 to 2199: what is outside is no time that a capture can
    /// mean.
    pub fn from_nanos(nanos: i64) -> Option<Self> {
        (0..END).contains(&nanos).then_some(Self(nanos))
    }

    /// Reads an RFC 3339 time, with `Z` or an offset and any number of fraction digits; a time without an offset is
    /// taken as UTC, as Python's `isoformat` writes it. Only of the years 1970 to 2199.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let text = text.trim();
        let parsed = DateTime::parse_from_rfc3339(text).map(|t| t.with_timezone(&Utc)).ok().or_else(|| {
            let normal = text.replacen(' ', "T", 1);
            DateTime::parse_from_rfc3339(&format!("{normal}Z"))
                .or_else(|_| DateTime::parse_from_rfc3339(&normal))
                .map(|t| t.with_timezone(&Utc))
                .ok()
        })?;
        parsed.timestamp_nanos_opt().and_then(Self::from_nanos)
    }

    /// Reads an epoch number whose unit is told by its size: seconds, milliseconds, microseconds or nanoseconds
    /// of the years 1973 to 2199.
    pub fn from_epoch_number(value: f64) -> Option<Self> {
        let scale = match value {
            v if !v.is_finite() || v < 1e8 => return None,
            v if v < 1e10 => 1e9,
            v if v < 1e13 => 1e6,
            v if v < 1e16 => 1e3,
            v if v < 9.2e18 => 1.0,
            _ => return None,
        };
        // Whole seconds and the rest apart: a double holds no nanoseconds of today.
        let whole = value.trunc();
        let rest = value - whole;
        Self::from_nanos((whole as i64).checked_mul(scale as i64)?.checked_add((rest * scale).round() as i64)?)
    }

    /// This instant moved by a duration in milliseconds, as captures give elapsed times; itself if that leaves the years
    /// 1970 to 2199.
    pub fn plus_millis(self, millis: f64) -> Self {
        let moved = self.0.checked_add((millis * 1e6) as i64).and_then(Self::from_nanos);
        moved.filter(|_| millis.is_finite()).unwrap_or(self)
    }

    /// RFC 3339 in UTC with as many fraction digits as the value has (0, 3, 6 or 9).
    pub fn to_rfc3339(self) -> String {
        DateTime::from_timestamp_nanos(self.0).to_rfc3339_opts(SecondsFormat::AutoSi, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_is_read_with_offset_without_offset_and_with_a_blank() {
        let expected = Some(Instant(1_796_019_334_786_336_000));
        for text in [
            "2026-11-30T06:15:34.786336Z",
            "2026-11-30T06:15:34.786336+00:00",
            "2026-11-30T07:15:34.786336+01:00",
            "2026-11-30T06:15:34.786336",
            "2026-11-30 06:15:34.786336",
        ] {
            assert_eq!(Instant::parse_rfc3339(text), expected, "{text}");
        }
        assert_eq!(Instant::parse_rfc3339("yesterday"), None);
    }

    #[test]
    fn the_unit_of_an_epoch_number_is_told_by_its_size() {
        for number in [1_796_019_334.0, 1_796_019_334_000.0, 1_796_019_334_000_000.0] {
            assert_eq!(Instant::from_epoch_number(number), Some(Instant(1_796_019_334_000_000_000)), "{number}");
        }
        assert_eq!(Instant::from_epoch_number(12.0), None);
    }

    #[test]
    fn times_that_no_clock_shows_are_none() {
        for text in ["9999-12-31T23:59:59Z", "2262-04-11T23:47:16Z", "1677-09-21T00:12:44Z", "0001-01-01T00:00:00Z"] {
            assert_eq!(Instant::parse_rfc3339(text), None, "{text}");
        }
        for number in [9_223_372_036.9, 9_223_372_036_854_775_807.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Instant::from_epoch_number(number), None, "{number}");
        }
        let start = Instant(1_796_019_334_000_000_000);
        for millis in [1e300, -1e300, f64::NAN, 9.2e12] {
            assert_eq!(start.plus_millis(millis), start, "{millis}");
        }
    }
}
