//! What the listeners do, for the metrics.
//!
//! In: their counters, which only grow. Out: what was added since the last look, and how much waits now.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::work::Work;
use crate::publish::prometheus::Service;
use crate::receive::listen::{Delivery, ListenCounters, Memory, Reason, RefusedCounters};

/// Pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Who is counted where no receiver took the request.
const UNROUTED: &str = "none";

/// Looks at the listeners.
pub(super) struct Watching {
    pub(super) counters: Arc<ListenCounters>,
    pub(super) memory: Memory,
    pub(super) deliveries: mpsc::WeakSender<Delivery>,
    pub(super) work: mpsc::WeakSender<Work>,
    pub(super) service: Service,
    pub(super) seen: HashMap<[&'static str; 3], u64>,
}

impl Watching {
    /// Looks every second until told to stop, and once more then.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        loop {
            self.look();
            tokio::select! {
                () = stop.cancelled() => return self.look(),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    fn look(&mut self) {
        let counters = Arc::clone(&self.counters);
        for (route, of_route) in counters.routes() {
            self.refusals(route.receiver.as_str(), route.signal.as_str(), &of_route.refused);
        }
        self.refusals(UNROUTED, UNROUTED, &counters.unrouted);
        let lost = [
            ("too-many", &counters.refused_connections),
            ("handshake", &counters.failed_handshakes),
            ("slow-headers", &counters.slow_headers),
            ("accept-failed", &counters.accept_errors),
        ];
        for (reason, counter) in lost {
            let more = self.more(["connection", "", reason], counter.get());
            self.service.connections_lost(reason, more);
        }
        self.service.connections(counters.open_connections.get());
        let waiting = length(&self.deliveries) + length(&self.work);
        self.service.queue(waiting as u64, self.memory.taken() as u64, self.memory.limit() as u64);
    }

    fn refusals(&mut self, receiver: &'static str, signal: &'static str, refused: &RefusedCounters) {
        for reason in Reason::ALL {
            // Of nothing, too: what is not there before it is counted hides from every query for an increase.
            let more = self.more([receiver, signal, reason.as_str()], refused.by(reason).get());
            if reason.is_passing() {
                self.service.refused(receiver, reason.as_str(), more);
            } else {
                self.service.denied(receiver, reason.as_str(), more);
            }
        }
    }

    /// What was added since the last look.
    fn more(&mut self, of: [&'static str; 3], total: u64) -> u64 {
        let before = self.seen.insert(of, total).unwrap_or_default();
        total.saturating_sub(before)
    }
}

fn length<T>(queue: &mpsc::WeakSender<T>) -> usize {
    queue.upgrade().map_or(0, |queue| queue.max_capacity() - queue.capacity())
}
