//! Receivers on a port of their own, with a stand-in for whoever reads deliveries.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use a2a_drift::decode::Limits;
use a2a_drift::decode::key_map::KeyMap;
use a2a_drift::decode::record::{Record, Reject, Sink};
use a2a_drift::decode::request::decode_request;
use a2a_drift::receive::listen::{
    Answer, Delivery, Encoding, Listen, ListenCounters, ListenSettings, Reason, Receiver, Route, Signal,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// What a delivery was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) receiver: Receiver,
    pub(crate) signal: Signal,
    pub(crate) encoding: Encoding,
    pub(crate) body: Vec<u8>,
}

/// Running receivers.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    pub(crate) counters: Arc<ListenCounters>,
    pub(crate) seen: Arc<Mutex<Vec<Seen>>>,
    pub(crate) stop: CancellationToken,
    pub(crate) serving: JoinHandle<()>,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Settings with limits that tests can reach; timeouts are long unless a test shortens them.
pub(crate) fn settings() -> ListenSettings {
    ListenSettings::default()
}

impl Host {
    /// Receivers whose deliveries are given to `intake`, one after the other.
    pub(crate) async fn start(settings: ListenSettings, mut intake: impl FnMut(Delivery) + Send + 'static) -> Self {
        let (queue, mut deliveries) = mpsc::channel::<Delivery>(64);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Some(delivery) = deliveries.recv().await {
                let Delivery { receiver, signal, encoding, body, .. } = &delivery;
                let (receiver, signal, encoding) = (*receiver, *signal, *encoding);
                noted.lock().unwrap().push(Seen { receiver, signal, encoding, body: body.to_vec() });
                intake(delivery);
            }
        });
        Self::with_queue(settings, queue, seen).await
    }

    /// Receivers that deliver to a queue of the test's own.
    pub(crate) async fn with_queue(
        settings: ListenSettings,
        queue: mpsc::Sender<Delivery>,
        seen: Arc<Mutex<Vec<Seen>>>,
    ) -> Self {
        let listen = Listen::new(settings, queue).unwrap();
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, counters, stop) = (socket.local_addr().unwrap(), listen.counters(), CancellationToken::new());
        let serving = tokio::spawn(listen.serve(vec![socket], stop.clone()));
        Self { address, counters, seen, stop, serving }
    }

    /// Receivers whose intake takes everything.
    pub(crate) async fn accepting() -> Self {
        Self::start(settings(), answering(Answer::Accepted { accepted: 1, rejected: 0, message: String::new() })).await
    }

    /// Receivers whose intake decodes as the service does.
    pub(crate) async fn decoding() -> Self {
        Self::start(settings(), decoding).await
    }

    pub(crate) fn refused(&self, receiver: Receiver, signal: Signal, reason: Reason) -> u64 {
        self.counters.route(Route { receiver, signal }).refused.by(reason).get()
    }

    pub(crate) fn last_seen(&self) -> Seen {
        self.seen.lock().unwrap().last().unwrap().clone()
    }
}

/// An intake that always answers the same.
pub(crate) fn answering(answer: Answer) -> impl FnMut(Delivery) + Send {
    move |delivery| {
        let _ = delivery.answer.send(answer.clone());
    }
}

/// An intake that decodes and keeps nothing.
pub(crate) fn decoding(delivery: Delivery) {
    let what = (delivery.signal, delivery.encoding);
    let source = Arc::from("request");
    let decoded = decode_request(what, &delivery.body, &source, &Limits::default(), KeyMap::built_in(), &mut Nowhere);
    let answer = match decoded {
        Ok(received) => {
            Answer::Accepted { accepted: received.accepted, rejected: received.rejected, message: received.message }
        }
        Err(malformed) => Answer::Malformed { message: malformed.message },
    };
    let _ = delivery.answer.send(answer);
}

struct Nowhere;

impl Sink for Nowhere {
    fn record(&mut self, _: Record) {}
    fn reject(&mut self, _: Reject) {}
    fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
}

/// Waits until a condition holds; a test that waits too long fails.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..500 {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("in vain: {what}");
}
