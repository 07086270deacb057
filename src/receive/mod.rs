//! What to look at: files, folders, globs, standard input.
//!
//! In: what the user named. Out: byte streams with names. Knows nothing of A2A.
