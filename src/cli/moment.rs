//! Times as they are typed: an instant, a date, a distance from the end of the input.
//!
//! In: text. Out: a [`Moment`] or an [`Instant`], or what would be right. Reads no clock.

use std::time::Duration;

use crate::instant::Instant;

/// An instant, or one that is told by its distance from the end of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The instant.
    At(Instant),
    /// So long before the end.
    Before(Duration),
}

/// The side of a day that a date alone means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Its first nanosecond.
    Beginning,
    /// Its last.
    End,
}

/// What `--since` takes.
pub(super) fn since(text: &str) -> Result<Moment, &'static str> {
    moment(text, Side::Beginning)
}

/// What `--until` takes; the end counts in.
pub(super) fn until(text: &str) -> Result<Moment, &'static str> {
    moment(text, Side::End)
}

/// What `--as-of` takes.
pub(super) fn as_of(text: &str) -> Result<Instant, &'static str> {
    instant(text, Side::End)
        .ok_or("expected an RFC 3339 time such as 2026-11-30T06:15:00Z, or a date such as 2026-11-30")
}

fn moment(text: &str, side: Side) -> Result<Moment, &'static str> {
    let before = || humantime::parse_duration(text).ok().map(Moment::Before);
    instant(text, side).map(Moment::At).or_else(before).ok_or(
        "expected an RFC 3339 time such as 2026-11-30T06:15:00Z, a date such as 2026-11-30, or a time before the end \
         such as 2h or 90min",
    )
}

/// An instant; of a date alone, which is a day in UTC, the given side.
fn instant(text: &str, side: Side) -> Option<Instant> {
    const DAY: i64 = 86_400 * 1_000_000_000;
    Instant::parse_rfc3339(text).or_else(|| {
        let day = Instant::parse_rfc3339(&format!("{}T00:00:00Z", text.trim()))?;
        match side {
            Side::Beginning => Some(day),
            Side::End => Instant::from_nanos(day.0.checked_add(DAY - 1)?),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Instant {
        Instant::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_date_alone_is_a_day_in_utc_from_its_beginning_to_its_end() {
        let (first, last) = (at("2026-11-30T00:00:00Z"), at("2026-11-30T23:59:59.999999999Z"));
        assert_eq!(since("2026-11-30"), Ok(Moment::At(first)));
        assert_eq!(until("2026-11-30"), Ok(Moment::At(last)));
        assert_eq!(as_of("2026-11-30"), Ok(last));
    }

    #[test]
    fn instants_and_distances_are_taken_as_they_are() {
        let noon = at("2026-11-30T12:00:00Z");
        for text in ["2026-11-30T12:00:00Z", "2026-11-30T14:00:00+02:00", "2026-11-30 12:00:00"] {
            assert_eq!((since(text), until(text), as_of(text)), (Ok(Moment::At(noon)), Ok(Moment::At(noon)), Ok(noon)));
        }
        assert_eq!(until("90min"), Ok(Moment::Before(Duration::from_secs(5400))));
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_forms_that_are() {
        for text in ["yesterday", "2026-11", "2026-13-01", "2026-02-30", "30.11.2026", "20261130", ""] {
            assert!(since(text).unwrap_err().contains("2026-11-30, or"), "{text}");
            assert!(as_of(text).unwrap_err().ends_with("2026-11-30"), "{text}");
        }
        assert!(as_of("2h").is_err());
    }
}
