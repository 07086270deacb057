//! Followed files to work for the intake, and how far they were taken in.
//!
//! In: what a [`Follower`] finds. Out: work, and a file of positions. A piece that was not taken in comes again.

use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::intake::Work;
use super::state;
use crate::receive::{Follower, Grown};

/// Pause between two looks for what was added.
const PAUSE: Duration = Duration::from_millis(250);

/// Follows until told to stop.
pub(super) async fn follow(mut follower: Follower, marks: PathBuf, queue: mpsc::Sender<Work>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let (mut taken, mut refused) = (0, 0);
        for piece in follower.poll() {
            if take_in(&piece, &queue).await {
                taken += 1;
                follower.done(&piece);
            } else {
                refused += 1;
                follower.again(&piece);
            }
        }
        if taken > 0
            && let Err(error) = state::write(&marks, &follower.marks())
        {
            tracing::error!(%error, "the positions of followed files cannot be remembered");
        }
        if taken == 0 || refused > 0 {
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }
}

/// Whether a piece is safe.
async fn take_in(piece: &Grown, queue: &mpsc::Sender<Work>) -> bool {
    let (taken, answer) = oneshot::channel();
    let sent = queue.send(Work::Grown(Box::new(piece.clone()), taken)).await;
    sent.is_ok() && answer.await.unwrap_or(false)
}
