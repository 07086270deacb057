//! The service as its users have it: the built program, HTTP, signals, and a folder that outlives it.
//!
//! What it finds is held against `analyze` over the same records at the instant that the service says it looked.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
#![allow(clippy::expect_used, reason = "a test")]

mod support;

#[path = "serve/asked.rs"]
mod asked;
#[path = "serve/batch.rs"]
mod batch;
#[path = "serve/disk.rs"]
mod disk;
#[path = "serve/ends.rs"]
mod ends;
#[path = "serve/files.rs"]
mod files;
#[path = "serve/guarded.rs"]
mod guarded;
#[path = "serve/host.rs"]
mod host;
#[path = "serve/itself.rs"]
mod itself;
#[path = "serve/memory.rs"]
mod memory;
#[path = "serve/over.rs"]
mod over;
#[path = "serve/reload.rs"]
mod reload;
#[path = "serve/same.rs"]
mod same;
#[path = "serve/times.rs"]
mod times;
