//! Evaluation: from rows to findings.

use super::super::{AsOf, Limits, Param, Params, coverage, select};
use super::*;
use crate::findings::{Confidence, Finding, RuleCoverage, Severity};

fn files(list: &[(String, String)]) -> Vec<(&str, String)> {
    list.iter().map(|(path, text)| (path.as_str(), text.clone())).collect()
}

fn split_brain_corpus() -> Corpus {
    corpus(&[split_brain(), task_verdicts(), terminal_events()]).unwrap()
}

/// One finding a task event of a state, so that rows can be made at will.
const EACH: &str = "SELECT e.agent, e.task_id, e.observed_at, 'likely' AS confidence, e.fact_id FROM task_events AS e";

#[test]
fn a_rule_over_a_stored_view_over_an_inline_view_finds_the_task_on_which_both_sides_differ() {
    let facts = facts();
    let evaluation = evaluate(split_brain_corpus(), &Overrides::new(), &facts);
    assert_eq!(evaluation.failures, []);
    let [finding] = &evaluation.findings[..] else { panic!("{:?}", evaluation.findings) };
    assert_eq!((finding.rule.as_str(), finding.category.as_str()), ("split_brain", "lifecycle"));
    assert_eq!((finding.severity, finding.confidence), (Severity::Critical, Confidence::Confirmed));
    assert_eq!(finding.summary, "t3 on a: client says failed, server says completed");
    assert_eq!(finding.because, "the server said completed");
    assert_eq!(finding.next_step, "Ask a for t3 again.");
    assert_eq!(finding.suspect, "remote-runtime");
    assert_eq!((finding.agent.as_str(), finding.task_id.as_deref(), &finding.client), ("a", Some("t3"), &None));
    assert_eq!((finding.observed_at, finding.due_at, finding.until_at), (at(5), at(7), None));
    assert_eq!((finding.first_seen, finding.last_seen, finding.count), (finding.observed_at, finding.observed_at, 1));
    assert_eq!(finding.runbook, "queries/README.md#split_brain");
    assert_eq!(finding.id.len(), 32);
    let details: Vec<_> =
        finding.details.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
    assert_eq!(details, [("client_state", "failed"), ("server_state", "completed")]);
    let evidence: Vec<_> =
        finding.evidence.iter().map(|e| (e.role.as_str(), e.says.as_str(), e.table.as_str())).collect();
    assert_eq!(evidence, [("client", "failed (local)", "task_events"), ("server", "completed (reply)", "task_events")]);
    assert_eq!(
        (finding.evidence[1].source.as_str(), finding.evidence[1].position.as_str()),
        ("capture.ndjson", "line 5")
    );
    assert_eq!(finding.evidence[1].fact_id, facts.task_events[5].common.fact_id);
    let [verdicts] = &evaluation.views[..] else { panic!() };
    assert_eq!((verdicts.name.as_str(), verdicts.batch.num_rows()), ("task_verdicts", 3));
}

#[test]
fn an_id_depends_on_rule_and_entity_alone() {
    let ids = |facts: &Facts| -> Vec<String> {
        evaluate(split_brain_corpus(), &Overrides::new(), facts).findings.into_iter().map(|f| f.id).collect()
    };
    let mut later = Facts::default();
    later.push_task_event(event(30, "client", "a", "t3", "completed"));
    later.push_task_event(event(50, "server", "a", "t3", "failed"));
    assert_eq!(ids(&facts()), ids(&later));
}

#[test]
fn params_of_rules_and_views_are_overridden_each_on_its_own() {
    let text = |text: &str| Param::Text(text.to_owned());
    let overrides = Overrides::from([
        ("split_brain".to_owned(), Params::from([("grace".to_owned(), text("1 minute"))])),
        ("terminal_events".to_owned(), Params::from([("second".to_owned(), text("canceled"))])),
    ]);
    let mut facts = facts();
    facts.push_task_event(event(10, "client", "a", "t4", "canceled"));
    facts.push_task_event(event(10, "server", "a", "t4", "completed"));
    let evaluation = evaluate(split_brain_corpus(), &overrides, &facts);
    let found: Vec<_> = evaluation.findings.iter().map(|f| (f.task_id.as_deref(), f.due_at)).collect();
    assert_eq!(found, [(Some("t4"), at(70))]);
}

