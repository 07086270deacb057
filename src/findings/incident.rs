//! Findings that belong together: one incident is what went wrong with one agent under one generation of its card.
//!
//! In: findings and the generations of the agents' cards. Out: incidents, worst first. Judges nothing: which findings
//! there are is the rules' business, and an incident only says which of them to read together.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{Evidence, Finding, Generation, Severity};
use crate::instant::Instant;

/// Findings of one agent under one generation of its card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// Agent; `''` for findings that name none.
    pub agent: String,
    /// Generation of the agent's card in which the findings begin, from its first such time to the end of its last; none
    /// when they begin before any look at a card.
    pub generation: Option<Generation>,
    /// The worst of the findings.
    pub severity: Severity,
    /// Earliest evidence of the findings.
    pub since: Instant,
    /// Latest evidence of the findings.
    pub last_seen: Instant,
    /// Tasks that the findings and their evidence name.
    pub tasks: BTreeSet<String>,
    /// Clients that the findings and their evidence name.
    pub clients: BTreeSet<String>,
    /// Places in the list of findings, worst first.
    pub findings: Vec<usize>,
}

impl Incident {
    /// An incident of one finding.
    fn of(place: usize, finding: &Finding, generation: Option<&Generation>) -> Self {
        Self {
            agent: finding.agent.clone(),
            generation: generation.cloned(),
            severity: finding.severity,
            since: finding.first_seen,
            last_seen: finding.last_seen,
            tasks: tasks_of(finding).map(str::to_owned).collect(),
            clients: clients_of(finding).map(str::to_owned).collect(),
            findings: vec![place],
        }
    }

    fn add(&mut self, place: usize, finding: &Finding, generation: Option<&Generation>) {
        if let (Some(mine), Some(other)) = (&mut self.generation, generation) {
            mine.valid_from = mine.valid_from.min(other.valid_from);
            mine.valid_to = mine.valid_to.zip(other.valid_to).map(|(mine, other)| mine.max(other));
        }
        self.severity = self.severity.max(finding.severity);
        self.since = self.since.min(finding.first_seen);
        self.last_seen = self.last_seen.max(finding.last_seen);
        self.tasks.extend(tasks_of(finding).map(str::to_owned));
        self.clients.extend(clients_of(finding).map(str::to_owned));
        self.findings.push(place);
    }
}

/// What tells incidents apart: the agent, and the version and contract of its card. A generation that comes back is the
/// same one.
type Key<'a> = (&'a str, Option<(&'a str, &'a str)>);

/// Tasks that a finding is about: those that it and its evidence name, with repetitions.
pub fn tasks_of(finding: &Finding) -> impl Iterator<Item = &str> {
    let own = finding.task_id.as_deref();
    own.into_iter().chain(concerned(finding).map(|fact| fact.task_id.as_str())).filter(|task| !task.is_empty())
}

/// Clients that a finding is about: those that it and its evidence name, with repetitions. Who receives a webhook is not asking
/// for anything.
pub fn clients_of(finding: &Finding) -> impl Iterator<Item = &str> {
    let own = finding.client.as_deref();
    let asking = concerned(finding).filter(|fact| fact.table != "push_deliveries");
    own.into_iter().chain(asking.map(|fact| fact.client.as_str())).filter(|client| !client.is_empty())
}

/// Evidence of the fault itself.
fn concerned(finding: &Finding) -> impl Iterator<Item = &Evidence> {
    finding.evidence.iter().filter(|fact| !fact.beside)
}

/// How many tasks findings are about: those that are named, or as many as one of them counted, of which it names the first.
pub fn tasks_touched<'a>(findings: impl Iterator<Item = &'a Finding> + Clone) -> usize {
    let named = findings.clone().flat_map(tasks_of).collect::<BTreeSet<_>>().len();
    let counted = findings.filter_map(|finding| usize::try_from(finding.details.get("tasks")?.as_u64()?).ok()).max();
    named.max(counted.unwrap_or_default())
}

/// Groups findings into incidents, worst first, then oldest first. The same findings in any order give the same
/// incidents, but for the places by which they refer to the findings.
pub fn group(findings: &[Finding], generations: &[Generation]) -> Vec<Incident> {
    let mut places: Vec<usize> = (0..findings.len()).collect();
    places.sort_by_key(|&place| reading_order(&findings[place]));

    let mut incidents: BTreeMap<Key<'_>, Incident> = BTreeMap::new();
    for place in places {
        let finding = &findings[place];
        let generation = generation_at(generations, &finding.agent, finding.observed_at);
        let key = generation.map(|g| (g.version.as_str(), g.contract_sha256.as_str()));
        incidents
            .entry((finding.agent.as_str(), key))
            .and_modify(|incident| incident.add(place, finding, generation))
            .or_insert_with(|| Incident::of(place, finding, generation));
    }

    let mut incidents: Vec<Incident> = incidents.into_values().collect();
    // Stable: incidents that are equally bad and equally old stay in the order of agent and generation.
    incidents.sort_by_key(|incident| (Reverse(incident.severity), incident.since));
    incidents
}

/// Order in which findings of one incident are read: worst first, findings of one rule together, oldest event first.
pub fn reading_order(finding: &Finding) -> (Reverse<Severity>, &str, Instant, &str) {
    (Reverse(finding.severity), &finding.rule, finding.observed_at, &finding.id)
}

