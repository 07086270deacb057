//! Metrics for Prometheus.
//!
//! In: what the stages count of their own work, what became of findings, and the fleet's metrics. Out: the text of
//! `/metrics`, in the format that the scraper asks for. Sees no socket and reads no clock.

mod accept;
mod collector;
pub mod definitions;
mod exemplars;
mod found;
mod openmetrics;
mod service;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use prometheus::process_collector::ProcessCollector;
use prometheus::{Registry, TextEncoder};

use self::accept::Format;
use self::collector::{FamilyCollector, Shared};
use self::definitions::{ACTIVE_FINDINGS, ACTIVE_SINCE, DETECTION_DELAY, DETECTION_LAG, FINDINGS, RULE_BLIND};
use self::exemplars::{ByBucket, Exemplars};
use crate::findings::track::{Changes, Class, Opened};
use crate::findings::{Active, RuleCoverage, Tracker};
use crate::instant::Instant;
use crate::measures::{Exemplar, Family};

pub use self::service::Service;

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be exposed")]
pub struct ExporterError(#[from] prometheus::Error);

/// One look at findings, to be published.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// What is open, and how many opened.
    pub tracker: &'a Tracker,
    /// What is open, as groups whose agents are capped.
    pub active: &'a [Active],
    /// What happened since the last look.
    pub changes: &'a Changes,
    /// Which rules can fire.
    pub coverage: &'a [RuleCoverage],
    /// The instant of the look.
    pub now: Instant,
}

/// An answer to a scrape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Content-Type of the text.
    pub content_type: &'static str,
    /// The metrics.
    pub text: String,
}

/// All that is exposed.
pub struct Exporter {
    registry: Registry,
    service: Service,
    /// Families that each look replaces.
    families: Shared,
    traces: Mutex<Traces>,
}

/// The newest traces of what was found.
struct Traces {
    opened: BTreeMap<Class, Exemplar>,
    delay: ByBucket,
    lag: ByBucket,
}

impl Exporter {
    /// An exporter of nothing yet but the program itself. The fleet's families, as far as they are known, reserve their
    /// names.
    ///
    /// # Errors
    /// When two metrics have one name.
    pub fn new(fleet: &[Family]) -> Result<Self, ExporterError> {
        let registry = Registry::new();
        let service = Service::register(&registry)?;
        registry.register(Box::new(ProcessCollector::for_self()))?;
        let families = Shared::new(ArcSwap::from_pointee(fleet.to_vec()));
        let own =
            [ACTIVE_FINDINGS, ACTIVE_SINCE, FINDINGS, RULE_BLIND].map(|definition| (definition.name, definition.help));
        let declared = own.into_iter().chain(fleet.iter().map(|family| (family.name, family.help)));
        registry.register(Box::new(FamilyCollector::new(Arc::clone(&families), declared)?))?;
        let traces = Traces {
            opened: BTreeMap::new(),
            delay: ByBucket::new(DETECTION_DELAY.buckets),
            lag: ByBucket::new(DETECTION_LAG.buckets),
        };
        Ok(Self { registry, service, families, traces: Mutex::new(traces) })
    }

    /// Where the stages count their work.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Publishes one look at findings and fleet, in place of the last.
    pub fn publish(&self, look: Look<'_>, fleet: Vec<Family>) {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        for opened in &look.changes.opened {
            self.service.detected(opened.since_received, opened.since_due);
            traces.replace(opened, look.now);
        }
        let mut families = fleet;
        families.extend(found::active(look.active));
        families.push(found::opened(look.tracker.opened(), &traces.opened));
        families.push(found::blind(look.coverage));
        self.families.store(Arc::new(families));
    }

    /// The metrics as they are now, in the format that an Accept header asks for.
    ///
    /// # Errors
    /// When a metric cannot be written, which would be a defect of its definition.
    pub fn render(&self, accept: &str) -> Result<Rendered, ExporterError> {
        let format = Format::accepted(accept);
        let families = self.registry.gather();
        let text = match format {
            Format::Text => TextEncoder::new().encode_to_string(&families)?,
            Format::OpenMetrics => openmetrics::encode(&families, &self.exemplars()),
        };
        Ok(Rendered { content_type: format.content_type(), text })
    }

    fn exemplars(&self) -> Exemplars {
        let mut exemplars = Exemplars::of_families(&self.families.load());
        let traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        exemplars.add(DETECTION_DELAY.name, traces.delay.iter().cloned());
        exemplars.add(DETECTION_LAG.name, traces.lag.iter().cloned());
        exemplars
    }
}

impl Traces {
    fn replace(&mut self, opened: &Opened, now: Instant) {
        let Opened { open, since_received, since_due, trace_id } = opened;
        if trace_id.is_empty() {
            return;
        }
        let exemplar = |value| Exemplar { trace_id: trace_id.clone(), value, at: now };
        let class = Class { rule: open.rule.clone(), category: open.category.clone(), severity: open.severity };
        self.opened.insert(class, exemplar(1.0));
        if let Some(delay) = since_received {
            self.delay.replace(exemplar(delay.as_secs_f64()));
        }
        if let Some(lag) = since_due {
            self.lag.replace(exemplar(lag.as_secs_f64()));
        }
    }
}
