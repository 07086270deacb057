//! Task states of all dialects under one name each.

/// The states that a task may be known to have, as A2A's JSON before 1.0 spells them.
pub const STATES: [&str; 8] =
    ["submitted", "working", "input-required", "auth-required", "completed", "failed", "canceled", "rejected"];

/// The canonical word for a state as on the wire: one of [`STATES`], or `unknown`. Words of no dialect, and the state that
/// protobuf's JSON leaves out, are `unknown`.
pub fn canonical(raw: &str) -> &'static str {
    let word = bare(raw);
    let word = if word == "cancelled" { "canceled" } else { word.as_str() };
    STATES.into_iter().find(|state| *state == word).unwrap_or("unknown")
}

/// A state as on the wire without what its dialect puts around it.
pub fn bare(raw: &str) -> String {
    let lower = raw.trim().to_ascii_lowercase().replace('_', "-");
    let word = lower.strip_prefix("task-state-").or_else(|| lower.strip_prefix("taskstate."));
    word.map(str::to_owned).unwrap_or(lower)
}

/// Whether a canonical state ends a task.
pub fn is_terminal(state: &str) -> bool {
    matches!(state, "completed" | "failed" | "canceled" | "rejected")
}

/// Whether a canonical state waits for the caller.
pub fn is_interrupted(state: &str) -> bool {
    matches!(state, "input-required" | "auth-required")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_state_are_one() {
        for (raw, expected) in [
            ("completed", "completed"),
            ("TASK_STATE_COMPLETED", "completed"),
            ("TaskState.completed", "completed"),
            ("TASK_STATE_CANCELLED", "canceled"),
            ("canceled", "canceled"),
            ("TASK_STATE_INPUT_REQUIRED", "input-required"),
            ("auth_required", "auth-required"),
            ("TASK_STATE_UNSPECIFIED", "unknown"),
            ("done", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(canonical(raw), expected, "{raw}");
        }
    }
}
