//! Conformance of the network receivers, over real sockets: what OTLP demands, and what other receivers get wrong.
//!
//! Each test is named by what is guaranteed. The intake behind the sockets is a stand-in that answers as the case needs, or
//! decodes bodies as the service does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod receiver {
    pub(crate) mod call;
    pub(crate) mod host;
    pub(crate) mod requests;

    mod access;
    mod grpc;
    mod http;
    mod limits;
    mod payloads;
    mod pressure;
}
