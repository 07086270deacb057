//! What is wrong with a query file, and where.
//!
//! In: findings of the loader and of the checks. Out: lines `path:line:column: message`. Never stops anything itself.

use std::fmt;
use std::path::{Path, PathBuf};

/// One thing wrong with a query file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

impl Problem {
    /// A problem at a place of a file.
    pub(super) fn at(path: &Path, (line, column): (usize, usize), message: impl Into<String>) -> Self {
        // One problem, one line: engines say more on lines of their own.
        let message =
            message.into().lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        Self { path: path.to_owned(), line, column, message }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path.display(), self.line, self.column, self.message)
    }
}

/// `a`, `b`, `c`: names for a message.
pub(super) fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    names.into_iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// How alike (0 to 1) a name must be to one that does not exist to be offered.
const ALIKE: f64 = 0.85;

/// ` (did you mean `a`?)`: the name that is most like one that does not exist, if it is like it at all.
pub(super) fn near<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let alike = names.map(|other| (strsim::jaro_winkler(name, other), other));
    let best = alike.max_by(|(a, _), (b, _)| a.total_cmp(b)).filter(|(alike, _)| *alike >= ALIKE);
    best.map(|(_, best)| format!(" (did you mean `{best}`?)")).unwrap_or_default()
}
