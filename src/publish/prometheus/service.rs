//! Counting of the program's own work.
//!
//! In: what happened, as the stages tell. Out: metrics in the registry. Never fails after its start and blocks nobody: a
//! label that cannot be counted is not.

use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{
    Error, Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry,
};

use super::definitions::{self as define, Definition};
use crate::instant::Instant;

/// Handles of the program's own metrics.
#[derive(Debug, Clone)]
pub struct Service {
    received: IntCounterVec,
    ignored: IntCounterVec,
    duplicates: IntCounter,
    rejected: IntCounterVec,
    refused: IntCounterVec,
    denied: IntCounterVec,
    connections: IntGauge,
    connections_lost: IntCounterVec,
    queue_deliveries: IntGauge,
    queue_bytes: IntGauge,
    queue_limit_bytes: IntGauge,
    tick_seconds: Histogram,
    evaluation_seconds: HistogramVec,
    evaluation_failures: IntCounterVec,
    last_evaluation: Gauge,
    lag: Gauge,
    facts: IntGaugeVec,
    suppressed_findings: IntGauge,
    wal_bytes: IntGauge,
    wal_segments: IntGauge,
    open_records: IntGauge,
    wal_sync_seconds: Histogram,
    wal_failures: IntCounter,
    wal_damaged: IntCounter,
    lake_bytes: IntGauge,
    lake_files: IntGauge,
    lake_last_write: Gauge,
    lake_failures: IntCounter,
    config_reloads: IntCounterVec,
    config_last_reload_successful: IntGauge,
    config_last_reload_success: Gauge,
    alerts_sent: IntCounterVec,
    alerts_failed: IntCounterVec,
    alerts_dropped: IntCounterVec,
    detection_delay: Histogram,
    detection_lag: Histogram,
}

impl Service {
    /// Registers all of them.
    ///
    /// # Errors
    /// When the registry has something by one of these names.
    pub(super) fn register(registry: &Registry) -> Result<Self, Error> {
        let build_info = int_gauges(registry, &define::BUILD_INFO)?;
        build_info.get_metric_with_label_values(&[env!("CARGO_PKG_VERSION")])?.set(1);
        let service = Self {
            received: counters(registry, &define::RECEIVED)?,
            ignored: counters(registry, &define::IGNORED)?,
            duplicates: counter(registry, &define::DUPLICATES)?,
            rejected: counters(registry, &define::REJECTED)?,
            refused: counters(registry, &define::REFUSED)?,
            denied: counters(registry, &define::DENIED)?,
            connections: int_gauge(registry, &define::CONNECTIONS)?,
            connections_lost: counters(registry, &define::CONNECTIONS_LOST)?,
            queue_deliveries: int_gauge(registry, &define::QUEUE_DELIVERIES)?,
            queue_bytes: int_gauge(registry, &define::QUEUE_BYTES)?,
            queue_limit_bytes: int_gauge(registry, &define::QUEUE_LIMIT_BYTES)?,
            tick_seconds: histogram(registry, &define::TICK_SECONDS)?,
            evaluation_seconds: histograms(registry, &define::EVALUATION_SECONDS)?,
            evaluation_failures: counters(registry, &define::EVALUATION_FAILURES)?,
            last_evaluation: gauge(registry, &define::LAST_EVALUATION)?,
            lag: gauge(registry, &define::LAG)?,
            facts: int_gauges(registry, &define::FACTS)?,
            suppressed_findings: int_gauge(registry, &define::SUPPRESSED_FINDINGS)?,
            wal_bytes: int_gauge(registry, &define::WAL_BYTES)?,
            wal_segments: int_gauge(registry, &define::WAL_SEGMENTS)?,
            open_records: int_gauge(registry, &define::OPEN_RECORDS)?,
            wal_sync_seconds: histogram(registry, &define::WAL_SYNC_SECONDS)?,
            wal_failures: counter(registry, &define::WAL_FAILURES)?,
            wal_damaged: counter(registry, &define::WAL_DAMAGED)?,
            lake_bytes: int_gauge(registry, &define::LAKE_BYTES)?,
            lake_files: int_gauge(registry, &define::LAKE_FILES)?,
            lake_last_write: gauge(registry, &define::LAKE_LAST_WRITE)?,
            lake_failures: counter(registry, &define::LAKE_FAILURES)?,
            config_reloads: counters(registry, &define::CONFIG_RELOADS)?,
            config_last_reload_successful: int_gauge(registry, &define::CONFIG_LAST_RELOAD_SUCCESSFUL)?,
            config_last_reload_success: gauge(registry, &define::CONFIG_LAST_RELOAD_SUCCESS)?,
            alerts_sent: counters(registry, &define::ALERTS_SENT)?,
            alerts_failed: counters(registry, &define::ALERTS_FAILED)?,
            alerts_dropped: counters(registry, &define::ALERTS_DROPPED)?,
            detection_delay: histogram(registry, &define::DETECTION_DELAY)?,
            detection_lag: histogram(registry, &define::DETECTION_LAG)?,
        };
        for outcome in ["success", "failure"] {
            service.config_reloads.get_metric_with_label_values(&[outcome])?;
        }
        Ok(service)
    }

