//! What to look at: files, folders, globs, standard input.
//!
//! In: what the user named. Out: byte streams with names, decompressed under a limit. Knows nothing of A2A, and never
//! reads a stream further than it is asked to.

mod follow;
mod inflate;
mod inputs;

pub use follow::{Follower, Grown, Mark};
pub use inflate::{InflateFault, inflate};
pub use inputs::{Input, ReceiveError, inputs};