#[test]
fn overrides_that_fit_nothing_are_refused_with_the_names_that_would() {
    let refused = |query: &str, param: &str, value: Param| {
        let overrides = Overrides::from([(query.to_owned(), Params::from([(param.to_owned(), value)]))]);
        Engine::new(split_brain_corpus(), &overrides).unwrap_err().to_string()
    };
    assert_eq!(
        refused("split_brian", "grace", Param::Int(1)),
        "no rule or view `split_brian` (did you mean `split_brain`?); there are `split_brain`, `task_verdicts`, `terminal_events`"
    );
    assert_eq!(
        refused("split_brain", "grase", Param::Int(1)),
        "`split_brain` has no param `grase` (did you mean `grace`?); it has `grace`"
    );
    assert_eq!(
        refused("split_brain", "grace", Param::Int(1)),
        "param `grace` of `split_brain` is a span of time such as \"30 seconds\", which `1` is not"
    );
}

#[test]
fn params_have_their_type_wherever_they_stand() {
    let sql = "SELECT e.agent, e.task_id, e.observed_at, e.observed_at AS due_at, e.fact_id, \
        CASE WHEN e.task_id = 't3' THEN $sure ELSE 'likely' END AS confidence, \
        CASE WHEN $shift THEN e.observed_at + CAST($grace AS INTERVAL) ELSE e.observed_at - CAST($grace AS INTERVAL) END AS until_at, \
        $half * 3 AS size, $below AS below, array_slice(array_agg(e.fact_id) OVER (PARTITION BY e.agent, e.task_id), 1, $most) AS all_fact_ids \
        FROM task_events AS e WHERE e.observer = $who";
    let params = r#"{ sure = "confirmed", shift = true, grace = "90 seconds", half = 0.5, below = -3, most = 1, who = "client" }"#;
    let files_ = [rule("typed", &[("params", params)], sql)];
    let evaluation = evaluate(corpus(&files(&files_)).unwrap(), &Overrides::new(), &facts());
    assert_eq!(evaluation.failures, []);
    let finding = evaluation.findings.iter().find(|f| f.task_id.as_deref() == Some("t3")).unwrap();
    assert_eq!((finding.confidence, finding.until_at), (Confidence::Confirmed, Some(at(93))));
    assert_eq!(finding.details["size"], 1.5);
    assert_eq!(finding.details["below"], -3);
}

#[test]
fn a_failing_rule_or_view_stops_only_what_reads_it() {
    let broken_view =
        "-- title = \"Broken\"\n-- by = [\"agent\"]\n--\nSELECT e.agent, e.no_such_column FROM task_events AS e\n";
    let list = [
        rule("fine", &[], EACH),
        rule("broken", &[], "SELECT\n    e.agent,\n    e.nothing\nFROM task_events AS e"),
        rule("divides", &[], &format!("{EACH} WHERE CAST(e.task_id AS BIGINT) = 1")),
        rule("reader", &[], "SELECT b.agent FROM broken_view AS b"),
        ("views/broken_view.sql".to_owned(), broken_view.to_owned()),
    ];
    let evaluation = evaluate(corpus(&files(&list)).unwrap(), &Overrides::new(), &facts());
    assert!(evaluation.findings.iter().all(|f| f.rule == "fine"));
    assert_eq!(evaluation.findings.len(), 3);
    let failed: Vec<_> = evaluation.failures.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(failed, ["fine", "broken", "broken_view", "divides", "reader"], "fine: two rows share an entity");
    let message = |rule: &str| &evaluation.failures.iter().find(|f| f.rule == rule).unwrap().message;
    assert_eq!(message("reader"), "`broken_view`, which it reads, failed");
    assert!(message("broken").starts_with(&format!("line {}: ", RULE_SQL_LINE + 2)), "{}", message("broken"));
}

#[test]
fn a_query_that_takes_too_long_is_stopped() {
    let sql = "SELECT e.agent, e.task_id, e.observed_at, 'likely' AS confidence, e.fact_id FROM task_events AS e \
        WHERE EXISTS (SELECT 1 FROM (SELECT count(*) AS n FROM task_events AS a CROSS JOIN task_events AS b \
        CROSS JOIN task_events AS c CROSS JOIN task_events AS d \
        WHERE concat(a.fact_id, b.fact_id, c.fact_id, d.fact_id) <> '') AS x WHERE x.n = 0)";
    let list = [rule("fine", &[], EACH), rule("slow", &[], sql)];
    let mut facts = Facts::default();
    for second in 0..300 {
        facts.push_task_event(event(second, "client", "a", &format!("t{second}"), "working"));
    }
    let limits = Limits { time: std::time::Duration::from_secs(1), ..Limits::default() };
    let engine = Engine::new(corpus(&files(&list)).unwrap(), &Overrides::new()).unwrap().with_limits(limits);
    let evaluation = run(&engine, &facts);
    assert_eq!(evaluation.findings.len(), 300);
    let failures: Vec<_> = evaluation.failures.iter().map(|f| (f.rule.as_str(), f.message.as_str())).collect();
    assert_eq!(failures, [("slow", format!("line {RULE_SQL_LINE}: stopped after 1 s").as_str())]);
}

