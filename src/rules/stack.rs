//! A thread with a large stack: parsing and planning recurse along the query, and in debug builds each step is large.
//!
//! In: work. Out: its result. Callers need not know how deep it goes.

use std::io;
use std::num::NonZero;

use tokio::sync::oneshot;

/// Debug builds overflow the usual 2 MiB on rules of a few joins; of what is reserved here, only what is touched is used.
const STACK: usize = 64 << 20;

/// Runs work to its end on a large stack.
///
/// # Errors
/// When the system gives no thread.
pub(super) fn deep<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("rules".to_owned()).stack_size(STACK);
        thread.spawn_scoped(scope, work)?.join().map_err(|_| io::Error::other("the rule engine's thread panicked"))
    })
}

/// Runs asynchronous work on a runtime of its own, whose threads all have large stacks.
///
/// # Errors
/// When the system gives no threads.
pub(super) async fn deep_async<F, T>(work: impl FnOnce() -> F + Send + 'static) -> io::Result<T>
where
    F: Future<Output = T>,
    T: Send + 'static,
{
    let (done, result) = oneshot::channel();
    let thread = std::thread::Builder::new().name("rules".to_owned()).stack_size(STACK);
    thread.spawn(move || {
        let answer = runtime().map(|runtime| {
            let answer = runtime.block_on(work());
            // Not to wait for what was told to stop.
            runtime.shutdown_background();
            answer
        });
        // A caller that went away wants no answer.
        let _ = done.send(answer);
    })?;
    result.await.unwrap_or_else(|_| Err(io::Error::other("the rule engine's thread panicked")))
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers())
        .thread_stack_size(STACK)
        .thread_name("rules")
        .enable_time()
        .build()
}

/// Threads with large stacks that stay until they are dropped.
#[derive(Debug)]
pub(super) struct Threads(Option<tokio::runtime::Runtime>, tokio::runtime::Handle);

impl Threads {
    /// Starts them.
    ///
    /// # Errors
    /// When the system gives none.
    pub(super) fn start() -> io::Result<Self> {
        let runtime = runtime()?;
        let handle = runtime.handle().clone();
        Ok(Self(Some(runtime), handle))
    }

    /// Where work is given to them.
    pub(super) fn handle(&self) -> &tokio::runtime::Handle {
        &self.1
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Also where waiting is not allowed: among the tasks of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Queries run side by side: one a core.
pub(super) fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}
