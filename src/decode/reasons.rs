//! All reasons to reject, for those who count by them from zero on.
//!
//! In: nothing. Out: a list. Decides nothing.

use super::record::RejectReason;

impl RejectReason {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Unreadable,
        Self::BadCompression,
        Self::InflatedTooLarge,
        Self::TooLarge,
        Self::TooDeep,
        Self::Truncated,
        Self::BadJson,
        Self::BadProtobuf,
        Self::Binary,
        Self::InvalidUtf8,
        Self::UnknownShape,
        Self::UnknownText,
        Self::MissingField,
        Self::BadField,
        Self::NeedsConversion,
        Self::BadTime,
        Self::FutureTime,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once() {
        let mut words = RejectReason::ALL.map(RejectReason::as_str).to_vec();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), RejectReason::ALL.len());
        // The last that is declared: with it goes a place in the list.
        assert_eq!(RejectReason::FutureTime as usize + 1, RejectReason::ALL.len());
    }
}
