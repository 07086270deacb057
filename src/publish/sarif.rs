//! Findings as a SARIF 2.1.0 log, for code hosts and viewers that show results beside files.
//!
//! In: a report and the rules' titles. Out: JSON. A finding is one result, at the first place of its evidence that is a line of a
//! file; every other fact it rests on is a related location. <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::json::escaped;
use crate::findings::{Evidence, Finding, Report, Severity};
use crate::instant::Instant;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// Bytes of an url that stand for themselves; other bytes are escaped.
const KEPT: percent_encoding::AsciiSet =
    percent_encoding::NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

/// The log. `titles` tells the title of a rule by its id.
///
/// # Errors
/// When it cannot be written as JSON, which would be a defect here.
pub fn render(report: &Report, titles: &BTreeMap<String, String>) -> Result<String, serde_json::Error> {
    let ids: BTreeSet<&str> = report.coverage.iter().map(|rule| rule.rule.as_str()).collect();
    let ids: Vec<&str> = ids.into_iter().chain(unlisted(report)).collect();
    let rules: Vec<Value> = ids.iter().map(|id| rule(id, titles)).collect();
    let index = |id: &str| ids.iter().position(|known| *known == id);
    let results: Vec<Value> = report.findings.iter().map(|finding| result(finding, index(&finding.rule))).collect();
    let failures = report.failures.iter().map(|failure| {
        json!({"level": "error", "message": {"text": failure.message}, "associatedRule": {"id": failure.rule}})
    });
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "a2a-drift",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": report.unjudged().is_none(),
                "toolExecutionNotifications": failures.collect::<Vec<_>>(),
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log)?;
    text.push('\n');
    Ok(escaped(text))
}

/// Rules of findings that are not among those asked for: there should be none.
fn unlisted(report: &Report) -> impl Iterator<Item = &str> {
    let listed: BTreeSet<&str> = report.coverage.iter().map(|rule| rule.rule.as_str()).collect();
    let others: BTreeSet<&str> = report.findings.iter().map(|finding| finding.rule.as_str()).collect();
    others.into_iter().filter(move |rule| !listed.contains(rule))
}

fn rule(id: &str, titles: &BTreeMap<String, String>) -> Value {
    let title = titles.get(id).map_or(id, String::as_str);
    json!({"id": id, "name": pascal(id), "shortDescription": {"text": title}})
}

/// `split_brain` -> `SplitBrain`, as names of rules are written there.
fn pascal(id: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>()).unwrap_or_default()
    };
    id.split('_').map(word).collect()
}

fn result(finding: &Finding, rule_index: Option<usize>) -> Value {
    let mut places: Vec<&Evidence> = finding.evidence.iter().filter(|fact| !fact.source.is_empty()).collect();
    let main = places.iter().position(|fact| line(fact).is_some()).unwrap_or(0);
    let main = (!places.is_empty()).then(|| places.remove(main));
    let related = places.iter().enumerate().map(|(at, fact)| {
        let mut location = location(fact);
        location["id"] = (at + 1).into();
        location["message"] = json!({"text": format!("{}: {}", fact.role, fact.says)});
        location
    });
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": {"text": format!("{}. Suspect: {} ({}): {}. Next: {}.", finding.summary, finding.suspect,
            finding.confidence.as_str(), finding.because, finding.next_step)},
        "locations": main.map(location).into_iter().collect::<Vec<_>>(),
        "relatedLocations": related.collect::<Vec<_>>(),
        "partialFingerprints": {"finding/v1": finding.id},
        "properties": {
            "agent": finding.agent,
            "client": finding.client,
            "skillId": finding.skill_id,
            "taskId": finding.task_id,
            "url": finding.url,
            "suspect": finding.suspect,
            "confidence": finding.confidence.as_str(),
            "firstSeen": finding.first_seen.to_rfc3339(),
            "lastSeen": finding.last_seen.to_rfc3339(),
            "count": finding.count,
            "runbook": finding.runbook,
        },
    });
    if let Some(index) = rule_index {
        result["ruleIndex"] = index.into();
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// What stands before the line or byte of a place: the entry of a HAR, which a region cannot say; and line or byte.
fn parts(fact: &Evidence) -> (Option<&str>, &str) {
    fact.position.split_once(" at ").map_or((None, fact.position.as_str()), |(entry, begins)| (Some(entry), begins))
}

/// The line of a place that is one.
fn line(fact: &Evidence) -> Option<u64> {
    let (_, at) = parts(fact);
    at.strip_prefix("line ").unwrap_or(at).parse().ok().filter(|line| *line > 0)
}

fn location(fact: &Evidence) -> Value {
    let uri = percent_encoding::utf8_percent_encode(&fact.source, &KEPT).to_string();
    let (entry, at) = parts(fact);
    let region = match (line(fact), at.strip_prefix("byte ").and_then(|at| at.parse::<u64>().ok())) {
        (Some(line), _) => Some(json!({"startLine": line})),
        (None, Some(byte)) => Some(json!({"byteOffset": byte})),
        (None, None) => None,
    };
    let mut place = json!({"artifactLocation": {"uri": uri}});
    if let Some(region) = region {
        place["region"] = region;
    }
    let entry = entry.map(|entry| format!(", {entry}")).unwrap_or_default();
    let seen = format!("{} saw {} at {}{entry}", fact.observer, fact.says, Instant::to_rfc3339(fact.observed_at));
    json!({"physicalLocation": place, "message": {"text": seen}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::samples::bad_rollout;

    fn log() -> Value {
        let titles = BTreeMap::from([("unknown_skill".to_owned(), "A task failed".to_owned())]);
        serde_json::from_str(&render(&bad_rollout(), &titles).unwrap()).unwrap()
    }

    #[test]
    fn each_finding_is_a_result_at_a_line_of_its_evidence() {
        let log = log();
        let results = log["runs"][0]["results"].as_array().unwrap();
        assert_eq!(results.len(), bad_rollout().findings.len());
        let storm = results.iter().find(|result| result["ruleId"] == "unknown_skill").unwrap();
        assert_eq!(storm["level"], "error");
        let place = &storm["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64().unwrap() > 0, "{place}");
        let index = storm["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][index]["shortDescription"]["text"], "A task failed");
    }

    #[test]
    fn an_entry_of_a_har_is_a_region_that_viewers_know_and_a_number_that_people_find() {
        let place = |position: &str| {
            let mut fact = bad_rollout().findings.remove(0).evidence.remove(0);
            fact.position = position.to_owned();
            let location = location(&fact);
            let said = location["message"]["text"].as_str().unwrap().ends_with(", log.entries[12]");
            (location["physicalLocation"]["region"].clone(), said)
        };
        assert_eq!(place("log.entries[12] at line 340"), (json!({"startLine": 340}), true));
        assert_eq!(place("log.entries[12] at byte 4096"), (json!({"byteOffset": 4096}), true));
        assert_eq!(place("byte 4096"), (json!({"byteOffset": 4096}), false));
    }

    #[test]
    fn names_of_rules_are_in_pascal_case() {
        assert_eq!(pascal("skills_changed_same_version"), "SkillsChangedSameVersion");
    }
}
