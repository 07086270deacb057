//! An exchange inside another carrier: the body of an event, a member of a log line.
//!
//! In: an object or its text. Out: the [`Exchange`], by the reader of its shape. Reads nothing itself.

use serde_json::Value;

use super::key_map::KeyMap;
use super::record::{Exchange, Origin, Sink};
use super::{Limits, exchange, har, home_made, tree};

/// Reads an exchange carried inside something else, as a map or as its text: an exchange line, a HAR entry or a
/// home-made object. The carrier may know the time, so none is needed here.
pub(super) fn exchange(value: Value, origin: &Origin, sink: &mut dyn Sink) -> Option<Exchange> {
    let value = match value {
        Value::String(text) => tree::read(&text).ok()?,
        value => value,
    };
    let Value::Object(map) = value else { return None };
    let limits = Limits::default();
    if har::is_entry(&map) {
        har::read(Value::Object(map), origin, &limits, sink)
    } else if exchange::has_both_sides(&map) {
        exchange::read(map, origin, &limits, sink)
    } else {
        home_made::read(&map, origin, &limits, KeyMap::built_in(), sink)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decode::framing::collect::Collected;

    #[test]
    fn an_exchange_inside_another_carrier_needs_no_time_of_its_own() {
        let mut sink = Collected::default();
        let origin = Collected::origin();
        let request = json!({"method": "GET", "url": "http://a/"});
        for value in [
            json!({"event": "a2a.exchange", "request": request, "response": {"status": 200}}),
            json!({"request": request, "response": {"statusCode": 200}}),
            json!({"startedDateTime": "2026-11-30T06:00:00Z", "request": request, "response": {"status": 200, "content": {}}}),
        ] {
            assert_eq!(exchange(value.clone(), &origin, &mut sink).and_then(|e| e.status), Some(200), "{value}");
        }
        assert_eq!(exchange(json!({"request": 1}), &origin, &mut sink), None);
    }
}
