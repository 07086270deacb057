//! Programs that run while a test does.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};

/// A program that runs until it is dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Starts a program. Its wrappers replace themselves with it, so that killing it ends it.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An address that was free a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
