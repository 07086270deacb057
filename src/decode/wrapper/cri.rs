//! The log format of the Kubernetes container runtime interface, which containerd and CRI-O write.
//!
//! In: `<RFC 3339 time> <stdout|stderr> <tags> <text>`, of whose tags, between colons, the first is `F` for a full line or
//! `P` for a piece (kubernetes/design-proposals-archive, node/kubelet-cri-logging.md). Out: the text.

use super::{GoesOn, Payload, Wrapped};
use crate::decode::frame::Said;
use crate::decode::times;
use crate::instant::Instant;

/// Reads a line, if it is one.
pub(in crate::decode) fn read(line: &str) -> Option<Wrapped> {
    if !line.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (time, rest) = line.split_once(' ')?;
    let (stream, rest) = rest.split_once(' ')?;
    if !matches!(stream, "stdout" | "stderr") {
        return None;
    }
    let rest = rest.strip_suffix('\r').unwrap_or(rest);
    // The end of an empty line may have lost its blank.
    let (tags, text) = rest.split_once(' ').unwrap_or((rest, ""));
    let goes_on = match tags.split(':').next()? {
        "F" => GoesOn::No,
        "P" => GoesOn::Yes,
        _ => return None,
    };
    // A time that is none of ours, of the year 1 before the clock was set, costs the time only.
    let at = Instant::parse_rfc3339(time);
    if at.is_none() && !time.contains('T') {
        return None;
    }
    Some(Wrapped {
        said: Said {
            at,
            has_bad_time: at.is_none() && times::is_given(Some(&time.into())),
            stream: stream.to_owned(),
            ..Said::default()
        },
        payload: Payload::Text(text.to_owned(), goes_on),
    })
}