/// The generation of an agent's card that was valid at an instant: of several, the one that began last.
fn generation_at<'a>(generations: &'a [Generation], agent: &str, at: Instant) -> Option<&'a Generation> {
    generations
        .iter()
        .filter(|g| g.agent == agent && g.valid_from <= at && g.valid_to.is_none_or(|end| at < end))
        .max_by_key(|g| (g.valid_from, &g.version, &g.contract_sha256))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::samples::{evidence, finding, generation};

    #[test]
    fn tasks_are_those_of_the_fault_and_not_those_that_show_how_it_was_before() {
        let mut storm = finding("unauthorized_storm", "agent", "", Severity::Critical, at(1));
        storm.task_id = None;
        storm.evidence = ["t1", "t2", "t1"].map(|task| evidence("refused", "POST 401", at(1), task)).to_vec();
        storm.evidence.push(Evidence { beside: true, ..evidence("accepted", "POST 200", at(0), "t0") });
        assert_eq!(tasks_of(&storm).collect::<BTreeSet<_>>(), BTreeSet::from(["t1", "t2"]));
        assert_eq!(tasks_touched([&storm].into_iter()), 2);
        storm.details.insert("tasks".into(), 7.into());
        assert_eq!(tasks_touched([&storm].into_iter()), 7);
    }

    fn at(seconds: i64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    #[test]
    fn findings_are_grouped_by_agent_and_by_the_generation_in_which_they_begin() {
        let generations = [
            generation("a", "1.0", at(10), Some(at(20))),
            generation("a", "1.1", at(20), None),
            generation("b", "7", at(0), None),
        ];
        let findings = [
            finding("orphaned", "a", "t1", Severity::Warning, at(15)),
            finding("split_brain", "a", "t2", Severity::Critical, at(20)),
            finding("orphaned", "b", "t3", Severity::Warning, at(15)),
            finding("orphaned", "a", "t4", Severity::Warning, at(19)),
        ];
        let incidents = group(&findings, &generations);
        let seen: Vec<_> = incidents
            .iter()
            .map(|i| (i.agent.as_str(), i.generation.as_ref().map(|g| g.version.as_str()), i.findings.clone()))
            .collect();
        assert_eq!(seen, [("a", Some("1.1"), vec![1]), ("a", Some("1.0"), vec![0, 3]), ("b", Some("7"), vec![2])]);
    }

    #[test]
    fn an_incident_has_the_worst_severity_the_earliest_evidence_and_each_task_and_client_once() {
        let mut client_named = finding("stale_card_retry", "a", "t1", Severity::Warning, at(9));
        client_named.client = Some("orchestrator".into());
        let findings = [
            finding("orphaned", "a", "t1", Severity::Info, at(12)),
            client_named,
            finding("x", "a", "t2", Severity::Critical, at(30)),
        ];
        let [incident] = group(&findings, &[]).try_into().unwrap();
        assert_eq!((incident.severity, incident.since, incident.last_seen), (Severity::Critical, at(9), at(31)));
        assert_eq!(incident.tasks, BTreeSet::from(["t1".to_owned(), "t2".to_owned()]));
        assert_eq!(incident.clients, BTreeSet::from(["orchestrator".to_owned(), "watcher".to_owned()]));
        assert_eq!(incident.findings, [2, 1, 0]);
    }

    #[test]
    fn a_generation_that_comes_back_is_the_same_incident() {
        let generations = [
            generation("a", "1.0", at(0), Some(at(10))),
            generation("a", "1.1", at(10), Some(at(20))),
            generation("a", "1.0", at(20), None),
        ];
        let findings = [
            finding("orphaned", "a", "t1", Severity::Warning, at(25)),
            finding("orphaned", "a", "t2", Severity::Warning, at(5)),
        ];
        let [incident] = group(&findings, &generations).try_into().unwrap();
        assert_eq!((incident.since, incident.findings), (at(5), vec![1, 0]));
        let whole = incident.generation.map(|g| (g.valid_from, g.valid_to));
        assert_eq!(whole, Some((at(0), None)));
    }

    #[test]
    fn a_finding_older_than_any_look_at_a_card_has_no_generation() {
        let findings = [finding("orphaned", "a", "t1", Severity::Warning, at(5))];
        assert_eq!(group(&findings, &[generation("a", "1", at(6), None)])[0].generation, None);
    }

    #[test]
    fn the_order_of_findings_and_generations_does_not_matter() {
        let generations = [generation("a", "1", at(0), None), generation("a", "2", at(0), None)];
        let findings: Vec<_> = (0..6)
            .map(|n| finding("r", if n % 2 == 0 { "a" } else { "b" }, &format!("t{n}"), Severity::Warning, at(n)))
            .collect();
        let mut reversed_findings = findings.clone();
        reversed_findings.reverse();
        let mut reversed_generations = generations.clone();
        reversed_generations.reverse();

        let by_id = |incidents: Vec<Incident>, findings: &[Finding]| -> Vec<(Incident, Vec<String>)> {
            incidents
                .into_iter()
                .map(|mut i| {
                    (i.clone(), std::mem::take(&mut i.findings).into_iter().map(|p| findings[p].id.clone()).collect())
                })
                .map(|(mut i, ids)| {
                    i.findings.clear();
                    (i, ids)
                })
                .collect()
        };
        assert_eq!(
            by_id(group(&findings, &generations), &findings),
            by_id(group(&reversed_findings, &reversed_generations), &reversed_findings)
        );
    }
}
