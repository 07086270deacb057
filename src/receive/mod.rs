//! What to look at: files, folders, globs, standard input.
//!
//! In: what the user named. Out: byte streams with names. Knows nothing of A2A.
// PLACEHOLDER until the stage is merged.

use std::io::Read;
use std::sync::Arc;

/// Why an input cannot be had.
#[derive(Debug, thiserror::Error)]
#[error("{path}: no such file or folder")]
pub struct ReceiveError {
    path: String,
}

/// One stream of bytes with a name.
#[derive(Debug)]
pub struct Input {
    /// Path as named.
    pub name: Arc<str>,
}

impl Input {
    /// Opens the stream.
    pub fn open(&self) -> Result<Box<dyn Read>, ReceiveError> {
        self.open_limited(0)
    }

    /// Opens the stream.
    pub fn open_limited(&self, _max_inflated_bytes: u64) -> Result<Box<dyn Read>, ReceiveError> {
        if &*self.name == "-" {
            return Ok(Box::new(std::io::stdin()));
        }
        let file = std::fs::File::open(&*self.name);
        Ok(Box::new(file.map_err(|_| ReceiveError { path: self.name.to_string() })?))
    }
}

/// Finds the inputs that paths name.
pub fn inputs(paths: &[String]) -> Result<Vec<Input>, ReceiveError> {
    paths
        .iter()
        .map(|path| {
            if path != "-" && !std::path::Path::new(path).exists() {
                return Err(ReceiveError { path: path.clone() });
            }
            Ok(Input { name: path.as_str().into() })
        })
        .collect()
}