#[test]
fn a_rule_reads_another_rule_and_only_the_wanted_ones_are_reported() {
    let reader =
        "SELECT s.agent, s.task_id, s.observed_at, 'likely' AS confidence, s.client_fact_id FROM split_brain AS s";
    let mut list = vec![rule("reader", &[], reader), rule("broken", &[], "SELECT e.nothing FROM task_events AS e")];
    list.extend([split_brain(), task_verdicts(), terminal_events()].map(|(path, text)| (path.to_owned(), text)));
    let engine = Engine::new(corpus(&files(&list)).unwrap(), &Overrides::new()).unwrap().only(&["reader"]).unwrap();
    let evaluation = run(&engine, &facts());
    assert_eq!(evaluation.failures, []);
    assert_eq!(evaluation.findings.iter().map(|f| f.rule.as_str()).collect::<Vec<_>>(), ["reader"]);
    assert!(engine.only(&["nothing"]).is_err());
}

#[test]
fn a_row_is_cut_down_to_its_header_and_what_it_did_wrong_is_told() {
    let sql = "SELECT e.agent, e.task_id, e.fact_id, \
        CASE WHEN e.state = 'null' THEN CAST(NULL AS TIMESTAMP) ELSE e.observed_at END AS observed_at, \
        CASE e.state WHEN 'hint' THEN 'possible' WHEN 'word' THEN 'surely' ELSE 'confirmed' END AS confidence, \
        CASE e.state WHEN 'high' THEN 'critical' WHEN 'low' THEN 'info' WHEN 'odd' THEN 'bad' END AS severity, \
        CASE e.state WHEN 'low' THEN 'gateway' WHEN 'odd' THEN 'nobody' END AS suspect, \
        CASE e.state WHEN 'low' THEN 'the row says so' END AS because, \
        CASE e.state WHEN 'low' THEN 7 END AS count \
        FROM task_events AS e";
    let mut facts = Facts::default();
    for (task, state) in ["high", "hint", "low", "null", "odd", "word"].into_iter().enumerate() {
        facts.push_task_event(event(1, "client", "a", &format!("t{task}"), state));
    }
    let evaluation = evaluate(corpus(&files(&[rule("odd", &[], sql)])).unwrap(), &Overrides::new(), &facts);
    let mut found: Vec<_> = evaluation
        .findings
        .iter()
        .map(|f| (f.task_id.as_deref().unwrap(), f.severity, f.suspect.as_str(), f.because.as_str(), f.count))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            ("t0", Severity::Warning, "client", "it is", 1),
            ("t1", Severity::Info, "client", "it is", 1),
            ("t2", Severity::Info, "gateway", "the row says so", 7),
            ("t4", Severity::Warning, "client", "it is", 1),
        ]
    );
    assert_eq!(
        evaluation.failures.iter().map(|f| f.message.as_str()).collect::<Vec<_>>(),
        [
            "a row that is only `possible` cannot be above `info`, which was taken",
            "a row with confidence `surely` was dropped; it is `possible`, `likely` or `confirmed`",
            "a row without `observed_at` was dropped",
            "severity `bad` is none; the header's was taken",
            "severity `critical` is above the header's `warning`, which was taken",
            "suspect `nobody` is none; the header's was taken",
        ]
    );
}

#[test]
fn of_rows_with_one_entity_the_worst_is_kept_and_told() {
    let sql = "SELECT e.agent, e.task_id, e.fact_id, e.observed_at, e.state AS severity, 'likely' AS confidence \
        FROM task_events AS e";
    let mut facts = Facts::default();
    for (second, state) in [(1, "info"), (3, "warning"), (2, "warning"), (0, "info")] {
        facts.push_task_event(event(second, "client", "a", "t1", state));
    }
    let evaluation = evaluate(corpus(&files(&[rule("twice", &[], sql)])).unwrap(), &Overrides::new(), &facts);
    let found: Vec<_> = evaluation.findings.iter().map(|f| (f.severity, f.observed_at)).collect();
    assert_eq!(found, [(Severity::Warning, at(2))]);
    assert_eq!(evaluation.failures[0].message, "rows share an entity; the worst was kept (3 rows)");
}

