//! From where on a stream has to be read again when more of it has come.
//!
//! In: the pieces that were read, and whether lines of them wait for others. Out: a line over whose beginning nothing reaches
//! that is joined of lines. Reads nothing itself.

/// What is not complete at the end.
pub(super) struct Open {
    /// First line whose things are waited for.
    waits_from: u64,
    /// Where the piece began behind which something was always waited for.
    since: Option<u64>,
    /// Where a document begins that has not ended.
    document: Option<u64>,
}

impl Default for Open {
    fn default() -> Self {
        Self::from(u64::MAX)
    }
}

impl Open {
    /// Waits for what begins in this line or later.
    pub(super) fn from(waits_from: u64) -> Self {
        Self { waits_from, since: None, document: None }
    }

    /// Takes note of the piece that began in a line, and of whether something is waited for behind it. Things of several
    /// streams overlap: as long as there is always one, none of their lines is a beginning for all.
    pub(super) fn passed(&mut self, line: u64, is_any_waited_for: bool) {
        self.since = if is_any_waited_for { self.since.or(Some(line)) } else { None };
    }

    /// Whether a document that begins in a line and has not ended is waited for; takes note of it.
    pub(super) fn waits_for(&mut self, line: u64) -> bool {
        let waits = line >= self.waits_from;
        if waits {
            self.document = Some(line);
        }
        waits
    }

    /// Where to read from.
    pub(super) fn line(&self) -> Option<u64> {
        [self.since, self.document].into_iter().flatten().min()
    }
}
