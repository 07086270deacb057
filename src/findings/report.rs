//! Everything that one run has to say: findings, incidents, what could not be seen and what could not be read.
//!
//! In: what `commands` gathered from the stages. Out: what `publish` renders. Reads no table and no clock.

use std::collections::{BTreeMap, BTreeSet};

use super::incident::{self, Incident, clients_of, tasks_of};
use super::{AcceptedCount, Finding, Generation, RuleCoverage, Severity};
use crate::instant::Instant;

/// The result of one run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// What was found, worst first.
    pub findings: Vec<Finding>,
    /// The findings grouped by agent and card generation, worst first.
    pub incidents: Vec<Incident>,
    /// One entry for each rule that was asked for, in order of rule id.
    pub coverage: Vec<RuleCoverage>,
    /// How missing fields come to be filled, by the need that names them.
    pub advice: BTreeMap<String, String>,
    /// Rules that could not be evaluated; their silence says nothing.
    pub failures: Vec<RuleFailure>,
    /// What was read.
    pub intake: Intake,
    /// Findings that were left out because somebody accepted them.
    pub accepted: AcceptedCount,
    /// The instant as of which findings are shown; none for each agent's last fact.
    pub as_of: Option<Instant>,
    /// Begin of the window in which findings must have been seen to be shown, if there is one.
    pub since: Option<Instant>,
    /// End of that window.
    pub until: Option<Instant>,
    /// Findings that were not seen in the window, and are left out.
    pub outside: usize,
    /// Whether there is a window, and nothing was observed in it.
    pub window_is_empty: bool,
    /// Rules that must see for the run to have a verdict.
    pub needed: BTreeSet<String>,
}

/// A rule or view that failed, in whole or in some rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFailure {
    /// Rule id, or the name of a view.
    pub rule: String,
    /// What went wrong.
    pub message: String,
}

/// What the log of a `serve` is called among formats.
pub const KEPT_LOG: &str = "log of serve";

/// What was read, and what of it was not understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intake {
    /// The inputs, in the order in which they were read.
    pub sources: Vec<SourceIntake>,
    /// What was not understood, by reason, the most frequent first.
    pub rejects: Vec<RejectCount>,
    /// Facts made of the records, each counted once.
    pub facts: u64,
    /// There are calls or tasks, and no fact names a client.
    pub names_no_client: bool,
    /// Times were given that are none, and no fact has its time.
    pub is_untimed: bool,
    /// Inputs that could not be opened, each with why.
    pub unread: Vec<String>,
    /// Folders of `serve` among what was asked for in which nothing is stored yet.
    pub unfilled: Vec<String>,
}

/// What one input held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceIntake {
    /// Path as the user named it, or `-`.
    pub name: String,
    /// Formats recognised in it, in order of appearance.
    pub formats: Vec<&'static str>,
    /// Ids of the emitters that were told in it.
    pub emitters: Vec<String>,
    /// Names of attributes in it that tell of settings of these emitters.
    pub shown: Vec<String>,
    /// Records decoded, and facts that were kept.
    pub records: u64,
    /// Facts among them: `serve` or an export kept these, and no record was decoded for them.
    pub kept: u64,
    /// Lines of logs among them.
    pub logs: u64,
    /// Pieces that were not understood.
    pub rejects: u64,
}

impl SourceIntake {
    /// Whether there was nothing in it to be understood or not.
    pub fn is_empty(&self) -> bool {
        self.formats.is_empty() && self.records == 0 && self.rejects == 0
    }
}

/// How often something was not understood for one reason, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectCount {
    /// The reason's kebab-case word.
    pub reason: &'static str,
    /// How often.
    pub count: u64,
    /// Source of the first.
    pub source: String,
    /// Line, `byte N`, or entry of a HAR, of the first.
    pub position: String,
    /// What was wrong with the first, without any content of the input.
    pub detail: String,
}

impl Intake {
    /// Ids of the emitters that were told in any input, in order.
    pub fn emitters(&self) -> Vec<String> {
        let emitters: BTreeSet<&String> = self.sources.iter().flat_map(|source| &source.emitters).collect();
        emitters.into_iter().cloned().collect()
    }

