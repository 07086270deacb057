//! Calls of the HTTP+JSON binding by the end of their path.
//!
//! In: method and path. Out: operation and the ids that stand in the path. Never looks at what comes before.

use percent_encoding::percent_decode_str;

/// A call that the end of a REST path tells.
#[derive(Debug, Clone, Default)]
pub(super) struct PathRule {
    pub(super) method: String,
    pub(super) segments: Vec<String>,
    pub(super) operation: String,
    pub(super) dialect: String,
    pub(super) plain: bool,
}

/// What a REST path says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathCall {
    /// Operation.
    pub operation: String,
    /// Task named in the path; empty when none.
    pub task_id: String,
    /// Push config named in the path; empty when none.
    pub config_id: String,
    /// The only dialect that has such a path; empty when several have.
    pub dialect: String,
    /// Other programs have such paths.
    pub plain: bool,
    /// The path before the part that names the call.
    pub base: String,
}

impl PathRule {
    /// What a path says by this rule; none if it does not end so.
    pub(super) fn matches(&self, method: &str, path: &str) -> Option<PathCall> {
        if !self.method.is_empty() && !self.method.eq_ignore_ascii_case(method) {
            return None;
        }
        let given: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        let start = given.len().checked_sub(self.segments.len())?;
        let mut call = PathCall {
            operation: self.operation.clone(),
            task_id: String::new(),
            config_id: String::new(),
            dialect: self.dialect.clone(),
            plain: self.plain,
            base: given.get(..start)?.join("/"),
        };
        for (wanted, segment) in self.segments.iter().zip(given.get(start..)?) {
            let Some((before, rest)) = wanted.split_once('{') else {
                (wanted == segment).then_some(())?;
                continue;
            };
            let (variable, after) = rest.split_once('}')?;
            let value = segment.strip_prefix(before)?.strip_suffix(after)?;
            if value.is_empty() || value.contains(':') {
                return None;
            }
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match variable {
                "task_id" => call.task_id = value,
                _ => call.config_id = value,
            }
        }
        Some(call)
    }
}
