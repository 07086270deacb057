//! What to look at: files, folders, globs, standard input, and what others send over the network.
//!
//! In: what the user named; sockets. Out: byte streams with names, and bodies with a place for their answer, both
//! decompressed under a limit. Knows nothing of A2A, and never reads a stream further than it is asked to.

pub mod listen;

mod follow;
mod inflate;
mod inputs;

pub use follow::{Follower, Grown, Incomplete, Mark};
pub use inflate::{InflateFault, inflate};
pub use inputs::{Input, ReceiveError, inputs};