    /// Counts what a receiver took of a signal; nothing, to begin at zero.
    pub fn received(&self, receiver: &str, signal: &str, records: u64) {
        add(&self.received, &[receiver, signal], records);
    }

    /// Counts records that hold no A2A.
    pub fn ignored(&self, signal: &str, records: u64) {
        add(&self.ignored, &[signal], records);
    }

    /// Counts facts that were known already.
    pub fn duplicates(&self, facts: u64) {
        self.duplicates.inc_by(facts);
    }

    /// Counts pieces that were not understood, by the reason's kebab-case word.
    pub fn rejected(&self, reason: &str, pieces: u64) {
        add(&self.rejected, &[reason], pieces);
    }

    /// Counts deliveries that a receiver did not take.
    pub fn refused(&self, receiver: &str, reason: &str, deliveries: u64) {
        add(&self.refused, &[receiver, reason], deliveries);
    }

    /// Counts requests that were answered with an error that time does not mend.
    pub fn denied(&self, receiver: &str, reason: &str, requests: u64) {
        add(&self.denied, &[receiver, reason], requests);
    }

    /// Connections that are open.
    pub fn connections(&self, open: u64) {
        self.connections.set(whole(open));
    }

    /// Counts connections that were not let in or were cut off.
    pub fn connections_lost(&self, reason: &str, connections: u64) {
        add(&self.connections_lost, &[reason], connections);
    }

    /// What waits, and the bytes from which on deliveries are refused.
    pub fn queue(&self, deliveries: u64, bytes: u64, limit_bytes: u64) {
        self.queue_deliveries.set(whole(deliveries));
        self.queue_bytes.set(whole(bytes));
        self.queue_limit_bytes.set(whole(limit_bytes));
    }

    /// One evaluation of all that changed: what it took, when it ended, and how old the oldest delivery is that it did not
    /// reach.
    pub fn ticked(&self, took: Duration, ended: Instant, lag: Duration) {
        self.tick_seconds.observe(took.as_secs_f64());
        self.last_evaluation.set(seconds(ended));
        self.lag.set(lag.as_secs_f64());
    }

    /// How many findings fire that the configuration accepts for now.
    pub fn suppressed(&self, findings: u64) {
        self.suppressed_findings.set(i64::try_from(findings).unwrap_or(i64::MAX));
    }

