//! Generated fleets: forty agents over days, with the faults of record 000, or with every legitimate oddity that real
//! systems show and no fault.
//!
//! In: nothing but the code. Out: exchange lines as a recording proxy writes them. The same run gives the same bytes.

pub mod agent;
pub mod healthy;
pub mod oddities;
pub mod record000;
pub mod tape;
