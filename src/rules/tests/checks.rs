//! Checks: what SQL a query may have, what a rule must yield, and what can be evaluated key by key.

use super::super::check;
use super::*;

/// Problems of a corpus, from loading if it does not load.
fn checked(files: &[(String, String)]) -> Vec<String> {
    let files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let problems = match corpus(&files) {
        Ok(corpus) => check(&corpus),
        Err(CorpusError::Invalid { problems, .. }) => problems,
        Err(other) => panic!("{other}"),
    };
    problems.iter().map(|p| short(&p.path, &p.to_string())).collect()
}

/// Problems of a rule by agent and task with this SQL, without `r.sql:` and with lines counted from the SQL.
fn of_sql(sql: &str) -> Vec<String> {
    of(&[], sql)
}

fn of(header: &[(&str, &str)], sql: &str) -> Vec<String> {
    let added = header.iter().filter(|(key, _)| matches!(*key, "params" | "marks" | "beside")).count();
    checked(&[rule("r", header, sql)])
        .into_iter()
        .map(|problem| {
            let rest = problem.strip_prefix("r.sql:").unwrap();
            let (line, rest) = rest.split_once(':').unwrap();
            let line = line.parse::<usize>().unwrap();
            match line.checked_sub(RULE_SQL_LINE + added - 1).filter(|line| *line > 0) {
                Some(line) => format!("{line}:{rest}"),
                None => format!("header {line}:{rest}"),
            }
        })
        .collect()
}

const NOTHING: [String; 0] = [];

/// Columns of a finding of one event.
const COLUMNS: &str = "e.agent, e.task_id, e.observed_at, 'likely' AS confidence, e.fact_id";