    /// Names of attributes in any input that tell of settings of their emitters, in order.
    pub fn shown(&self) -> Vec<String> {
        let shown: BTreeSet<&String> = self.sources.iter().flat_map(|source| &source.shown).collect();
        shown.into_iter().cloned().collect()
    }

    /// Records decoded from all inputs, and facts that were kept.
    pub fn records(&self) -> u64 {
        self.sources.iter().map(|source| source.records).sum()
    }

    /// Facts among them that were kept.
    pub fn kept(&self) -> u64 {
        self.sources.iter().map(|source| source.kept).sum()
    }

    /// Whether all that was asked for is folders of `serve` to which nothing has come that is a fact by now.
    pub fn is_waiting(&self) -> bool {
        let is_bare = |source: &SourceIntake| source.records == 0 && source.rejects == 0;
        let is_log = |source: &SourceIntake| source.formats.contains(&KEPT_LOG);
        let is_of_serve = !self.unfilled.is_empty() || self.sources.iter().any(is_log);
        is_of_serve && self.sources.iter().all(|source| is_bare(source) && (source.is_empty() || is_log(source)))
    }

    /// Pieces not understood, for any reason.
    pub fn rejected(&self) -> u64 {
        self.rejects.iter().map(|reject| reject.count).sum()
    }
}

impl Report {
    /// Puts findings in reading order and groups them.
    pub fn new(mut findings: Vec<Finding>, generations: &[Generation]) -> Self {
        findings.sort_by(|a, b| incident::reading_order(a).cmp(&incident::reading_order(b)));
        let incidents = incident::group(&findings, generations);
        Self { findings, incidents, ..Self::default() }
    }

    /// Number of findings of one severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// The worst severity among the findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Agents that findings name.
    pub fn agents(&self) -> BTreeSet<&str> {
        self.findings.iter().map(|finding| finding.agent.as_str()).filter(|agent| !agent.is_empty()).collect()
    }

    /// Tasks that findings and their evidence name.
    pub fn tasks(&self) -> BTreeSet<&str> {
        self.findings.iter().flat_map(tasks_of).collect()
    }

    /// Clients that findings and their evidence name.
    pub fn clients(&self) -> BTreeSet<&str> {
        self.findings.iter().flat_map(clients_of).collect()
    }

    /// Rules that could not have fired on this input.
    pub fn blind(&self) -> impl Iterator<Item = &RuleCoverage> {
        self.coverage.iter().filter(|rule| !rule.missing.is_empty())
    }

    /// Rules that could have fired.
    pub fn judging(&self) -> impl Iterator<Item = &RuleCoverage> {
        self.coverage.iter().filter(|rule| rule.missing.is_empty())
    }

    /// Rules that must see, and do not.
    pub fn needed_blind(&self) -> impl Iterator<Item = &RuleCoverage> {
        self.blind().filter(|rule| self.needed.contains(&rule.rule))
    }

    /// Takes the rules that yielded a row for seeing: they did see, whatever their needs say.
    pub fn sees<'a>(coverage: &mut [RuleCoverage], fired: impl IntoIterator<Item = &'a str>) {
        let fired: BTreeSet<&str> = fired.into_iter().collect();
        coverage.iter_mut().filter(|rule| fired.contains(rule.rule.as_str())).for_each(|rule| rule.missing.clear());
    }

    /// What the run comes to.
    pub fn verdict(&self) -> Verdict {
        match (self.unjudged(), self.worst()) {
            (Some(Unjudged::NoFacts | Unjudged::NoTimes | Unjudged::EmptyWindow | Unjudged::AllBlind), _) => {
                Verdict::Unjudged
            }
            (Some(Unjudged::RulesFailed | Unjudged::NeededBlind | Unjudged::Unread), _) => Verdict::Incomplete,
            (None, Some(Severity::Critical | Severity::Warning)) => Verdict::Drift,
            (None, Some(Severity::Info) | None) => Verdict::Clean,
        }
    }

    /// Why there is no verdict, if there is none.
    pub fn unjudged(&self) -> Option<Unjudged> {
        if self.window_is_empty {
            Some(Unjudged::EmptyWindow)
        } else if self.intake.facts == 0 {
            Some(Unjudged::NoFacts)
        } else if self.intake.is_untimed && self.findings.is_empty() {
            Some(Unjudged::NoTimes)
        } else if self.coverage.iter().all(|rule| !rule.missing.is_empty()) {
            Some(Unjudged::AllBlind)
        } else if !self.failures.is_empty() {
            Some(Unjudged::RulesFailed)
        } else if self.needed_blind().next().is_some() {
            Some(Unjudged::NeededBlind)
        } else if !self.intake.unread.is_empty() && self.worst() <= Some(Severity::Info) {
            // What was found stands; that nothing was, does not.
            Some(Unjudged::Unread)
        } else {
            None
        }
    }
}

