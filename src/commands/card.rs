//! `card`: fingerprints of agent cards, and what changed between two of them.
//!
//! In: card files, or captures in which cards were fetched. Out: hashes, or the differences in words. Whether a change is a
//! fault is the rules' business.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::analyze::gather;
use super::progress::Progress;
use super::{Outcome, configure, print};
use crate::cli::{Card as Args, Global};
use crate::config::{Config, Overrides};
use crate::measures::cards::{Card, Shown, changes, shown};
use crate::publish::clean;

/// Runs `card`.
pub(super) fn run(args: &Args, global: &Global) -> anyhow::Result<Outcome> {
    let config = configure(global, Overrides::default())?;
    match args {
        Args::Fingerprint { cards } => fingerprint(cards, &config),
        Args::Diff { before, after } => diff(before, after.as_deref(), &config),
    }
}

/// Cards in a file, in the order in which they were seen.
fn read(path: &Path, config: &Config) -> anyhow::Result<Vec<(String, Shown)>> {
    let progress = Progress::start(false);
    let (facts, _) = gather(&[path.to_owned()], config, &progress)?;
    let cards: Vec<(String, Shown)> = shown(&facts)
        .into_iter()
        .flat_map(|(agent, shown)| shown.into_iter().map(move |shown| (agent.clone(), shown)))
        .collect();
    if cards.is_empty() {
        bail!("{}: no agent card in it", path.display());
    }
    Ok(cards)
}

fn fingerprint(paths: &[PathBuf], config: &Config) -> anyhow::Result<Outcome> {
    let mut text = String::new();
    for path in paths {
        for (agent, Shown { card, .. }) in read(path, config)? {
            let agent = if agent.is_empty() { String::new() } else { format!("  {}", clean(&agent)) };
            writeln!(text, "{}{agent}  {} {}", path.display(), clean(&card.name), clean(&card.version))?;
            for (what, hash) in [
                ("fingerprint", &card.fingerprint),
                ("contract", &card.contract_sha256),
                ("security", &card.security_sha256),
                ("wording", &card.descriptive_sha256),
                ("body", &card.body_sha256),
            ] {
                writeln!(text, "  {what:<12} {hash}")?;
            }
        }
    }
    print(&text)?;
    Ok(Outcome::Clean)
}

fn diff(before: &Path, after: Option<&Path>, config: &Config) -> anyhow::Result<Outcome> {
    let mut text = String::new();
    let mut changed = false;
    if let Some(after) = after {
        let (old, new) = (read(before, config)?, read(after, config)?);
        let (old, new) = (comparable(before, &old, &new)?, comparable(after, &new, &old)?);
        changed = tell(&mut text, old, new)?;
    } else {
        let cards = read(before, config)?;
        // The same card seen again is one that did not change.
        let mut compared = cards.iter().any(|(_, shown)| shown.looks > 1);
        for pair in cards.windows(2) {
            let [(agent, old), (next, new)] = pair else { continue };
            if agent == next && old.extended == new.extended {
                compared = true;
                writeln!(text, "{} at {}", clean(agent), new.first_seen.to_rfc3339())?;
                changed |= tell(&mut text, &old.card, &new.card)?;
            }
        }
        if !compared {
            let looks = if cards.len() == 1 { "only one look at one card" } else { "only one look at each card" };
            bail!("{}: {looks}: nothing to compare", before.display());
        }
    }
    if !changed {
        text.push_str("nothing changed\n");
    }
    print(&text)?;
    Ok(if changed { Outcome::Found } else { Outcome::Clean })
}

/// The last card of a file; of several agents the one that is called as one of the other file's is.
fn comparable<'c>(path: &Path, cards: &'c [(String, Shown)], other: &[(String, Shown)]) -> anyhow::Result<&'c Card> {
    let agents: BTreeSet<&str> = cards.iter().map(|(agent, _)| agent.as_str()).collect();
    let names: BTreeSet<&str> = other.iter().map(|(_, shown)| shown.card.name.as_str()).collect();
    let of_name = |(_, shown): &&(String, Shown)| agents.len() == 1 || names.contains(shown.card.name.as_str());
    let fitting: BTreeSet<&str> = cards.iter().filter(of_name).map(|(agent, _)| agent.as_str()).collect();
    match cards.iter().rfind(of_name) {
        Some((_, shown)) if fitting.len() == 1 => Ok(&shown.card),
        _ => {
            let there: BTreeSet<&str> = cards.iter().map(|(_, shown)| shown.card.name.as_str()).collect();
            let list = |names: BTreeSet<&str>| clean(&names.into_iter().collect::<Vec<_>>().join(", ")).into_owned();
            bail!(
                "{}: it has cards of several agents ({}), and which of them to compare with {} cannot be told: name files \
                   with one card",
                path.display(),
                list(there),
                list(names)
            )
        }
    }
}

/// Writes what changed; whether anything did.
fn tell(text: &mut String, before: &Card, after: &Card) -> anyhow::Result<bool> {
    let changes = changes(before, after);
    for change in &changes {
        writeln!(text, "  {:<13} {}", change.part.as_str(), clean(&change.says))?;
    }
    Ok(!changes.is_empty())
}
