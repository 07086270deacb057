//! Tempo's JSON that is not OTLP.
//!
//! In: an answer to a search. Out: a refusal that tells how to get the traces. Its answers with a trace (`batches`, and
//! `trace` of the second API) are OTLP with base64 ids and names for numbers: `otlp` reads them.
//!
//! Source: Tempo's HTTP API documentation, "Query" and "Search".

use serde_json::{Map, Value};

use super::reject;
use crate::decode::record::{Origin, RejectReason, Sink};

const ADVICE: &str =
    "found traces of Tempo, without their spans: fetch each by its traceID, curl TEMPO/api/traces/TRACEID";

/// True for `{"traces":[{"traceID":..,"rootTraceName":..}]}`.
pub(super) fn is_search_result(map: &Map<String, Value>) -> bool {
    const SUMMARY: [&str; 4] = ["rootServiceName", "rootTraceName", "durationMs", "startTimeUnixNano"];
    let traces = map.get("traces").and_then(Value::as_array);
    traces.is_some_and(|traces| {
        traces.iter().any(|trace| trace.get("traceID").is_some() && SUMMARY.iter().any(|key| trace.get(*key).is_some()))
    })
}

/// Tells what to do.
pub(super) fn refuse(_: Map<String, Value>, origin: &Origin, sink: &mut dyn Sink) {
    reject(sink, origin, RejectReason::NeedsConversion, ADVICE);
}
