//! What the messages of one request may come to.
//!
//! In: messages, before they are looked into. Out: whether there is room for them. An empty span takes two bytes of a request
//! and seven hundred of memory; a file may hold any number of those, the body of a request may not.

use super::wire::Fields;
use crate::decode::tree;

/// Room for messages and their fields, weighed as the parts of a JSON value are.
pub(super) struct Budget {
    /// None is without end.
    left: Option<u64>,
}

impl Budget {
    /// Room for all that a file holds.
    pub(super) fn of_file() -> Self {
        Self { left: None }
    }

    /// Room for what a request may hold.
    pub(super) fn of_request() -> Self {
        Self { left: Some(tree::MOST_OF_REQUEST) }
    }

    /// Takes room for a message and its fields; false if there is none, for any that follows neither.
    pub(super) fn takes(&mut self, message: &[u8]) -> bool {
        let Some(left) = &mut self.left else { return true };
        let fields = Fields::new(message).count() as u64;
        let rest = left.checked_sub(tree::OBJECT.saturating_add(tree::MEMBER.saturating_mul(fields)));
        *left = rest.unwrap_or(0);
        rest.is_some()
    }
}
