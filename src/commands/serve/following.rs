//! Followed files to work for the intake, and how far they were taken in.
//!
//! In: what a [`Follower`] finds. Out: work, and a file of positions. A piece that was not taken in comes again.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::intake::Work;
use super::state;
use crate::receive::Follower;

/// Pause between two looks for what was added.
const PAUSE: Duration = Duration::from_millis(250);

/// Follows until told to stop.
pub(super) async fn follow(mut follower: Follower, marks: PathBuf, queue: mpsc::Sender<Work>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let grown = follower.poll();
        let is_idle = grown.is_empty();
        for piece in grown {
            let (taken, answer) = oneshot::channel();
            let sent = queue.send(Work::Grown(Box::new(piece.clone()), taken)).await;
            if sent.is_ok() && answer.await.unwrap_or(false) {
                follower.done(&piece);
            } else {
                follower.again(&piece);
            }
        }
        if is_idle {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(PAUSE) => {}
            }
        } else if let Err(error) = state::write(&marks, &follower.marks()) {
            tracing::error!(%error, "the positions of followed files cannot be remembered");
        }
    }
}
