//! Fleets of forty agents: the one of record 000 yields exactly its three drifting agents, the healthy one nothing.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, reason = "a test")]

mod support;

use std::collections::BTreeSet;

use a2a_drift::findings::{Finding, Severity};
use a2a_drift::normalize::fingerprint::skill_fingerprint;
use support::expect::describe;
use support::fleet::{healthy, record000};
use support::judge::{Files, judge};

fn findings(capture: Vec<u8>) -> Vec<Finding> {
    let verdict = judge(&Files::from([("fleet.exchanges.ndjson".to_owned(), capture)]), None).unwrap();
    assert!(verdict.rejects.is_empty(), "{:?}", verdict.rejects);
    verdict.findings
}

fn loud(findings: &[Finding]) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.severity >= Severity::Warning).collect()
}

#[test]
fn the_fleet_of_record_000_yields_exactly_its_three_drifting_agents() {
    let findings = findings(record000::capture());
    let agents: BTreeSet<&str> = loud(&findings).iter().map(|finding| finding.agent.as_str()).collect();
    assert_eq!(agents, BTreeSet::from(record000::DRIFTING), "{}", told(&loud(&findings)));
    let of = |agent: &str, rule: &str| {
        loud(&findings).iter().filter(|finding| finding.agent == agent && finding.rule == rule).count()
    };
    // Variant A: three tries on the stale card, each a task that failed inside its lifecycle; then the look that shows why.
    for agent in ["peer-03.fleet.example", "peer-17.fleet.example"] {
        assert_eq!((of(agent, "unknown_skill"), of(agent, "skills_changed_same_version")), (3, 1), "{agent}");
    }
    // Variant B: one task between the redeploy and the next look was delivered in a type that the card held does not name.
    let agent = "peer-29.fleet.example";
    assert_eq!((of(agent, "mode_mismatch"), of(agent, "skills_changed_same_version")), (1, 1), "{agent}");
}

/// The values are what the program in record 000 prints for these cards (Python, `skill_fingerprint(card)`).
#[test]
fn fingerprints_of_the_fleet_are_those_of_the_records_program() {
    let fingerprint = |host: &str, redeployed: bool| skill_fingerprint(&record000::card(host, redeployed));
    let first = "c4e6613c265f679cca3b85ce5a7503df77a33d45ef079d6694462f660f79717b";
    let [a_in_01, a_in_10, b] = record000::DRIFTING;
    for host in record000::DRIFTING {
        assert_eq!(fingerprint(host, false), first, "{host}");
    }
    for host in [a_in_01, a_in_10] {
        let replaced = "ef5d0fb4d2777f45aae0eeb5422362c1b97218cff256762184173c9ac08d7530";
        assert_eq!(fingerprint(host, true), replaced, "{host}");
    }
    assert_eq!(fingerprint(b, true), "0277d78942f508b21e2f1a30f087bbc5bbb46f9a1b79043bc7ae53a6d76cc418");
}

#[test]
fn a_healthy_fleet_of_more_than_forty_agents_yields_nothing_at_warning_or_above() {
    let findings = findings(healthy::capture(None));
    assert!(loud(&findings).is_empty(), "{}", told(&loud(&findings)));
}

#[test]
fn every_oddity_alone_yields_nothing_at_warning_or_above() {
    for oddity in healthy::oddities() {
        let findings = findings(healthy::capture(Some(oddity)));
        assert!(loud(&findings).is_empty(), "{oddity}:\n{}", told(&loud(&findings)));
    }
}

fn told(findings: &[&Finding]) -> String {
    findings.iter().map(|finding| describe(finding)).collect::<Vec<_>>().join("\n")
}
