//! Calls over gRPC, as far as an HTTP recorder shows them.
//!
//! In: an exchange on a path `/<package>.A2AService/<Method>`. Out: the call and its answer. Bodies are read only where the
//! recorder wrote them as JSON; frames are not decoded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::percent_decode_str;

use super::Seen;
use super::answer::Answer;
use super::call::Call;
use crate::normalize::protocol::error::WireError;
use crate::normalize::protocol::operation::{self, Dialect};

/// Longest status details that are looked into.
const MAX_DETAILS: usize = 64 * 1024;

/// The call of an exchange, or none if its path names no A2A service.
pub(crate) fn call<'a>(seen: &'a Seen<'_>, segments: &[String]) -> Option<(Call<'a>, Answer<'a>)> {
    let [.., service, method] = segments else { return None };
    if service != "A2AService" && !service.ends_with(".A2AService") {
        return None;
    }
    let found = operation::by_grpc_method(method);
    // The package was renamed with 1.0; its release candidates, which know the new methods, kept the old one.
    let of_service = if service.starts_with("lf.a2a.") { Dialect::V10 } else { Dialect::V03 };
    let dialect = found.and_then(|(_, dialect)| dialect).unwrap_or(of_service);
    let call = Call {
        binding: "grpc",
        operation: found.map(|(operation, _)| operation),
        operation_raw: format!("{service}/{method}"),
        method: "",
        dialect: Some(dialect),
        rpc_id: String::new(),
        params: &seen.request,
        task_id: String::new(),
        config_id: String::new(),
        agent_url: seen.place.base(2),
        certain: true,
    };
    let answer = refusal(seen).map_or_else(|| Answer::of(seen, Some(dialect)), Answer::Error);
    Some((call, answer))
}

/// The status in the trailers, which recorders keep among the headers.
fn refusal(seen: &Seen<'_>) -> Option<WireError> {
    let headers = &seen.exchange.response_headers;
    let status: i64 = headers.get("grpc-status")?.trim().parse().ok().filter(|status| *status != 0)?;
    let message = percent_decode_str(headers.get("grpc-message").unwrap_or_default()).decode_utf8_lossy();
    let details = headers.get("grpc-status-details-bin").filter(|details| details.len() <= MAX_DETAILS);
    let bytes = details.and_then(|details| STANDARD_NO_PAD.decode(details.trim_end_matches('=')).ok());
    Some(WireError::of_grpc(status, &message, &bytes.unwrap_or_default()))
}
