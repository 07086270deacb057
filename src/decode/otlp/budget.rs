//! Whether a request is of more parts than anybody should look at.
//!
//! In: the bytes of a request. Out: a verdict, before anything of it is decoded. An empty span takes two bytes of a request and
//! seven hundred of memory; a file may hold any number of those, the body of a request may not.

use super::wire::{Content, Fields};
use crate::decode::tree;

/// Messages around fields: groups by resource, groups by scope, items.
const LEVELS: u32 = 3;

/// Whether groups, items and their fields come to more than a request may, weighed as the parts of a JSON value are.
pub(super) fn is_crowded(request: &[u8]) -> bool {
    takes(request, LEVELS, tree::MOST_OF_REQUEST).is_none()
}

/// What is left of some room behind a message; none when it has not enough.
fn takes(message: &[u8], levels: u32, room: u64) -> Option<u64> {
    let mut left = room;
    for field in Fields::new(message).map_while(Result::ok) {
        left = match (levels.checked_sub(1), field.content) {
            (Some(below), Content::Bytes { bytes, .. }) => takes(bytes, below, left.checked_sub(tree::OBJECT)?)?,
            _ => left.checked_sub(tree::MEMBER)?,
        };
    }
    Some(left)
}