#[test]
fn evidence_comes_from_lists_too_and_an_id_of_no_fact_is_told() {
    let sql = "SELECT e.agent, e.task_id, max(e.observed_at) AS observed_at, 'likely' AS confidence, \
        array_agg(e.fact_id ORDER BY e.fact_id) AS seen_fact_ids, 'nothing' AS lost_fact_id, CAST(NULL AS VARCHAR) AS no_fact_id \
        FROM task_events AS e GROUP BY e.agent, e.task_id";
    let evaluation = evaluate(corpus(&files(&[rule("lists", &[], sql)])).unwrap(), &Overrides::new(), &facts());
    assert!(evaluation.findings.iter().all(|f| f.evidence.len() == 2 && f.evidence.iter().all(|e| e.role == "seen")));
    assert_eq!(evaluation.failures[0].message, "`lost_fact_id` names a fact that is in no table (3 rows)");
}

#[test]
fn a_finding_fires_from_due_at_until_until_at_by_the_last_fact_of_its_agent() {
    let finding = |agent: &str, due: i64, until: Option<i64>| -> Finding {
        let mut found = evaluate(split_brain_corpus(), &Overrides::new(), &facts()).findings.remove(0);
        found.agent = agent.to_owned();
        (found.due_at, found.until_at) = (at(due), until.map(at));
        found
    };
    let fires = |finding: &Finding, as_of: &AsOf| !select(vec![finding.clone()], as_of).is_empty();
    let one = finding("a", 10, Some(20));
    for (second, expected) in [(9, false), (10, true), (19, true), (20, false)] {
        assert_eq!(fires(&one, &AsOf::Fixed(at(second))), expected, "{second}");
    }
    let mut facts = Facts::default();
    facts.push_task_event(event(15, "server", "a", "t", "working"));
    facts.push_task_event(event(12, "client", "a", "t", "working"));
    facts.push_task_event(event(40, "client", "b", "t", "working"));
    facts.push_task_event(event(5, "client", "", "t", "working"));
    let last = AsOf::last_fact(&batches(&facts));
    assert!(fires(&one, &last));
    assert!(fires(&finding("a", 15, None), &last) && !fires(&finding("a", 16, None), &last));
    assert!(fires(&finding("", 40, None), &last) && fires(&finding("unseen", 40, None), &last));
}

#[test]
fn a_rule_is_blind_by_each_need_that_no_fact_fills() {
    let needs = r#"["task_events.state@client", "task_events.state@gateway", "task_events.context_id",
-- "task_events.state[origin=local]", "task_events.state[origin=poll]", "task_events.state[origin=local,state=failed]@client",
-- "task_events.state[origin=local]@server", "cards.version"]"#;
    let corpus = corpus(&files(&[rule("needy", &[("needs", needs)], EACH)])).unwrap();
    let missing = [
        "task_events.state@gateway",
        "task_events.context_id",
        "task_events.state[origin=poll]",
        "task_events.state[origin=local]@server",
        "cards.version",
    ];
    let expected = RuleCoverage { rule: "needy".to_owned(), missing: missing.map(str::to_owned).to_vec() };
    assert_eq!(coverage(&corpus, &batches(&facts())), [expected]);
}

#[test]
fn generations_are_read_from_their_view() {
    let view = "-- title = \"Generations\"\n-- by = [\"agent\"]\n--\nSELECT c.agent, c.version, c.contract_sha256, \
        c.observed_at AS valid_from, lead(c.observed_at) OVER (PARTITION BY c.agent ORDER BY c.observed_at, c.fact_id) AS valid_to \
        FROM cards AS c\n";
    let view = ("views/card_generations.sql", view.to_owned());
    let corpus = corpus(&[split_brain(), task_verdicts(), terminal_events(), view]).unwrap();
    let mut facts = Facts::default();
    for (second, version) in [(1, "1.0.0"), (9, "1.1.0")] {
        let mut card = crate::tables::CardRow::default();
        card.common.agent = "a".to_owned();
        card.common.observed_at = at(second);
        card.own.version = version.to_owned();
        facts.push_card(card);
    }
    let found: Vec<_> = evaluate(corpus, &Overrides::new(), &facts)
        .generations
        .into_iter()
        .map(|g| (g.agent, g.version, g.valid_from, g.valid_to))
        .collect();
    let generation = |version: &str, from, to| ("a".to_owned(), version.to_owned(), from, to);
    assert_eq!(found, [generation("1.0.0", at(1), Some(at(9))), generation("1.1.0", at(9), None)]);
}

#[test]
fn no_facts_give_no_findings_and_no_failures() {
    let evaluation = evaluate(split_brain_corpus(), &Overrides::new(), &Facts::default());
    assert!(evaluation.findings.is_empty() && evaluation.failures.is_empty());
}
