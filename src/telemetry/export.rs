//! The program's own traces and metrics over OTLP.
//!
//! In: the `OTEL_*` variables of the environment. Out: a layer for `tracing`, instruments. Exports nothing unless an endpoint
//! is named, and never says anything of the traffic that is watched: what is exported is how long work took and how much
//! of it there was.

use std::env;
use std::sync::OnceLock;
use std::time::Duration;

use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::trace::TracerProvider;
use opentelemetry::{KeyValue, global};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use sha2::{Digest, Sha256};

const NAME: &str = "a2a-drift";

/// Time that the last batch may take when the program ends.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why telemetry cannot be exported.
#[derive(Debug, thiserror::Error)]
#[error("cannot export the program's own telemetry: {0}")]
pub struct ExportError(#[from] ExporterBuildError);

/// What exports the program's own telemetry, if anything does.
#[derive(Debug, Default)]
pub struct Exporting {
    traces: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
}

impl Exporting {
    /// Exports to where the environment says: `OTEL_EXPORTER_OTLP_ENDPOINT`, or that of a signal alone.
    ///
    /// # Errors
    /// When an exporter cannot be made of what the environment says.
    pub fn from_environment() -> Result<Self, ExportError> {
        let mut exporting = Self::default();
        if is_wanted("TRACES") {
            let exporter = SpanExporter::builder().build()?;
            let provider = SdkTracerProvider::builder().with_resource(resource()).with_batch_exporter(exporter).build();
            exporting.traces = Some(provider);
        }
        if is_wanted("METRICS") {
            let exporter = MetricExporter::builder().build()?;
            let provider =
                SdkMeterProvider::builder().with_resource(resource()).with_periodic_exporter(exporter).build();
            global::set_meter_provider(provider.clone());
            exporting.metrics = Some(provider);
        }
        Ok(exporting)
    }

    /// The tracer, where traces are exported.
    pub fn tracer(&self) -> Option<SdkTracer> {
        self.traces.as_ref().map(|provider| provider.tracer(NAME))
    }

    /// Sends what is left.
    pub fn stop(self) {
        let traces = self.traces.map(|provider| provider.shutdown_with_timeout(LAST_WORDS));
        let metrics = self.metrics.map(|provider| provider.shutdown_with_timeout(LAST_WORDS));
        for error in traces.into_iter().chain(metrics).filter_map(Result::err) {
            tracing::debug!(%error, "the last of the program's own telemetry was not sent");
        }
    }
}

/// Whether the environment names where a signal goes, and does not turn it off.
fn is_wanted(signal: &str) -> bool {
    let set = |name: String| env::var(name).is_ok_and(|value| !value.trim().is_empty());
    let off = env::var("OTEL_SDK_DISABLED").is_ok_and(|value| value.eq_ignore_ascii_case("true"))
        || env::var(format!("OTEL_{signal}_EXPORTER")).is_ok_and(|value| value == "none");
    !off && (set("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned()) || set(format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT")))
}

/// Endpoints that telemetry goes to by the environment, to tell that the program is not its own.
pub fn endpoints() -> Vec<String> {
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]
        .into_iter()
        .filter_map(|name| env::var(name).ok())
        .filter(|value| !value.trim().is_empty())
        .collect()
}

/// Names this process in its own telemetry. A request that names it is the program's own telemetry come home, through a
/// collector that sends everything here, and must not make more of it.
pub fn instance_id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| {
        let mut hash = Sha256::new();
        hash.update(std::process::id().to_be_bytes());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        hash.update(now.as_nanos().to_be_bytes());
        format!("{NAME}-{}", hex::encode(&hash.finalize()[..12]))
    })
}

fn resource() -> Resource {
    let own = [
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", instance_id()),
    ];
    let builder = Resource::builder().with_attributes(own);
    let is_named = env::var("OTEL_SERVICE_NAME").is_ok_and(|name| !name.is_empty());
    if is_named { builder } else { builder.with_service_name(NAME) }.build()
}

/// Instruments of the program's own metrics; they do nothing where none are exported.
#[derive(Debug, Clone)]
pub struct Instruments {
    /// Requests taken in, by receiver and signal.
    pub received: Counter<u64>,
    /// Facts that were new.
    pub facts: Counter<u64>,
    /// Seconds that a tick took.
    pub tick: Histogram<f64>,
    /// Seconds from a request's arrival to its answer.
    pub intake: Histogram<f64>,
}

impl Instruments {
    /// Instruments of the meter that is in force; made after [`Exporting::from_environment`].
    pub fn new() -> Self {
        let meter = global::meter(NAME);
        Self {
            received: meter.u64_counter("a2a_drift.received").with_description("Requests taken in").build(),
            facts: meter.u64_counter("a2a_drift.facts").with_description("Facts that were new").build(),
            tick: meter.f64_histogram("a2a_drift.tick.duration").with_unit("s").build(),
            intake: meter.f64_histogram("a2a_drift.intake.duration").with_unit("s").build(),
        }
    }
}

impl Default for Instruments {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_keeps_its_name() {
        assert_eq!(instance_id(), instance_id());
        assert!(instance_id().starts_with("a2a-drift-"));
    }
}
