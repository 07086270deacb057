//! `card`: fingerprints of agent cards, and what changed between two of them.
//!
//! In: card files, or captures in which cards were fetched. Out: hashes, or the differences in words. Whether a change is a
//! fault is the rules' business.

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
        let last = |path: &Path| Ok::<_, anyhow::Error>(read(path, config)?.pop().map(|(_, shown)| shown.card));
        if let (Some(before), Some(after)) = (last(before)?, last(after)?) {
            changed = tell(&mut text, &before, &after)?;
        }
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

/// Writes what changed; whether anything did.
fn tell(text: &mut String, before: &Card, after: &Card) -> anyhow::Result<bool> {
    let changes = changes(before, after);
    for change in &changes {
        writeln!(text, "  {:<13} {}", change.part.as_str(), clean(&change.says))?;
    }
    Ok(!changes.is_empty())
}
