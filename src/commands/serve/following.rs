//! Followed files to work for the intake, and how far they were taken in.
//!
//! In: what a [`Follower`] finds. Out: work, and a file of positions. A piece that was not taken in comes again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::state;
use super::work::Work;
use crate::receive::{Follower, Grown, Incomplete};

/// Pause between two looks for what was added.
const PAUSE: Duration = Duration::from_millis(250);

/// Follows until told to stop.
pub(super) async fn follow(mut follower: Follower, marks: PathBuf, queue: mpsc::Sender<Work>, stop: CancellationToken) {
    while !stop.is_cancelled() {
        let (mut taken, mut refused) = (0, 0);
        for piece in follower.poll() {
            let piece = Arc::new(piece);
            if let Some(incomplete) = take_in(&piece, &queue).await {
                taken += 1;
                follower.done(&piece, incomplete);
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

/// What of a piece is not complete, if the rest is safe; none if it is not.
async fn take_in(piece: &Arc<Grown>, queue: &mpsc::Sender<Work>) -> Option<Option<Incomplete>> {
    let (taken, answer) = oneshot::channel();
    queue.send(Work::Grown(Arc::clone(piece), taken)).await.ok()?;
    answer.await.ok()
}