    /// Begins the metrics of rules at zero.
    pub fn begin_rules<'a>(&self, rules: impl IntoIterator<Item = &'a str>) {
        for rule in rules {
            _ = self.evaluation_seconds.get_metric_with_label_values(&[rule]);
            add(&self.evaluation_failures, &[rule], 0);
        }
    }

    /// One evaluation of a rule.
    pub fn evaluated(&self, rule: &str, took: Duration) {
        if let Ok(histogram) = self.evaluation_seconds.get_metric_with_label_values(&[rule]) {
            histogram.observe(took.as_secs_f64());
        }
    }

    /// Counts an evaluation of a rule that failed.
    pub fn evaluation_failed(&self, rule: &str) {
        add(&self.evaluation_failures, &[rule], 1);
    }

    /// Facts of a table in memory.
    pub fn facts(&self, table: &str, rows: u64) {
        if let Ok(gauge) = self.facts.get_metric_with_label_values(&[table]) {
            gauge.set(whole(rows));
        }
    }

    /// Size of the write-ahead log.
    pub fn wal(&self, bytes: u64, segments: u64) {
        self.wal_bytes.set(whole(bytes));
        self.wal_segments.set(whole(segments));
    }

    /// Spans and log records of traces that are not complete yet.
    pub fn open_records(&self, records: u64) {
        self.open_records.set(whole(records));
    }

    /// One group of entries of the write-ahead log came to disk.
    pub fn wal_synced(&self, took: Duration) {
        self.wal_sync_seconds.observe(took.as_secs_f64());
    }

    /// Counts a write of the write-ahead log that failed.
    pub fn wal_failed(&self) {
        self.wal_failures.inc();
    }

    /// Counts bytes of the write-ahead log that could not be read again.
    pub fn wal_damaged(&self, bytes: u64) {
        self.wal_damaged.inc_by(bytes);
    }

    /// Size of the lake.
    pub fn lake(&self, bytes: u64, files: u64) {
        self.lake_bytes.set(whole(bytes));
        self.lake_files.set(whole(files));
    }

    /// A file of the lake was written.
    pub fn lake_written(&self, at: Instant) {
        self.lake_last_write.set(seconds(at));
    }

    /// Counts a write of the lake that failed.
    pub fn lake_failed(&self) {
        self.lake_failures.inc();
    }

    /// Rules and settings were loaded: the first at the start, then each reload.
    pub fn loaded(&self, at: Instant) {
        self.config_last_reload_successful.set(1);
        self.config_last_reload_success.set(seconds(at));
    }

    /// Counts a reload.
    pub fn reloaded(&self, succeeded: bool, at: Instant) {
        add(&self.config_reloads, &[if succeeded { "success" } else { "failure" }], 1);
        if succeeded { self.loaded(at) } else { self.config_last_reload_successful.set(0) }
    }

    /// Counts what became of alerts to one Alertmanager; nothing, to begin at zero.
    pub fn alerts(&self, alertmanager: &str, sent: u64, failed: u64, dropped: u64) {
        add(&self.alerts_sent, &[alertmanager], sent);
        add(&self.alerts_failed, &[alertmanager], failed);
        add(&self.alerts_dropped, &[alertmanager], dropped);
    }

    /// A finding was published.
    pub(super) fn detected(&self, since_received: Option<Duration>, since_due: Option<Duration>) {
        since_received.iter().for_each(|delay| self.detection_delay.observe(delay.as_secs_f64()));
        since_due.iter().for_each(|lag| self.detection_lag.observe(lag.as_secs_f64()));
    }
}

fn add(counters: &IntCounterVec, labels: &[&str], more: u64) {
    if let Ok(counter) = counters.get_metric_with_label_values(labels) {
        counter.inc_by(more);
    }
}

/// As much as a gauge of whole numbers holds.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Seconds since the epoch.
pub(super) fn seconds(at: Instant) -> f64 {
    at.0 as f64 / 1e9
}

fn registered<C: Collector + Clone + 'static>(registry: &Registry, collector: C) -> Result<C, Error> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

fn opts(metric: &Definition) -> Opts {
    Opts::new(metric.name, metric.help)
}

fn histogram_opts(metric: &Definition) -> HistogramOpts {
    HistogramOpts::new(metric.name, metric.help).buckets(metric.buckets.to_vec())
}

fn counter(registry: &Registry, metric: &Definition) -> Result<IntCounter, Error> {
    registered(registry, IntCounter::with_opts(opts(metric))?)
}

fn counters(registry: &Registry, metric: &Definition) -> Result<IntCounterVec, Error> {
    registered(registry, IntCounterVec::new(opts(metric), metric.labels)?)
}

fn gauge(registry: &Registry, metric: &Definition) -> Result<Gauge, Error> {
    registered(registry, Gauge::with_opts(opts(metric))?)
}

fn int_gauge(registry: &Registry, metric: &Definition) -> Result<IntGauge, Error> {
    registered(registry, IntGauge::with_opts(opts(metric))?)
}

fn int_gauges(registry: &Registry, metric: &Definition) -> Result<IntGaugeVec, Error> {
    registered(registry, IntGaugeVec::new(opts(metric), metric.labels)?)
}

fn histogram(registry: &Registry, metric: &Definition) -> Result<Histogram, Error> {
    registered(registry, Histogram::with_opts(histogram_opts(metric))?)
}

fn histograms(registry: &Registry, metric: &Definition) -> Result<HistogramVec, Error> {
    registered(registry, HistogramVec::new(histogram_opts(metric), metric.labels)?)
}
