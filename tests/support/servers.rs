//! Programs that tests run against, as `tests/tools/fetch/fetch` unpacks them.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command};

/// A program, of which there must be one: a test that cannot run has failed.
pub(crate) fn program(name: &str) -> PathBuf {
    // A test lies in TARGET/debug/deps.
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let tools = std::env::var_os("A2A_DRIFT_TOOLS").map_or_else(|| target.join("check-tools/servers"), PathBuf::from);
    let path = tools.join("bin").join(name);
    assert!(path.exists(), "{} is missing: tests/tools/fetch/fetch fetches it", path.display());
    path
}

/// Runs a program that must succeed, and returns what it says.
pub(crate) fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{said}");
    said
}

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
