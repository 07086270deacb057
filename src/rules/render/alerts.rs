//! Alerts for Prometheus: one a rule, and those on the service itself.
//!
//! In: the corpus, and where its runbooks can be read. Out: a rule file in YAML, in the PromQL of 2.42. Severity, agent and
//! suspect are those of the findings, by the labels of `a2a_drift_active_findings`: none is written here.

use super::super::corpus::{Corpus, Rule};
use super::{about, by_category, link};

const PREFACE: &str = "\
# Alerts on what a2a-drift finds, and on the service itself. Made by `a2a-drift rules alerts` of the headers in
# queries/rules/: edit those, not this file. Written for Prometheus 2.42 and later.
";

/// The alerts that no rule stands behind. `RUNBOOKS` in it is where the repository can be read.
const SERVICE: &str = include_str!("service.yaml");

/// The section of a runbook that says what a finding costs.
const WHY: &str = "Why it matters";

/// Labels of the metric by which findings are counted; what is left out, such as the scraped instance, is summed over.
const LABELS: &str = "rule, category, severity, suspect, agent";

/// The alerts as a file that Prometheus loads. `base` is the address under which the files of the repository are found; if
/// it is empty, `runbook_url` is a path within the repository.
pub fn alerts(corpus: &Corpus, base: &str) -> String {
    let base = match base.trim_end_matches('/') {
        "" => String::new(),
        base => format!("{base}/"),
    };
    let mut page = format!("{PREFACE}groups:\n  - name: a2a-drift-findings\n    rules:\n");
    for rule in by_category(corpus) {
        page.push_str(&alert(rule, &base));
    }
    page.push_str(&SERVICE.replace("RUNBOOKS/", &base));
    page
}

/// Name of the alert on a rule: `A2ADriftUnknownSkill` for `unknown_skill`.
pub fn alert_name(id: &str) -> String {
    let mut name = "A2ADrift".to_owned();
    for word in id.split('_') {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}

fn alert(rule: &Rule, base: &str) -> String {
    let Rule { id, header, .. } = rule;
    let name = alert_name(id);
    let mut text = format!(
        "      - alert: {name}\n        expr: sum by ({LABELS}) (a2a_drift_active_findings{{rule=\"{id}\"}}) > 0\n"
    );
    if let Some(wait) = header.alert.wait(header.severity) {
        text.push_str(&format!("        for: {wait}\n"));
    }
    if let Some(keep) = header.alert.keep() {
        text.push_str(&format!("        keep_firing_for: {keep}\n"));
    }
    text.push_str("        annotations:\n");
    let agent = "{{ with $labels.agent }}{{ . }}{{ else }}unknown agent{{ end }}";
    let summary = format!("{agent}: {}", literal(&header.title));
    text.push_str(&format!("          summary: {}\n", quoted(&summary)));
    text.push_str(&format!("          description: {}\n", quoted(&description(rule, agent))));
    text.push_str(&format!("          runbook_url: {}\n", quoted(&format!("{base}{}", link(id)))));
    text
}

fn description(rule: &Rule, agent: &str) -> String {
    let count = "{{ $value | printf \"%.0f\" }}";
    let suspect = "{{ with $labels.suspect }}; the fault looks like that of the {{ . }}{{ end }}";
    let why = rule.runbook.iter().find(|section| section.heading == WHY).map_or("", |section| &section.body);
    let why: Vec<&str> = why.split_whitespace().collect();
    let ends = match (about::ends(rule), rule.header.lasts) {
        (ends, true) => format!("Ends {ends}."),
        (ends, false) => format!("Ends {ends}, unless [serve] active says otherwise."),
    };
    [format!("Active on {agent}: {count}{suspect}."), literal(&why.join(" ")), ends].join(" ").replace("  ", " ")
}

/// Text that a template of Prometheus leaves as it is.
fn literal(text: &str) -> String {
    text.replace("{{", "{{ \"{{\" }}")
}

/// A scalar of YAML in single quotes, in which nothing but the quote has a meaning.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{corpus, rule};
    use super::*;

    #[test]
    fn text_of_a_header_is_neither_yaml_nor_a_template() {
        let title = ("title", r#""The caller's `{{id}}`: # lost""#);
        let (path, text) = rule("lost_id", &[title], "SELECT e.agent FROM task_events AS e");
        let page = alerts(&corpus(&[(path.as_str(), text)]).unwrap(), "https://docs.example/a2a/");
        let summary = r#": The caller''s `{{ "{{" }}id}}`: # lost'"#;
        assert!(page.lines().any(|line| line.starts_with("          summary: '") && line.ends_with(summary)), "{page}");
        assert!(page.contains("runbook_url: 'https://docs.example/a2a/queries/README.md#lost_id'\n"), "{page}");
        assert!(page.contains("runbook_url: 'https://docs.example/a2a/dashboards/README.md#a2adriftdown'\n"), "{page}");
    }

    #[test]
    fn no_two_rules_have_alerts_of_one_name() {
        let corpus = Corpus::embedded().unwrap();
        let names: std::collections::BTreeSet<String> = corpus.rules.iter().map(|rule| alert_name(&rule.id)).collect();
        assert_eq!(names.len(), corpus.rules.len());
        assert_eq!(alert_name("unknown_skill"), "A2ADriftUnknownSkill");
    }
}
