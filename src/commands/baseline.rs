//! `--baseline`: which findings a result of before shows already.
//!
//! In: a file of findings, as `analyze --format json` or `ndjson` prints them. Out: their ids. Holds no more of the file than
//! these, and reads no more than a result can be.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;

/// Longest baseline, in bytes: some hundred thousand findings. What is longer is no result, such as a device that never ends.
const MOST_BYTES: u64 = 512 << 20;

/// A result, or a finding of one.
#[derive(Deserialize)]
struct Shown {
    id: Option<String>,
    findings: Option<Vec<Found>>,
}

#[derive(Deserialize)]
struct Found {
    id: Option<String>,
}

/// Ids of the findings of a result of before; none without one.
pub(super) fn baseline(path: Option<&Path>) -> anyhow::Result<BTreeSet<String>> {
    let Some(path) = path else { return Ok(BTreeSet::new()) };
    let read = || ids(BufReader::new(File::open(path)?), MOST_BYTES);
    read().with_context(|| {
        format!("--baseline {}: expected a result of `a2a-drift analyze --format json` or `ndjson`", path.display())
    })
}

/// Ids in what a reader gives, of which `most` bytes are read at most.
fn ids(reader: impl Read, most: u64) -> anyhow::Result<BTreeSet<String>> {
    let mut limited = reader.take(most + 1);
    let mut ids = BTreeSet::new();
    let read = of_values(&mut limited, &mut ids);
    if limited.limit() == 0 {
        bail!("it is longer than {most} bytes");
    }
    read.map(|()| ids)
}

fn of_values(reader: impl Read, ids: &mut BTreeSet<String>) -> anyhow::Result<()> {
    for shown in serde_json::Deserializer::from_reader(reader).into_iter::<Shown>() {
        let Shown { id, findings } = shown?;
        let found = findings.unwrap_or_else(|| vec![Found { id }]);
        for found in found {
            ids.insert(found.id.context("it has findings without an id")?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> anyhow::Result<Vec<String>> {
        ids(text.as_bytes(), 100).map(|ids| ids.into_iter().collect())
    }

    #[test]
    fn a_result_and_its_lines_give_the_ids_of_their_findings() {
        assert_eq!(of(r#"{"findings": [{"id": "a", "rule": "r"}, {"id": "b"}], "rejects": []}"#).unwrap(), ["a", "b"]);
        assert_eq!(of("{\"id\": \"a\"}\n{\"id\": \"b\"}\n").unwrap(), ["a", "b"]);
        assert_eq!(of("").unwrap(), [] as [String; 0]);
        assert_eq!(of(r#"{"findings": []}"#).unwrap(), [] as [String; 0]);
    }

    #[test]
    fn what_is_no_result_is_refused() {
        for text in ["{\"rule\": \"r\"}", "{\"findings\": [{}]}", "[1]", "milk", "{\"id\": \"a\"} {", "\0\0"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_never_ends_is_read_to_a_limit() {
        let error = ids(std::io::repeat(b' '), 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 1048576 bytes");
        assert!(ids(std::io::repeat(0), u64::MAX - 1).is_err());
    }
}
