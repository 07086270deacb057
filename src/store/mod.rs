//! What must survive: a log for what came in, and a lake for what is settled.
//!
//! In: facts as Arrow batches, and pieces that are not facts yet as opaque bytes. Out: durable files, and after a restart the
//! same facts and pieces. Knows tables, and nothing of A2A; reads no clock.
//!
//! ```text
//!            append, commit                close                     retain
//!  facts ------------------> wal/N.log ----------> lake/<table>/... --------> gone
//!  pieces                       |  pieces that are not done move on to the newest segment
//!                               v
//!                      open: facts and pieces again
//! ```
//!
//! - What [`Store::commit`] returned well is on the disk: a crash, now or in any later call, loses none of it.
//! - Facts are sets: one that is committed twice is one, in the log after a restart and in the lake.
//! - Segments leave the log oldest first, and only when their facts are in the lake and their open pieces in a newer segment.
//! - A folder that is removed or replaced is noticed: nothing is acknowledged that lies in no folder.
//! - A failure changes nothing that was durable; the call can be made again.

mod column;
mod disk;
mod durable;
mod entry;
mod error;
mod frame;
mod lake;
mod log;
mod parquet;
mod peek;
mod recover;
mod resync;
mod segment;
mod sort;

pub use disk::{Disk, DiskFile, Listed, LocalDisk, Named};
pub use durable::{Closed, Dropped, Retention, Sizes, Store, StoreSettings};
pub use entry::{Entry, Piece};
pub use error::{ReadError, StoreError};
pub use log::LogSettings;
pub use parquet::{is_parquet, read_facts};
pub use peek::{Peek, is_log, read_log};
pub use recover::{Damage, Recovered};
