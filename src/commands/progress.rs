//! A sign of life on standard error while work takes long.
//!
//! In: what is being done. Out: one moving line, on a terminal only, and only from the second second on. Never touches
//! standard output.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that ends sooner needs no sign of life.
const PATIENCE: Duration = Duration::from_secs(1);
/// Pause between two frames.
const FRAME: Duration = Duration::from_millis(120);

/// One moving line; gone when dropped.
pub(super) struct Progress {
    bar: ProgressBar,
    ended: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins to wait. `wanted` is false for a run that is to be quiet.
    pub(super) fn start(wanted: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} [{elapsed}]") {
            bar.set_style(style);
        }
        let (ended, end) = mpsc::channel();
        let shown = bar.clone();
        let wait = move || {
            if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(FRAME);
            }
        };
        // Without a thread there is no sign of life, and the work goes on.
        let waiting = if wanted { std::thread::Builder::new().name("progress".into()).spawn(wait).ok() } else { None };
        Self { bar, ended: Some(ended), waiting }
    }

    /// Says what is being done now.
    pub(super) fn doing(&self, what: String) {
        self.bar.set_message(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.ended = None;
        if let Some(waiting) = self.waiting.take() {
            // It only waits and cannot fail.
            _ = waiting.join();
        }
        self.bar.finish_and_clear();
    }
}