/// What a run comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing above information was found.
    Clean,
    /// Something was.
    Drift,
    /// Rules failed, or rules that must see do not: what was found stands, and there may be more.
    Incomplete,
    /// Nothing could be judged.
    Unjudged,
}

/// Why a run has no verdict. Silence then is not health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjudged {
    /// Nothing of A2A was understood.
    NoFacts,
    /// No record says when it was.
    NoTimes,
    /// Nothing was observed in the window that was asked for.
    EmptyWindow,
    /// Every rule that was asked for lacks an input, or there is none.
    AllBlind,
    /// Rules failed to run.
    RulesFailed,
    /// Rules that must see are blind.
    NeededBlind,
    /// Inputs could not be opened.
    Unread,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(missing: &[&[&str]]) -> Vec<RuleCoverage> {
        let missing_of = |m: &&[&str]| m.iter().map(|s| (*s).to_owned()).collect();
        missing.iter().map(|m| RuleCoverage { rule: "r".into(), missing: missing_of(m) }).collect()
    }

    fn report(facts: u64, missing: &[&[&str]], failures: usize) -> Report {
        Report {
            coverage: coverage(missing),
            failures: vec![RuleFailure { rule: "r".into(), message: "m".into() }; failures],
            intake: Intake { facts, ..Intake::default() },
            ..Report::default()
        }
    }

    #[test]
    fn a_run_without_facts_or_with_only_blind_rules_or_with_failed_rules_has_no_verdict() {
        assert_eq!(report(0, &[&[]], 0).unjudged(), Some(Unjudged::NoFacts));
        assert_eq!(report(9, &[&["cards.etag"], &["x"]], 0).unjudged(), Some(Unjudged::AllBlind));
        assert_eq!(report(9, &[], 0).unjudged(), Some(Unjudged::AllBlind));
        assert_eq!(report(9, &[&[], &["x"]], 1).unjudged(), Some(Unjudged::RulesFailed));
        assert_eq!(report(9, &[&[], &["x"]], 0).unjudged(), None);
    }

    #[test]
    fn a_run_in_which_a_needed_rule_is_blind_is_incomplete() {
        let of = |needed: &str| Report {
            coverage: [("sees", vec![]), ("blind", vec!["x".to_owned()])]
                .map(|(rule, missing)| RuleCoverage { rule: rule.to_owned(), missing })
                .to_vec(),
            needed: [needed.to_owned()].into(),
            ..report(9, &[], 0)
        };
        assert_eq!((of("sees").unjudged(), of("sees").verdict()), (None, Verdict::Clean));
        assert_eq!((of("blind").unjudged(), of("blind").verdict()), (Some(Unjudged::NeededBlind), Verdict::Incomplete));
    }

    #[test]
    fn a_rule_that_yielded_a_row_was_not_blind() {
        let mut coverage = coverage(&[&["x"]]);
        Report::sees(&mut coverage, ["other"]);
        assert_eq!(coverage[0].missing, ["x"]);
        Report::sees(&mut coverage, ["r"]);
        assert!(coverage[0].missing.is_empty());
    }

    #[test]
    fn a_window_in_which_nothing_was_observed_gives_no_verdict() {
        let report = Report { window_is_empty: true, ..report(9, &[&[]], 0) };
        assert_eq!((report.unjudged(), report.verdict()), (Some(Unjudged::EmptyWindow), Verdict::Unjudged));
    }
}
