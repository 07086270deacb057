//! What senders whose clocks are ahead are told.
//!
//! In: what was read of a body, and which of it was dated later than now. Out: the same, with what to say. Reads no clock.

use std::time::Duration;

use crate::decode::request::Received;
use crate::normalize::open::Ahead;

/// Clocks differ by less without anybody minding.
const MINDED: Duration = Duration::from_secs(60);

/// What a sender hears of a body with records that are ahead of the clock here.
pub(super) fn told(mut received: Received, ahead: &Ahead, most: Duration) -> Received {
    let by = Duration::from_secs(ahead.by.as_secs());
    let said = match ahead.refused {
        0 if by < MINDED => return received,
        0 => {
            format!("records are dated up to {} after their arrival: a clock is ahead", humantime::format_duration(by))
        }
        refused => format!(
            "future-time: {refused} of the records are dated more than {} after their arrival (serve.max_ahead), the last \
             of them {}: a clock or a unit is wrong; they are not kept",
            humantime::format_duration(most),
            humantime::format_duration(by)
        ),
    };
    received.accepted = received.accepted.saturating_sub(ahead.refused);
    received.rejected = received.rejected.saturating_add(ahead.refused);
    received.message =
        [said, received.message].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ");
    received
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_ahead_hears_of_it_and_who_is_too_far_ahead_that_it_is_lost() {
        let hear = |refused: u64, seconds: u64| {
            let received = Received { accepted: 3, rejected: 1, message: "bad-json: x".to_owned() };
            told(received, &Ahead { refused, by: Duration::from_secs(seconds) }, Duration::from_secs(7200))
        };
        assert_eq!((hear(0, 59).message.as_str(), hear(0, 59).accepted), ("bad-json: x", 3));
        let heard = hear(0, 3600);
        assert_eq!((heard.accepted, heard.rejected), (3, 1));
        assert_eq!(heard.message, "records are dated up to 1h after their arrival: a clock is ahead; bad-json: x");
        let heard = hear(2, 86_400);
        assert_eq!((heard.accepted, heard.rejected), (1, 3));
        assert!(heard.message.starts_with("future-time: 2 of the records are dated more than 2h after"), "{heard:?}");
    }
}
