//! Task states of all dialects under one name each.

/// The canonical word for a state as on the wire: `submitted working input-required auth-required completed failed
/// canceled rejected unknown`. Words of no dialect, and the state that protobuf's JSON leaves out, are `unknown`.
pub fn canonical(raw: &str) -> &'static str {
    let lower = raw.trim().to_ascii_lowercase().replace('_', "-");
    let word = lower.strip_prefix("task-state-").or_else(|| lower.strip_prefix("taskstate.")).unwrap_or(&lower);
    match word {
        "submitted" => "submitted",
        "working" => "working",
        "input-required" => "input-required",
        "auth-required" => "auth-required",
        "completed" => "completed",
        "failed" => "failed",
        "canceled" | "cancelled" => "canceled",
        "rejected" => "rejected",
        _ => "unknown",
    }
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
