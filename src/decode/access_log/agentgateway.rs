//! agentgateway's line for a request: an object, or text of the same keys.
//!
//! In: an object with `"scope":"request"`, or `TIME⇥LEVEL⇥request KEY=VALUE …`. Out: whether it is one; the object that the
//! text stands for. Its time is that of the end of the call.

use serde_json::{Map, Value};

use super::words::Words;

/// The scope under which requests are logged.
const SCOPE: &str = "request";

/// Keys of a line: more is none.
const KEYS: usize = 256;

pub(super) fn is_line(map: &Map<String, Value>) -> bool {
    map.get("scope").and_then(Value::as_str) == Some(SCOPE)
        && map.contains_key("time")
        && map.keys().any(|key| key.starts_with("http.") || key.starts_with("src."))
}

/// The object that a line of text stands for. Terminals and pages turn its tabs into blanks.
pub(super) fn of_text(text: &str) -> Option<Map<String, Value>> {
    let mut words = text.splitn(4, ['\t', ' ']).filter(|word| !word.is_empty());
    let time = words.next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let at = text.find(SCOPE)?;
    let level = text.get(time.len()..at)?.trim();
    let is_level = level.len() <= 8 && level.bytes().all(|b| b.is_ascii_alphabetic());
    let rest = text.get(at + SCOPE.len()..)?;
    if !is_level || level.is_empty() || !rest.starts_with([' ', '\t']) {
        return None;
    }
    let mut map = Map::new();
    for (key, value) in [("time", time), ("level", level), ("scope", SCOPE)] {
        map.insert(key.to_owned(), value.into());
    }
    for (key, value) in Words::of(rest).pairs().take(KEYS) {
        map.insert(key.to_owned(), value.into_owned().into());
    }
    is_line(&map).then_some(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_text_is_the_object_of_its_keys() {
        // Printed in a public account of agentgateway with a2a; tabs were lost in print.
        let line = "2026-02-06T21:40:41.536353Z     info    request gateway=default/default listener=listener0 route=default/route0 endpoint=localhost:9999 src.addr=127.0.0.1:54966 http.method=POST http.host=supply-chain-agent.localhost http.path=/ http.version=HTTP/1.1 http.status=200 protocol=a2a a2a.method=message/send duration=117ms error=\"said \\\"no\\\" = x\"";
        for line in [line.to_owned(), line.replace("     ", "\t").replace("    ", "\t")] {
            let map = of_text(&line).unwrap();
            assert_eq!(map["http.host"], "supply-chain-agent.localhost");
            assert_eq!(map["a2a.method"], "message/send");
            assert_eq!(map["duration"], "117ms");
            assert_eq!(map["error"], "said \"no\" = x");
            assert_eq!((map["level"].as_str(), map["scope"].as_str()), (Some("info"), Some("request")));
        }
    }

    #[test]
    fn other_lines_of_the_same_program_and_other_texts_are_none() {
        for line in [
            "2026-02-06T21:19:22.419386Z\tinfo\tproxy::gateway\tstarted bind\tbind=\"bind/3000\"",
            "2026-02-06T21:19:22.419386Z\tinfo\trequest",
            "2026-02-06T21:19:22.419386Z\tinfo\trequests http.method=GET",
            "2026-02-06T21:19:22.419386Z info the request http.method=GET",
            "request http.method=GET",
            "2026",
            "",
        ] {
            assert_eq!(of_text(line), None, "{line}");
        }
    }
}
