//! Finds where what an A2A agent advertises, what it does and what its callers believe have drifted apart.
//!
//! ```text
//!  files, stdin                                queries/*.sql
//!      |                                            |
//!  [receive] -> [decode] -> [normalize] -> [tables] -> [rules] -> [findings] -> [publish] -> stdout
//!     bytes     records       facts        batches     rows       findings
//!                  \-------- rejects, counted by reason --------/
//!
//!  sockets      as above, then [store]; facts that came or went -> [live] -> [findings], [measures] -> [publish], [api]
//! ```
//!
//! A stage names only the output type of the stage on its left, and `findings`. `commands` alone wires them.

pub mod instant;

mod page;

pub mod token;

pub mod tls;

mod door;

pub mod receive;

pub mod decode;

pub mod normalize;

pub mod tables;

pub mod store;

pub mod rules;

pub mod live;

pub mod findings;

pub mod measures;

pub mod publish;

pub mod api;

pub mod config;

pub mod cli;

pub mod commands;

pub mod telemetry;