/// Each of these queries has exactly one problem, at this place and with these words.
fn refuses(queries: &[(String, &str)]) {
    let wrong = queries.iter().map(|(sql, expected)| (sql, expected, of_sql(sql)));
    let wrong: Vec<_> =
        wrong.filter(|(_, expected, found)| found.len() != 1 || !found[0].starts_with(**expected)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_example_of_the_style_guide_is_right() {
    let files = [split_brain(), task_verdicts(), terminal_events()].map(|(path, text)| (path.to_owned(), text));
    assert_eq!(checked(&files), NOTHING);
}

/// Queries by agent and task that use what the subset has.
fn accepted() -> Vec<String> {
    vec![
        format!("SELECT {COLUMNS} FROM task_events AS e WHERE e.state LIKE 'comp%' AND e.context_id ~ '^a'"),
        // EXISTS, NOT EXISTS and IN in WHERE.
        format!(
            "SELECT {COLUMNS} FROM task_events AS e \
             WHERE EXISTS (SELECT 1 FROM exchanges AS x WHERE x.agent = e.agent AND x.task_id = e.task_id) \
             AND NOT EXISTS (SELECT 1 FROM push_deliveries AS p WHERE p.agent = e.agent AND p.task_id = e.task_id)"
        ),
        // Aggregates with FILTER and HAVING, lists in the order of facts or of themselves.
        "SELECT e.agent, e.task_id, max(e.observed_at) AS observed_at, 'likely' AS confidence, \
         count(*) FILTER (WHERE e.state = 'failed') AS count, string_agg(DISTINCT e.state, ' ' ORDER BY e.state) AS states, \
         array_slice(array_agg(e.fact_id ORDER BY e.observed_at DESC NULLS LAST, e.fact_id), 1, 5) AS seen_fact_ids \
         FROM task_events AS e GROUP BY e.agent, e.task_id HAVING count(DISTINCT e.state) > 1"
            .to_owned(),
        // Windows with ROWS, and RANGE over an interval, whose bound is a literal.
        "WITH x AS (SELECT e.agent, e.task_id, e.observed_at, e.fact_id, \
         row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS n, \
         max(e.status_at) OVER (PARTITION BY e.agent, e.task_id, e.observer ORDER BY e.observed_at, e.fact_id \
         ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS effective_at, \
         count(*) OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at \
         RANGE BETWEEN INTERVAL '10 minutes' PRECEDING AND CURRENT ROW) AS recent FROM task_events AS e) \
         SELECT x.agent, x.task_id, x.observed_at, 'likely' AS confidence, x.fact_id FROM x WHERE x.n = 1 AND x.recent > 2"
            .to_owned(),
        // A union of keyed branches, and a list unnested in SELECT.
        "SELECT u.agent, u.task_id, u.observed_at, 'likely' AS confidence, u.fact_id FROM ( \
         SELECT e.agent, e.task_id, e.observed_at, e.fact_id, CAST(NULL AS VARCHAR) AS item FROM task_events AS e UNION ALL \
         SELECT x.agent, x.task_id, x.observed_at, x.fact_id, unnest(x.reference_task_ids) AS item FROM exchanges AS x) AS u"
            .to_owned(),
        // A key made of what a row holds: all its values are given at once.
        "SELECT c.agent, c.name AS task_id, c.observed_at, 'likely' AS confidence, c.fact_id FROM cards AS c".to_owned(),
        // A left join on a span of time with an input that has one key only, and one without any, read whole.
        format!(
            "SELECT {COLUMNS} FROM task_events AS e LEFT JOIN cards AS c ON c.agent = e.agent AND c.observed_at <= e.observed_at \
             WHERE c.version IS DISTINCT FROM '1'"
        ),
    ]
}

#[test]
fn what_the_subset_has_is_accepted() {
    for sql in accepted() {
        assert_eq!(of_sql(&sql), NOTHING, "{sql}");
    }
    // What a card body says is of no agent, though it has the columns that every table has.
    let skills =
        format!("SELECT {COLUMNS} FROM task_events AS e INNER JOIN card_skills AS s ON s.skill_id = e.skill_id");
    let by_skill = |input: &str| format!("{{ {input} = {{ on = [\"skill_id\"] }} }}");
    let marks = by_skill("card_skills");
    assert_eq!(checked(&[rule("r", &[("marks", &marks)], &skills)]), NOTHING);
    let skills = "SELECT e.agent, e.task_id, e.observed_at, 'likely' AS confidence, e.fact_id FROM task_events AS e \
        INNER JOIN skills AS s ON s.skill_id = e.skill_id";
    let view = "-- title = \"Skills\"\n-- by = [\"skill_id\"]\n--\nSELECT s.skill_id, count(*) AS bodies FROM card_skills AS s GROUP BY s.skill_id\n";
    let marks = by_skill("skills");
    let files = [rule("r", &[("marks", &marks)], skills), ("views/skills.sql".to_owned(), view.to_owned())];
    assert_eq!(checked(&files), NOTHING);
}

#[test]
fn what_a_card_body_says_needs_no_mark_where_it_is_met_by_the_body_alone() {
    let looks =
        "SELECT c.agent, s.skill_id AS task_id, c.observed_at, 'likely' AS confidence, c.fact_id FROM cards AS c";
    let by_agent = [("by", "[\"agent\"]")];
    let of = |sql: &str| checked(&[rule("r", &by_agent, sql)]);
    for met in [
        "INNER JOIN card_skills AS s ON c.body_sha256 = s.body_sha256",
        "LEFT JOIN card_skills AS s ON c.body_sha256 = s.body_sha256 AND s.skill_id = c.name",
        "INNER JOIN (SELECT s.body_sha256, max(s.skill_id) AS skill_id FROM card_skills AS s INNER JOIN card_endpoints AS p \
         ON s.body_sha256 = p.body_sha256 GROUP BY s.body_sha256) AS s ON s.body_sha256 = c.body_sha256",
        "INNER JOIN card_skills AS s ON c.body_sha256 = s.body_sha256 WHERE NOT EXISTS (SELECT 1 FROM card_skills AS o \
         WHERE o.body_sha256 = c.etag AND o.skill_id = s.skill_id)",
    ] {
        assert_eq!(of(&format!("{looks} {met}")), NOTHING, "{met}");
    }
    for met in [
        "INNER JOIN card_skills AS s ON c.name = s.skill_id",
        "INNER JOIN card_skills AS s ON c.body_sha256 = s.body_sha256 WHERE NOT EXISTS (SELECT 1 FROM card_skills AS o \
         WHERE o.body_sha256 <> c.etag AND o.skill_id = s.skill_id)",
        "INNER JOIN (SELECT s.skill_id, count(*) AS bodies FROM card_skills AS s GROUP BY s.skill_id) AS s ON s.skill_id = c.name",
    ] {
        let found = of(&format!("{looks} {met}"));
        assert!(found.len() == 1 && found[0].contains("`card_skills` has no column of `by`"), "{met}\n{found:?}");
    }
}

#[test]
fn constructs_outside_the_subset_are_refused_with_their_line() {
    let from = |rest: &str| format!("SELECT\n    {COLUMNS}\nFROM task_events AS e\n{rest}");
    let with = |column: &str| format!("SELECT\n    {COLUMNS},\n    {column} AS x\nFROM task_events AS e");
    let over = "OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id)";
    refuses(&[
        (with(&format!("lag(e.state) IGNORE NULLS {over}")), "3:5: IGNORE NULLS"),
        (with(&format!("count(*) FILTER (WHERE e.is_final) {over}")), "3:5: FILTER with OVER"),
        (
            from("WHERE e.task_id NOT IN (SELECT x.task_id FROM exchanges AS x WHERE x.agent = e.agent)"),
            "4:7: NOT IN (subquery)",
        ),
        (
            from("WHERE NOT (e.task_id IN (SELECT x.task_id FROM exchanges AS x WHERE x.agent = e.agent))"),
            "4:12: NOT IN (subquery)",
        ),
        (
            from(
                "WHERE CASE WHEN EXISTS (SELECT 1 FROM exchanges AS x WHERE x.agent = e.agent AND x.task_id = e.task_id) THEN e.is_final END",
            ),
            "4:",
        ),
        (from("FULL JOIN exchanges AS x ON x.agent = e.agent AND x.task_id = e.task_id"), "4:11: FULL JOIN"),
        (from("LIMIT 3"), "1:"),
        (from("WHERE e.is_final IS DISTINCT FROM e.snapshot AND e.is_final"), "4:7: IS DISTINCT FROM takes all"),
        (from("WHERE e.observed_at > e.status_at + INTERVAL '10 minutes'"), "4:46: an interval as a literal"),
        (from("WHERE e.observed_at > e.status_at + CAST('10 minutes' AS INTERVAL)"), "4:42: an interval as a literal"),
        (
            with("row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at DESC, e.fact_id)"),
            "3:65: DESC",
        ),
        (
            with("row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at)"),
            "3:5: ORDER BY must end in `fact_id`",
        ),
        (with("row_number() OVER (PARTITION BY e.agent, e.task_id)"), "3:5: `row_number` over no order"),
        (from("WHERE e.state LIKE 'a!%' ESCAPE '!'"), "4:7: LIKE"),
        (from("WHERE e.state LIKE e.state_raw"), "4:7: LIKE"),
        (from("WHERE e.state LIKE 'a\\%'"), "4:7: LIKE"),
        (from("WHERE regexp_like(e.state, 'a')"), "4:7: `regexp_like`"),
        (from("WHERE e.observed_at < now()"), "4:23: `now`"),
        (from("WHERE e.observed_at < current_timestamp"), "4:23: `current_timestamp`"),
        (from("WHERE CAST(e.observed_at AS DATE) < current_date"), "4:37: `current_date`"),
        (with("CAST(e.ordinal AS DOUBLE) / 3 + e.ordinal / e.generation"), "3:37: `/` of two integers"),
        (with("e.observed_at - e.status_at"), "3:5: timestamp minus timestamp"),
        (with("CAST(e.ordinal / 2.0 AS BIGINT)"), "3:10: a fraction cast to an integer"),
        (with("NULL"), "1:1: column `x` has no type"),
        (format!("SELECT\n    {COLUMNS},\n    *\nFROM exchanges AS e"), "3:5: SELECT *: name the columns"),
        (format!("SELECT\n    {COLUMNS},\n    e.*\nFROM exchanges AS e"), "3:5: SELECT *: name the columns"),
        (with("(SELECT max(c.observed_at) FROM cards AS c WHERE c.agent = e.agent)"), "3:6: EXISTS, IN or a scalar subquery"),
        (from("ASOF JOIN cards AS c MATCH_CONDITION (c.observed_at <= e.observed_at) ON c.agent = e.agent"), "4:11: ASOF"),
        (from(", LATERAL (SELECT c.version FROM cards AS c WHERE c.agent = e.agent) AS l"), "4:"),
        (from("CROSS JOIN unnest(ARRAY['a']) AS u (x)"), "4:"),
        (from("QUALIFY row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.fact_id) = 1"), "1:1: QUALIFY"),
        (from("WHERE e.observed_at > e.status_at + CAST(concat(e.ordinal, ' s') AS INTERVAL) * 3"), "4:42: INTERVAL * n"),
        (with("arg_max(e.state, e.observed_at)"), "3:5: `arg_max`"),
        (with("first_value(e.state ORDER BY e.fact_id)"), "3:5: `first_value` as an aggregate"),
        (with("to_unixtime(e.observed_at)"), "3:5: `to_unixtime`"),
        (with("approx_distinct(e.state)"), "3:5: `approx_distinct`"),
        (with("uuid()"), "3:5: `uuid`"),
        (with("random()"), "3:5: `random`"),
        (with("named_struct('a', e.state)"), "3:5: `named_struct`"),
        (format!("WITH RECURSIVE x AS (SELECT 1 AS n)\n{}", from("")), "1:1: WITH RECURSIVE"),
        (format!("WITH x AS MATERIALIZED (SELECT 1 AS n)\n{}", from("")), "1:11: `MATERIALIZED` does not fit here, where ( is expected"),
        (
            "SELECT e.agent, e.task_id, max(e.observed_at) AS observed_at, 'likely' AS confidence,\n    \
             array_agg(e.fact_id) AS fact_ids\nFROM task_events AS e GROUP BY e.agent, e.task_id"
                .to_owned(),
            "2:5: `array_agg` without ORDER BY",
        ),
        (
            "SELECT e.agent, e.task_id, max(e.observed_at) AS observed_at, 'likely' AS confidence, min(e.fact_id) AS fact_id,\n    \
             string_agg(e.state, ' ' ORDER BY e.observed_at) AS states\nFROM task_events AS e GROUP BY e.agent, e.task_id"
                .to_owned(),
            "2:5: ORDER BY must end in `fact_id`",
        ),
        (
            "SELECT u.agent, u.task_id, u.observed_at, 'likely' AS confidence, u.fact_id FROM (\n    \
             SELECT e.agent, e.task_id, e.observed_at, e.fact_id, e.state FROM task_events AS e UNION ALL\n    \
             SELECT x.agent, x.task_id, x.observed_at, x.fact_id, NULL AS state FROM exchanges AS x) AS u"
                .to_owned(),
            "3:58: a bare NULL in UNION",
        ),
    ]);
}

#[test]
fn params_are_declared_used_and_intervals_are_cast() {
    let sql =
        |end: &str| format!("SELECT\n    {COLUMNS}\nFROM task_events AS e\nWHERE e.observed_at > e.status_at + {end}");
    let params = [("params", r#"{ grace = "2 seconds" }"#)];
    assert_eq!(of(&params, &sql("CAST($grace AS INTERVAL)")), NOTHING);
    assert_eq!(of(&params, &sql("INTERVAL $grace")), ["4:46: `INTERVAL $grace`: write `CAST($grace AS INTERVAL)`"]);
    assert_eq!(
        of(&params, &sql("$grace")),
        ["4:37: a span of time has no type by itself: write `CAST($grace AS INTERVAL)`"]
    );
    let found = of(&params, &sql("CAST($grade AS INTERVAL)"));
    let begins = ["1:1: the query uses no `$grace`: write", "4:42: no param `$grade` (did you mean `grace`?)"];
    assert!(found.len() == 2 && found.iter().zip(begins).all(|(found, begin)| found.starts_with(begin)), "{found:?}");
}

#[test]
fn headers_are_held_to_the_tables_and_to_what_the_query_yields() {
    let sql = format!("SELECT {COLUMNS} FROM task_events AS e");
    for (header, expected) in [
        (("entity", r#"["agent"]"#), "header 6:4: `entity` contains `by`, but lacks `task_id`"),
        (
            ("entity", r#"["agent", "task_id", "skill_id"]"#),
            "header 6:4: `entity` names `skill_id`, which the query does not yield",
        ),
        (
            ("summary", r#""{nothing}""#),
            "header 8:4: `summary` names `nothing`, which the query does not yield; it yields `agent`",
        ),
        (("because", r#""{nothing}""#), "header 10:4: `because` names `nothing`"),
        (("next", r#""""#), "header 11:4: `next` is empty"),
        (
            ("needs", r#"["task_event.state"]"#),
            "header 7:4: no table `task_event` of facts (did you mean `task_events`?); there are `artifact_parts`",
        ),
        (
            ("needs", r#"["task_events.status"]"#),
            "header 7:4: `task_events` has no column `status` (did you mean `status_at`?); it has `fact_id`",
        ),
        (("needs", r#"["task_events.state[from=poll]"]"#), "header 7:4: `task_events` has no column `from`"),
        (("needs", "[]"), "header 7:4: `needs` is empty"),
        (
            ("marks", r#"{ cards = { on = ["agent"] } }"#),
            "header 12:4: `marks` names `cards`, which the query does not read",
        ),
        (
            ("marks", r#"{ task_events = { on = ["agent"], during = ["observed_at", "no"] } }"#),
            "header 12:4: `marks` names `no`, which `task_events` does not have",
        ),
    ] {
        let found = of(&[header], &sql);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{header:?}: {found:#?}");
    }
}

#[test]
fn a_rule_yields_time_confidence_and_evidence_of_the_right_types() {
    let columns = |columns: &str| of_sql(&format!("SELECT e.agent, e.task_id, {columns} FROM task_events AS e"));
    assert!(columns("'likely' AS confidence, e.fact_id")[0].contains("the query does not yield `observed_at`"));
    assert!(columns("e.observed_at, e.fact_id")[0].contains("the query does not yield `confidence`"));
    assert!(columns("e.observed_at, 'likely' AS confidence")[0].contains("the query yields no evidence"));
    let wrong = columns(
        "e.state AS observed_at, 1 AS confidence, e.ordinal AS fact_id, e.state AS seen_fact_ids, 'x' AS count",
    );
    let words: Vec<_> = wrong.iter().map(|w| w.split(", but").next().unwrap()).collect();
    assert_eq!(
        words,
        [
            "1:1: `confidence` must be text",
            "1:1: `count` must be a whole number",
            "1:1: `fact_id` must be text",
            "1:1: `observed_at` must be a timestamp",
            "1:1: `seen_fact_ids` must be a list of text",
        ]
    );
}

#[test]
fn only_a_rule_that_lasts_says_when_it_is_over() {
    let sql = "SELECT e.agent, e.task_id, e.observed_at, e.status_at AS over_at, 'likely' AS confidence, e.fact_id \
        FROM task_events AS e";
    assert!(of_sql(sql)[0].contains("`over_at`, which ends findings of a rule with `lasts = true` only"));
    assert_eq!(of(&[("lasts", "true")], sql), NOTHING);
    assert!(
        of(&[("lasts", "true")], &sql.replace("e.status_at", "e.state"))[0].contains("`over_at` must be a timestamp")
    );
}

/// Problems of a rule that may read `bodies`, a view that knows no agents.
fn of_two(sql: &str) -> Vec<String> {
    let view = "-- title = \"Bodies\"\n-- by = [\"body_sha256\"]\n--\nSELECT c.body_sha256, c.name, max(c.observed_at) AS observed_at, \
        max(c.fact_id) AS fact_id FROM cards AS c GROUP BY c.body_sha256, c.name\n";
    let found = checked(&[rule("r", &[], sql), ("views/bodies.sql".to_owned(), view.to_owned())]);
    found.iter().map(|problem| problem.replace(&format!("r.sql:{RULE_SQL_LINE}"), "1")).collect()
}

#[test]
fn shapes_that_mix_keys_are_refused() {
    let finding = |from: &str| format!("SELECT {COLUMNS} FROM {from}");
    for (sql, expected) in [
        // An aggregate over other keys.
        (
            "SELECT e.agent, min(e.task_id) AS task_id, min(e.observed_at) AS observed_at, 'likely' AS confidence, \
             min(e.fact_id) AS fact_id FROM task_events AS e GROUP BY e.agent"
                .to_owned(),
            "1:1: GROUP BY without `task_id`",
        ),
        // A window over other keys.
        (
            finding(
                "(SELECT e.agent, e.task_id, e.observed_at, e.fact_id, row_number() OVER (PARTITION BY e.agent \
                 ORDER BY e.observed_at, e.fact_id) AS n FROM task_events AS e) AS e WHERE e.n = 1",
            ),
            "1:1: PARTITION BY without `task_id`",
        ),
        // A join that does not equate a key of both sides.
        (
            finding("task_events AS e INNER JOIN exchanges AS x ON x.task_id = e.task_id"),
            "1:1: a join of rows of two `agent`s that does not equate it",
        ),
        // An anti join that keeps rows without the key.
        (
            "SELECT c.agent, c.name AS task_id, c.observed_at, 'likely' AS confidence, c.fact_id FROM cards AS c \
             WHERE NOT EXISTS (SELECT 1 FROM task_events AS e WHERE e.agent = c.agent)"
                .to_owned(),
            "1:1: a left join, EXISTS or NOT EXISTS keeps rows without `task_id`",
        ),
        // A union of which one branch has no key.
        (
            "SELECT u.agent, u.task_id, u.observed_at, 'likely' AS confidence, u.fact_id FROM ( \
             SELECT e.agent, e.task_id, e.observed_at, e.fact_id FROM task_events AS e UNION ALL \
             SELECT c.agent, c.name AS task_id, c.observed_at, c.fact_id FROM cards AS c) AS u"
                .to_owned(),
            "1:1: UNION: not every branch has `task_id`",
        ),
        // An output whose key is another column.
        (
            "SELECT e.agent, e.context_id AS task_id, e.observed_at, 'likely' AS confidence, e.fact_id FROM task_events AS e"
                .to_owned(),
            "1:1: the output has no column `task_id` that is the `task_id` of its inputs",
        ),
        // A subquery that sees all keys at once.
        (
            finding("task_events AS e WHERE e.observed_at = (SELECT max(x.observed_at) FROM exchanges AS x)"),
            "1:1: a subquery that does not equate `agent`",
        ),
        // A left join that keeps rows without the key.
        (
            "SELECT c.agent, e.task_id, c.observed_at, 'likely' AS confidence, c.fact_id FROM cards AS c \
             LEFT JOIN task_events AS e ON e.agent = c.agent"
                .to_owned(),
            "1:1: a left join, EXISTS or NOT EXISTS keeps rows without `task_id`",
        ),
        // Keys that no input has.
        (
            "SELECT c.body_sha256 AS agent, c.name AS task_id, c.observed_at, 'likely' AS confidence, c.fact_id FROM bodies AS c"
                .to_owned(),
            "1:1: no input has any of the `by` columns `agent`, `task_id`",
        ),
        (
            "SELECT DISTINCT e.agent, 't' AS task_id, CAST('2026-01-01' AS TIMESTAMP) AS observed_at, 'likely' AS confidence, \
             'f' AS fact_id FROM task_events AS e"
                .to_owned(),
            "1:1: GROUP BY without `task_id`",
        ),
    ] {
        let found = of_two(&sql);
        assert!(found.iter().any(|problem| problem.starts_with(expected)), "expected {expected}\n{sql}\n{found:#?}");
    }
}

#[test]
fn a_stored_view_bounds_what_the_shape_is_held_to_and_an_inline_one_does_not() {
    let view = |by: &str| {
        let sql = "SELECT e.agent, count(DISTINCT e.task_id) AS tasks FROM task_events AS e GROUP BY e.agent";
        ("views/busy.sql".to_owned(), format!("-- title = \"Tasks\"\n{by}--\n{sql}\n"))
    };
    let reader = rule(
        "r",
        &[],
        &format!("SELECT {COLUMNS} FROM task_events AS e INNER JOIN busy AS b ON b.agent = e.agent WHERE b.tasks > 20"),
    );
    assert_eq!(checked(&[view("-- by = [\"agent\"]\n"), reader.clone()]), NOTHING);
    let found = checked(&[view(""), reader]);
    assert!(found.len() == 1 && found[0].contains("GROUP BY without `task_id`"), "{found:?}");
}

#[test]
fn a_view_yields_what_it_is_kept_by_and_its_faults_are_told_in_its_own_file() {
    let view =
        |name: &str, by: &str, sql: &str| (format!("views/{name}.sql"), format!("-- title = \"V\"\n{by}--\n{sql}\n"));
    let found = checked(&[
        view("no_key", "-- by = [\"agent\", \"url\"]\n", "SELECT e.agent, e.task_id FROM task_events AS e"),
        view("no_time", "", "SELECT e.agent, e.task_id, e.observed_at - e.status_at AS age FROM task_events AS e"),
        view("reads", "-- by = [\"agent\"]\n", "SELECT t.agent, t.age FROM no_time AS t"),
        view("broken", "", "SELECT e.nothing FROM task_events AS e"),
        view("reads_broken", "", "SELECT b.nothing FROM broken AS b"),
        rule("r", &[], &format!("SELECT {COLUMNS} FROM task_events AS e")),
    ]);
    let places: Vec<_> =
        found.iter().map(|problem| problem.splitn(4, ':').take(2).collect::<Vec<_>>().join(":")).collect();
    assert_eq!(places, ["broken.sql:3", "no_key.sql:2", "no_time.sql:3"], "{found:#?}");
}

/// Facts about some agents and tasks, spread by a linear congruence.
fn spread(seed: u64) -> Facts {
    let mut state = seed;
    let mut pick = |of: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % of
    };
    let mut facts = Facts::default();
    for _ in 0..60 {
        let (agent, task) = (format!("a{}", pick(2)), format!("t{}", pick(3)));
        let common = |seconds: u64| event(i64::try_from(seconds).unwrap(), "server", &agent, "", "").common;
        match pick(8) {
            0 => facts.push_exchange(crate::tables::ExchangeRow {
                common: common(pick(900)),
                own: crate::tables::ExchangeColumns {
                    task_id: task,
                    reference_task_ids: Some(vec!["r1".to_owned(), "r2".to_owned()]),
                    ..Default::default()
                },
            }),
            1 => facts.push_card(crate::tables::CardRow {
                common: common(pick(900)),
                own: crate::tables::CardColumns { name: task, version: pick(2).to_string(), ..Default::default() },
            }),
            _ => {
                let state = ["completed", "failed", "working"][usize::try_from(pick(3)).unwrap()];
                let observer = ["client", "server"][usize::try_from(pick(2)).unwrap()];
                facts.push_task_event(event(i64::try_from(pick(900)).unwrap(), observer, &agent, &task, state));
            }
        }
    }
    facts
}

#[test]
fn a_query_that_passes_gives_the_same_findings_for_a_key_alone_and_in_any_order() {
    let mut files: Vec<(String, String)> =
        accepted().iter().enumerate().map(|(n, sql)| rule(&format!("r{n}"), &[], sql)).collect();
    files.extend([split_brain(), task_verdicts(), terminal_events()].map(|(path, text)| (path.to_owned(), text)));
    let files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let engine = Engine::new(corpus(&files).unwrap(), &Overrides::new()).unwrap();
    let mut facts = spread(7);
    let whole = run(&engine, &facts).findings;
    assert!(whole.iter().map(|finding| &finding.rule).collect::<std::collections::BTreeSet<_>>().len() > 5);
    facts.task_events.reverse();
    facts.cards.reverse();
    assert_eq!(run(&engine, &facts).findings, whole);
    for (agent, task) in [("a0", "t0"), ("a0", "t2"), ("a1", "t1")] {
        let mut cut = facts.clone();
        cut.task_events.retain(|row| row.common.agent == agent && row.own.task_id == task);
        cut.exchanges.retain(|row| row.common.agent == agent && row.own.task_id == task);
        cut.cards.retain(|row| row.common.agent == agent);
        let of_key =
            |finding: &crate::findings::Finding| finding.agent == agent && finding.task_id.as_deref() == Some(task);
        let alone: Vec<_> = run(&engine, &cut).findings.into_iter().filter(of_key).collect();
        let together: Vec<_> = whole.iter().filter(|finding| of_key(finding)).cloned().collect();
        assert_eq!(alone, together, "{agent} {task}");
    }
}

#[test]
fn words_of_closed_sets_that_are_none_are_told_where_they_stand() {
    let severities = "there are `info`, `warning`, `critical`";
    let of_severity = |sql: &str| {
        let sql = format!("SELECT {COLUMNS},\n{sql} AS severity\nFROM task_events AS e");
        of_sql(&sql)
    };
    assert_eq!(of_severity("'hgih'"), [format!("2:1: `hgih` is no severity; {severities}")]);
    assert_eq!(
        of_severity("CASE WHEN e.state = 'failed' THEN 'critcal' WHEN e.state = 'x' THEN 'info' ELSE ('loud') END"),
        [
            format!("2:35: `critcal` is no severity (did you mean `critical`?); {severities}"),
            format!("2:82: `loud` is no severity; {severities}"),
        ]
    );
    let above = "3:1: `critical` is above `severity = \"warning\"` of the header, which is the highest";
    assert_eq!(of_severity("\n'critical'"), [above]);
    // What is compared is no severity, nor is what stands in another column; what facts say is left to the run.
    for right in
        ["CASE e.state WHEN 'hgih' THEN 'info' ELSE 'warning' END", "e.state", "lower(e.state)", "concat('a', 'b')"]
    {
        assert_eq!(of_severity(right), NOTHING, "{right}");
    }
    let sure = COLUMNS.replace("'likely'", "'sure'");
    assert_eq!(
        of_sql(&format!("SELECT {sure}, 'nobody' AS suspect, 'sure' AS note FROM task_events AS e")),
        [
            "1:43: `sure` is no confidence; there are `possible`, `likely`, `confirmed`",
            "1:76: `nobody` is no suspect; there are `client-cache`, `card-publisher`, `remote-runtime`, `webhook-receiver`, \
             `webhook-sender`, `gateway`, `client`, `operator`"
        ]
    );
}

#[test]
fn words_of_closed_sets_are_followed_to_the_queries_that_they_come_from() {
    let inner = "SELECT e.agent, e.task_id, e.observed_at, e.fact_id";
    let outer = "SELECT x.agent, x.task_id, x.observed_at, 'likely' AS confidence, x.fact_id, x.word AS severity FROM";
    for (sql, place) in [
        (
            format!(
                "WITH y AS (\n{inner}, 'hgih' AS word FROM task_events AS e), x AS (SELECT y.agent, y.task_id, y.observed_at, y.fact_id, y.word FROM y) {outer} x"
            ),
            "2:",
        ),
        (format!("{outer} (\n{inner}, 'hgih' AS word FROM task_events AS e) AS x"), "2:"),
        // In a UNION the order counts, not the name.
        (
            format!(
                "{outer} ({inner}, 'info' AS word FROM task_events AS e UNION ALL\n{inner}, 'hgih' AS other FROM task_events AS e) AS x"
            ),
            "2:",
        ),
    ] {
        let found = of_sql(&sql);
        assert!(
            found.len() == 1 && found[0].starts_with(place) && found[0].contains("`hgih` is no severity"),
            "{sql}: {found:?}"
        );
    }
    // The same name elsewhere is another column.
    let other = format!("{outer} ({inner}, 'hgih' AS severity, 'info' AS word FROM task_events AS e) AS x");
    assert_eq!(of_sql(&other), NOTHING);
}

#[test]
fn evidence_that_is_beside_is_evidence_of_the_query() {
    let sql = "SELECT e.agent, e.task_id, e.observed_at, 'likely' AS confidence, e.fact_id AS late_fact_id, \
               e.fact_id AS held_fact_id FROM task_events AS e";
    assert_eq!(of(&[("beside", "[\"held\"]")], sql), NOTHING);
    let found = of(&[("beside", "[\"heldd\"]")], sql);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("`beside` names `heldd`, which is no evidence of the query; there is `held`, `late`"),
        "{found:?}"
    );
    // It is a list of texts, as the header is read.
    let found = of(&[("beside", "\"held\"")], sql);
    assert!(found.len() == 1 && found[0].contains("invalid type: string \"held\""), "{found:?}");
}

#[test]
fn the_corpus_in_the_binary_passes() {
    assert_eq!(check(&Corpus::embedded().unwrap()), []);
}
