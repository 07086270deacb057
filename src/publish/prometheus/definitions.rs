//! The program's own metrics: names, labels and what a value means.
//!
//! In: nothing. Out: one constant for each metric. What is exposed, documented and drawn on dashboards refers to these. The
//! fleet's metrics are defined by `measures`.

use crate::measures::Kind;

/// A metric of the program's own.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// Name, with `_total` where it is a counter.
    pub name: &'static str,
    /// What a value means.
    pub help: &'static str,
    /// How values behave.
    pub kind: Kind,
    /// Names of labels.
    pub labels: &'static [&'static str],
    /// Upper bounds of a histogram's buckets; empty for all else.
    pub buckets: &'static [f64],
}

/// Upper bounds in seconds for what a rule or a write takes.
const SHORT: &[f64] = &[0.001, 0.005, 0.025, 0.1, 0.5, 2.0, 10.0];
/// Upper bounds in seconds for what a tick takes.
const TICK: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Upper bounds in seconds for detection: fine where the program alone decides, coarse where a rule's patience does.
const DETECTION: &[f64] =
    &[0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0];

const fn counter(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Definition {
    Definition { name, help, kind: Kind::Counter, labels, buckets: &[] }
}

const fn gauge(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Definition {
    Definition { name, help, kind: Kind::Gauge, labels, buckets: &[] }
}

const fn histogram(
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    buckets: &'static [f64],
) -> Definition {
    Definition { name, help, kind: Kind::Histogram, labels, buckets }
}

macro_rules! define {
    ($($constant:ident = $definition:expr;)*) => {
        $(pub(super) const $constant: Definition = $definition;)*

        /// All of them, in the order of this file.
        pub const ALL: &[Definition] = &[$($constant),*];
    };
}

define! {
    // What is found.
    ACTIVE_FINDINGS = gauge(
        "a2a_drift_active_findings",
        "Findings that fire now.",
        &["rule", "category", "severity", "suspect", "agent"],
    );
    ACTIVE_SINCE = gauge(
        "a2a_drift_active_since_timestamp_seconds",
        "When the first of the faults began that findings which fire now are about, by the clock of who saw it.",
        &["rule", "category", "severity", "suspect", "agent"],
    );
    FINDINGS = counter(
        "a2a_drift_findings_total",
        "Findings that began to fire.",
        &["rule", "category", "severity"],
    );
    RULE_BLIND = gauge("a2a_drift_rule_blind", "1 for a rule that lacks an input and cannot fire, else 0.", &["rule"]);
    DETECTION_DELAY = histogram(
        "a2a_drift_detection_delay_seconds",
        "Time from the arrival of a finding's newest evidence to its publication, the rule's patience included.",
        &[],
        DETECTION,
    );
    DETECTION_LAG = histogram(
        "a2a_drift_detection_lag_seconds",
        "Time from when a finding could first fire, its evidence here and its deadline passed, to its publication.",
        &[],
        DETECTION,
    );

    // What comes in.
    RECEIVED = counter(
        "a2a_drift_received_total",
        "Spans, log records and exchanges taken.",
        &["receiver", "signal"],
    );
    IGNORED = counter("a2a_drift_ignored_total", "Records taken that hold no A2A and are not kept.", &["signal"]);
    DUPLICATES = counter("a2a_drift_duplicate_facts_total", "Facts taken that were known already.", &[]);
    REJECTED = counter("a2a_drift_rejected_total", "Pieces of input that were not understood.", &["reason"]);
    REFUSED = counter(
        "a2a_drift_refused_total",
        "Deliveries that were not taken and are to be sent again.",
        &["receiver", "reason"],
    );
    DENIED = counter(
        "a2a_drift_denied_total",
        "Requests that were answered with an error and are not to be sent again.",
        &["receiver", "reason"],
    );
    CONNECTIONS = gauge("a2a_drift_connections", "Connections of senders that are open.", &[]);
    CONNECTIONS_LOST = counter(
        "a2a_drift_connections_lost_total",
        "Connections of senders that were not let in or were cut off.",
        &["reason"],
    );
    QUEUE_DELIVERIES = gauge("a2a_drift_queue_deliveries", "Deliveries that wait for their turn.", &[]);
    QUEUE_BYTES = gauge("a2a_drift_queue_bytes", "Bytes of the deliveries that wait.", &[]);
    QUEUE_LIMIT_BYTES = gauge("a2a_drift_queue_limit_bytes", "Bytes from which on deliveries are refused.", &[]);

    // How it is judged.
    TICK_SECONDS = histogram("a2a_drift_tick_seconds", "Time of one evaluation of all that changed.", &[], TICK);
    EVALUATION_SECONDS =
        histogram("a2a_drift_evaluation_seconds", "Time of one evaluation of a rule.", &["rule"], SHORT);
    EVALUATION_FAILURES = counter("a2a_drift_evaluation_failures_total", "Evaluations that failed.", &["rule"]);
    LAST_EVALUATION = gauge("a2a_drift_last_evaluation_timestamp_seconds", "When the last evaluation ended.", &[]);
    LAG = gauge("a2a_drift_lag_seconds", "Age of the oldest delivery that was taken and is not judged yet.", &[]);
    FACTS = gauge("a2a_drift_facts", "Facts in memory.", &["table"]);
    SUPPRESSED_FINDINGS =
        gauge("a2a_drift_suppressed_findings", "Findings that fire and that the configuration accepts for now.", &[]);

    // What is kept.
    WAL_BYTES = gauge("a2a_drift_wal_bytes", "Size of the write-ahead log.", &[]);
    WAL_SEGMENTS = gauge("a2a_drift_wal_segments", "Files of the write-ahead log.", &[]);
    OPEN_RECORDS = gauge("a2a_drift_open_records", "Spans and log records of traces that are not complete yet.", &[]);
    WAL_SYNC_SECONDS =
        histogram("a2a_drift_wal_sync_seconds", "Time until a group of entries was on disk.", &[], SHORT);
    WAL_FAILURES = counter("a2a_drift_wal_failures_total", "Writes of the write-ahead log that failed.", &[]);
    WAL_DAMAGED = counter(
        "a2a_drift_wal_damaged_bytes_total",
        "Bytes of the write-ahead log that were written and could not be read again.",
        &[],
    );
    LAKE_BYTES = gauge("a2a_drift_lake_bytes", "Size of the Parquet files.", &[]);
    LAKE_FILES = gauge("a2a_drift_lake_files", "Number of Parquet files.", &[]);
    LAKE_LAST_WRITE =
        gauge("a2a_drift_lake_last_write_timestamp_seconds", "When a Parquet file was last written.", &[]);
    LAKE_FAILURES = counter("a2a_drift_lake_failures_total", "Writes of Parquet files that failed.", &[]);

    // How it is run.
    BUILD_INFO = gauge("a2a_drift_build_info", "1, with the version that runs.", &["version"]);
    CONFIG_RELOADS = counter("a2a_drift_config_reloads_total", "Reloads of rules and settings.", &["outcome"]);
    CONFIG_LAST_RELOAD_SUCCESSFUL = gauge(
        "a2a_drift_config_last_reload_successful",
        "1 when the rules and settings that were loaded last are in force, 0 when they were bad and older ones are.",
        &[],
    );
    CONFIG_LAST_RELOAD_SUCCESS = gauge(
        "a2a_drift_config_last_reload_success_timestamp_seconds",
        "When rules and settings were last loaded with success.",
        &[],
    );
    ALERTS_SENT = counter("a2a_drift_alerts_sent_total", "Alerts that an Alertmanager took.", &["alertmanager"]);
    ALERTS_FAILED =
        counter("a2a_drift_alerts_failed_total", "Alerts that an Alertmanager did not take.", &["alertmanager"]);
    ALERTS_DROPPED = counter(
        "a2a_drift_alerts_dropped_total",
        "Alerts that were not sent because there are too many.",
        &["alertmanager"],
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_helps_follow_the_conventions_of_prometheus() {
        let mut names: Vec<&str> = ALL.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        for Definition { name, help, kind, labels, buckets } in ALL {
            assert!(name.starts_with("a2a_drift_") && help.ends_with('.'), "{name}");
            assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
            assert_eq!(!buckets.is_empty(), *kind == Kind::Histogram, "{name}");
            assert!(!labels.contains(&"le"), "{name}");
            let reserved = ["_count", "_sum", "_bucket", "_created"];
            assert!(!reserved.iter().any(|suffix| name.ends_with(suffix)), "{name}");
        }
    }
}
