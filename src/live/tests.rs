//! Small corpora over hand-made facts: what a tick evaluates, and that it is what the whole batch gives.

use std::collections::BTreeSet;

use super::{Keyed, Tick};
use crate::findings::Finding;
use crate::instant::Instant;
use crate::normalize::identity::{IdentitySettings, Known};
use crate::rules::tests::{at, corpus, event, rule, run};
use crate::rules::{AsOf, Engine, Limits, Overrides};
use crate::tables::{CardColumns, CardRow, CardSkillColumns, CardSkillRow, Common, Facts, FactsDelta};

fn engine(files: &[(String, String)]) -> Engine {
    let files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    Engine::new(corpus(&files).unwrap(), &Overrides::new()).unwrap()
}

fn view(name: &str, header: &str, sql: &str) -> (String, String) {
    (format!("views/{name}.sql"), format!("-- title = \"V\"\n-- {header}\n--\n{sql}\n"))
}

fn apply(keyed: &mut Keyed, delta: &FactsDelta) -> Tick {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(keyed.apply(delta)).unwrap()
}

fn add(keyed: &mut Keyed, fill: impl FnOnce(&mut Facts)) -> Tick {
    let mut added = Facts::default();
    fill(&mut added);
    apply(keyed, &FactsDelta { added, ..FactsDelta::default() })
}

fn entities(findings: &[Finding]) -> BTreeSet<String> {
    findings
        .iter()
        .map(|f| format!("{} {}", f.rule, f.entity.values().cloned().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// One finding a task that failed.
const FAILED: &str = "SELECT e.agent, e.task_id, min(e.observed_at) AS observed_at, 'likely' AS confidence, \
    min(e.fact_id) AS fact_id FROM task_events AS e WHERE e.state = 'failed' GROUP BY e.agent, e.task_id";

fn card(seconds: i64, client: &str, agent: &str, body: &str) -> CardRow {
    let common = Common {
        client: client.to_owned(),
        client_ref: client.to_owned(),
        ..event(seconds, "client", agent, "", "").common
    };
    CardRow { common, own: CardColumns { body_sha256: body.to_owned(), ..CardColumns::default() } }
}

fn skill(body: &str, skill: &str) -> CardSkillRow {
    let own =
        CardSkillColumns { body_sha256: body.to_owned(), skill_id: skill.to_owned(), ..CardSkillColumns::default() };
    CardSkillRow { common: Common::default(), own }
}

#[test]
fn a_new_fact_costs_the_rows_of_its_own_key_whatever_else_is_kept() {
    let mut keyed = Keyed::new(&engine(&[rule("failed", &[], FAILED)])).unwrap();
    add(&mut keyed, |facts| {
        for n in 0..1000 {
            facts.push_task_event(event(n, "server", "a", &format!("t{n}"), "failed"));
        }
    });
    assert_eq!(keyed.all_findings().len(), 1000);
    let tick = add(&mut keyed, |facts| facts.push_task_event(event(2000, "server", "a", "t7", "failed")));
    assert_eq!((tick.facts, tick.runs, tick.rows), (1, 1, 2));
    assert_eq!(tick.rules, BTreeSet::new(), "the earliest failure is the same");
    let tick = add(&mut keyed, |facts| facts.push_task_event(event(2000, "server", "b", "t7", "failed")));
    assert_eq!((tick.rows, tick.rules.len(), keyed.all_findings().len()), (1, 1, 1001));
}

#[test]
fn a_fact_delivered_again_is_no_change() {
    let mut keyed = Keyed::new(&engine(&[rule("failed", &[], FAILED)])).unwrap();
    let fill = |facts: &mut Facts| {
        facts.push_task_event(event(1, "server", "a", "t", "failed"));
        facts.push_task_event(event(1, "server", "a", "t", "failed"));
    };
    assert_eq!((add(&mut keyed, fill).facts, keyed.len()), (1, 1));
    assert_eq!(add(&mut keyed, fill), Tick::default());
}

#[test]
fn facts_that_go_take_their_findings_with_them_and_leave_the_others() {
    let mut keyed = Keyed::new(&engine(&[rule("failed", &[], FAILED)])).unwrap();
    let mut facts = Facts::default();
    for task in ["t1", "t2"] {
        facts.push_task_event(event(1, "server", "a", task, "failed"));
    }
    let id = facts.task_events[0].common.fact_id.clone();
    apply(&mut keyed, &FactsDelta { added: facts, removed: BTreeSet::new() });
    let tick =
        apply(&mut keyed, &FactsDelta { removed: BTreeSet::from([id, "unknown".to_owned()]), ..Default::default() });
    assert_eq!(
        (tick.facts, keyed.len(), entities(&keyed.all_findings())),
        (1, 1, BTreeSet::from(["failed a t2".to_owned()]))
    );
    keyed.clear();
    assert!(keyed.is_empty() && keyed.all_findings().is_empty());
}

#[test]
fn a_view_whose_rows_stay_the_same_ends_the_tick() {
    let files = [
        view(
            "ends",
            "by = [\"agent\", \"task_id\"]",
            "SELECT e.agent, e.task_id, min(e.observed_at) AS ended_at, min(e.fact_id) AS fact_id FROM task_events AS e GROUP BY e.agent, e.task_id",
        ),
        rule(
            "ended",
            &[],
            "SELECT n.agent, n.task_id, n.ended_at AS observed_at, 'likely' AS confidence, n.fact_id FROM ends AS n",
        ),
    ];
    let mut keyed = Keyed::new(&engine(&files)).unwrap();
    let ids = ["working", "failed"].map(|state| {
        let mut facts = Facts::default();
        facts.push_task_event(event(1, "server", "a", "t", state));
        (facts.task_events[0].common.fact_id.clone(), state)
    });
    let (first, second) = (ids.iter().min().unwrap().1, ids.iter().max().unwrap().1);
    assert_eq!(add(&mut keyed, |facts| facts.push_task_event(event(1, "server", "a", "t", first))).runs, 2);
    assert_eq!(add(&mut keyed, |facts| facts.push_task_event(event(1, "server", "a", "t", second))).runs, 1);
    assert_eq!(add(&mut keyed, |facts| facts.push_task_event(event(0, "server", "a", "t", second))).runs, 2);
}

/// Tasks and the card that their client held when they began.
fn held() -> Vec<(String, String)> {
    vec![
        view(
            "held",
            "by = [\"client\", \"agent\"]",
            "SELECT c.client, c.agent, c.body_sha256, c.fact_id, c.observed_at AS valid_from, \
             lead(c.observed_at) OVER (PARTITION BY c.client, c.agent ORDER BY c.observed_at, c.fact_id) AS valid_to FROM cards AS c",
        ),
        rule(
            "holds",
            &[("marks", "{ held = { on = [\"client\", \"agent\"], during = [\"valid_from\", \"valid_to\"] } }")],
            "SELECT e.agent, e.task_id, h.body_sha256, e.observed_at, 'likely' AS confidence, e.fact_id FROM task_events AS e \
             INNER JOIN held AS h ON e.client = h.client AND e.agent = h.agent AND e.observed_at >= h.valid_from \
             AND (h.valid_to IS NULL OR e.observed_at < h.valid_to)",
        ),
    ]
}

#[test]
fn a_mark_concerns_the_keys_that_agree_with_it_within_its_span() {
    let mut keyed = Keyed::new(&engine(&held())).unwrap();
    let task = |seconds: i64, client: &str| {
        let mut row = event(seconds, "client", "a", &format!("{client}{seconds}"), "working");
        row.common.client = client.to_owned();
        row
    };
    add(&mut keyed, |facts| {
        for seconds in [10, 20, 30, 40] {
            facts.push_task_event(task(seconds, "c"));
            facts.push_task_event(task(seconds, "d"));
        }
        facts.push_card(card(5, "c", "a", "one"));
        facts.push_card(card(35, "c", "a", "three"));
    });
    let bodies = |keyed: &Keyed| -> Vec<(String, String)> {
        let findings = keyed.all_findings();
        let of = |f: &Finding| (f.task_id.clone().unwrap(), f.details["body_sha256"].as_str().unwrap().to_owned());
        findings.iter().map(of).collect::<BTreeSet<_>>().into_iter().collect()
    };
    let text =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect::<Vec<_>>();
    assert_eq!(bodies(&keyed), text(&[("c10", "one"), ("c20", "one"), ("c30", "one"), ("c40", "three")]));
    // The span of the first card ends earlier now: its tasks and those of the new card are looked at, the last is not. The view
    // reads three looks; the rule three tasks and the three rows of the view.
    let tick = add(&mut keyed, |facts| facts.push_card(card(15, "c", "a", "two")));
    assert_eq!((tick.runs, tick.rows), (2, 3 + 3 + 3));
    assert_eq!(bodies(&keyed), text(&[("c10", "one"), ("c20", "two"), ("c30", "two"), ("c40", "three")]));
    // Another client's look concerns its own tasks alone, and reads its own looks alone.
    let tick = add(&mut keyed, |facts| facts.push_card(card(15, "d", "a", "two")));
    assert_eq!((tick.runs, tick.rows), (2, 1 + 3 + 1));
}

#[test]
fn what_a_body_says_costs_nothing_beside_the_look_at_it_and_is_right_when_it_comes_late() {
    let sql = "SELECT c.agent, c.fact_id AS task_id, s.skill_id, c.observed_at, 'likely' AS confidence, c.fact_id FROM cards AS c \
        INNER JOIN card_skills AS s ON c.body_sha256 = s.body_sha256";
    let entity = [("by", "[\"agent\"]"), ("entity", "[\"agent\", \"task_id\"]")];
    let mut keyed = Keyed::new(&engine(&[rule("listed", &entity, sql)])).unwrap();
    add(&mut keyed, |facts| {
        for agent in ["a", "b", "c"] {
            facts.push_card(card(1, "x", agent, "one"));
        }
        facts.push_card_skill(skill("one", "s"));
    });
    assert_eq!(keyed.all_findings().len(), 3);
    let tick = add(&mut keyed, |facts| {
        facts.push_card(card(2, "x", "b", "two"));
        facts.push_card_skill(skill("two", "s"));
    });
    assert_eq!((tick.rows, keyed.all_findings().len()), (2 + 2, 4), "cards of the one agent, and all skills");
    add(&mut keyed, |facts| facts.push_card(card(3, "x", "c", "three")));
    assert_eq!(keyed.all_findings().len(), 4);
    let tick = add(&mut keyed, |facts| facts.push_card_skill(skill("three", "s")));
    assert_eq!((tick.rows, keyed.all_findings().len()), (5 + 3, 5));
}

#[test]
fn keys_made_of_columns_of_different_inputs_are_replaced_and_their_neighbours_stay() {
    let files = [
        view("urls", "by = [\"url\"]", "SELECT p.url, count(*) AS posts FROM push_deliveries AS p GROUP BY p.url"),
        rule(
            "crossed",
            &[("by", "[\"agent\", \"url\"]"), ("entity", "[\"agent\", \"url\"]"), ("summary", "\"{url}\"")],
            "SELECT c.agent, u.url, u.posts, c.observed_at, 'likely' AS confidence, c.fact_id FROM urls AS u INNER JOIN \
             (SELECT e.agent, max(e.observed_at) AS observed_at, max(e.fact_id) AS fact_id FROM task_events AS e GROUP BY e.agent) AS c \
             ON c.agent <> u.url",
        ),
    ];
    let engine = engine(&files);
    let (mut keyed, mut all) = (Keyed::new(&engine).unwrap(), Facts::default());
    let post = |seconds: i64, url: &str| crate::tables::PushDeliveryRow {
        common: event(seconds, "receiver", "x", "", "").common,
        own: crate::tables::PushDeliveryColumns { url: url.to_owned(), ..Default::default() },
    };
    for tick in 0..4 {
        let mut added = Facts::default();
        for name in ["a", "b", "c"].iter().skip(if tick == 0 { 0 } else { 2 }) {
            added.push_task_event(event(tick, "server", name, "t", "working"));
            added.push_push_delivery(post(tick, &format!("url {name}")));
        }
        all.append(added.clone());
        let tick = apply(&mut keyed, &FactsDelta { added, ..FactsDelta::default() });
        assert_eq!(tick.failures, []);
        assert_eq!(keyed.rows("crossed").unwrap().unwrap().num_rows(), 9);
        assert_eq!(keyed.all_findings(), run(&engine, &all).findings);
    }
}

#[test]
fn a_rule_that_fails_stops_no_other_and_catches_up() {
    let failing = FAILED.replace("'failed'", "'failed' AND CAST(e.context_id AS BIGINT) > 0");
    let files = [rule("failed", &[], FAILED), rule("fails", &[], &failing)];
    let mut keyed = Keyed::new(&engine(&files)).unwrap();
    let task = |task: &str, context: &str| {
        let mut row = event(1, "server", "a", task, "failed");
        row.own.context_id = context.to_owned();
        row
    };
    let mut bad = Facts::default();
    bad.push_task_event(task("t1", "no number"));
    bad.push_task_event(task("t2", "2"));
    let bad_id = bad.task_events[0].common.fact_id.clone();
    let tick = apply(&mut keyed, &FactsDelta { added: bad, removed: BTreeSet::new() });
    assert_eq!(tick.failures.iter().map(|failure| failure.rule.as_str()).collect::<Vec<_>>(), ["fails"]);
    assert_eq!(entities(&keyed.all_findings()), BTreeSet::from(["failed a t1", "failed a t2"].map(str::to_owned)));
    let tick = add(&mut keyed, |facts| facts.push_task_event(task("t3", "3")));
    assert_eq!(tick.failures.len(), 1, "what it owes is tried again");
    let tick = apply(&mut keyed, &FactsDelta { removed: BTreeSet::from([bad_id]), ..FactsDelta::default() });
    assert_eq!(tick.failures, []);
    let expected = ["failed a t2", "failed a t3", "fails a t2", "fails a t3"].map(str::to_owned);
    assert_eq!(entities(&keyed.all_findings()), BTreeSet::from(expected));
}

#[test]
fn a_view_that_fails_holds_what_reads_it_where_it_was_until_it_runs_again() {
    let files = [
        view(
            "numbers",
            "by = [\"agent\", \"task_id\"]",
            "SELECT e.agent, e.task_id, CAST(e.context_id AS BIGINT) AS n, e.observed_at, e.fact_id FROM task_events AS e",
        ),
        rule(
            "reads",
            &[],
            "SELECT n.agent, n.task_id, n.n, n.observed_at, 'likely' AS confidence, n.fact_id FROM numbers AS n",
        ),
        (
            "views/broken.sql".to_owned(),
            "-- title = \"V\"\n-- by = [\"agent\"]\n--\nSELECT e.nothing FROM task_events AS e\n".to_owned(),
        ),
        rule("reads_broken", &[], "SELECT b.agent FROM broken AS b"),
    ];
    let mut keyed = Keyed::new(&engine(&files)).unwrap();
    let task = |seconds: i64, task: &str, context: &str| {
        let mut row = event(seconds, "server", "a", task, "failed");
        row.own.context_id = context.to_owned();
        row
    };
    add(&mut keyed, |facts| facts.push_task_event(task(1, "t1", "1")));
    let mut bad = Facts::default();
    bad.push_task_event(task(2, "t2", "no number"));
    bad.push_task_event(task(2, "t3", "3"));
    let bad_id = bad.task_events[0].common.fact_id.clone();
    let tick = apply(&mut keyed, &FactsDelta { added: bad, removed: BTreeSet::new() });
    let failed: Vec<&str> = tick.failures.iter().map(|failure| failure.rule.as_str()).collect();
    assert_eq!(failed, ["broken", "numbers", "reads", "reads_broken"]);
    assert_eq!(entities(&keyed.all_findings()), BTreeSet::from(["reads a t1".to_owned()]));
    apply(&mut keyed, &FactsDelta { removed: BTreeSet::from([bad_id]), ..FactsDelta::default() });
    assert_eq!(entities(&keyed.all_findings()), BTreeSet::from(["reads a t1", "reads a t3"].map(str::to_owned)));
}

#[test]
fn agents_that_turn_out_to_be_one_leave_the_findings_of_neither_behind() {
    let mut keyed = Keyed::new(&engine(&[rule("failed", &[], FAILED)])).unwrap();
    let mut known = Known::new(IdentitySettings::default());
    let mut raw = Facts::default();
    raw.push_task_event(event(1, "server", "http://b.example/rpc", "t1", "failed"));
    raw.push_task_event(event(1, "server", "http://a.example/", "t2", "failed"));
    let delta = known.add(raw).delta;
    assert_eq!(delta.added.len(), 2);
    apply(&mut keyed, &delta);
    assert_eq!(
        entities(&keyed.all_findings()),
        BTreeSet::from(["failed a.example t2", "failed b.example t1"].map(str::to_owned))
    );
    let mut card = card(2, "", "http://a.example/.well-known/agent-card.json", "body");
    card.own.origin = "fetch".to_owned();
    let mut raw = Facts::default();
    raw.push_card(card);
    raw.push_card_endpoint(crate::tables::CardEndpointRow {
        own: crate::tables::CardEndpointColumns {
            body_sha256: "body".to_owned(),
            url: "http://b.example/rpc".to_owned(),
            ..Default::default()
        },
        ..Default::default()
    });
    let delta = known.add(raw.clone()).delta;
    assert_eq!(delta.added.task_events.len(), 1, "the one whose agent changed");
    apply(&mut keyed, &delta);
    assert_eq!(
        entities(&keyed.all_findings()),
        BTreeSet::from(["failed a.example t2", "failed a.example t1"].map(str::to_owned))
    );
    assert_eq!(apply(&mut keyed, &known.add(raw).delta), Tick::default());
}

#[test]
fn evidence_follows_its_fact_even_where_the_row_does_not_change() {
    let mut keyed = Keyed::new(&engine(&[rule("failed", &[], FAILED)])).unwrap();
    add(&mut keyed, |facts| facts.push_task_event(event(1, "server", "a", "t", "failed")));
    assert_eq!(keyed.all_findings()[0].evidence[0].client, "");
    let tick = add(&mut keyed, |facts| {
        let mut row = event(1, "server", "a", "t", "failed");
        row.common.client = "planner".to_owned();
        facts.push_task_event(row);
    });
    assert_eq!((tick.facts, keyed.len(), keyed.all_findings()[0].evidence[0].client.as_str()), (1, 1, "planner"));
}

#[test]
fn a_deadline_opens_and_ends_a_finding_without_a_tick() {
    let sql = FAILED.replace(
        "'likely' AS confidence",
        "min(e.observed_at) + CAST($grace AS INTERVAL) AS due_at, min(e.observed_at) + CAST($until AS INTERVAL) AS until_at, 'likely' AS confidence",
    );
    let params = [("params", "{ grace = \"10 seconds\", until = \"1 minute\" }")];
    let mut keyed = Keyed::new(&engine(&[rule("late", &params, &sql)])).unwrap();
    add(&mut keyed, |facts| facts.push_task_event(event(0, "server", "a", "t", "failed")));
    let firing = [9, 10, 59, 60].map(|seconds| keyed.findings(&AsOf::Fixed(at(seconds))).len());
    assert_eq!(firing, [0, 1, 1, 0]);
}

/// Queries of every kind of operator, over a view with a key made in the query.
fn of_every_kind() -> Vec<(String, String)> {
    let columns = "e.agent, e.task_id, e.observed_at, 'likely' AS confidence, e.fact_id";
    let once = "GROUP BY e.agent, e.task_id";
    let first =
        "SELECT e.agent, e.task_id, min(e.observed_at) AS observed_at, min(e.fact_id) AS fact_id FROM task_events AS e";
    vec![
        view("firsts", "by = [\"agent\", \"task_id\"]", &format!("{first} {once}")),
        view(
            "keyed_by_name",
            "by = [\"agent\", \"name\"]",
            "SELECT e.agent, concat('task ', e.task_id) AS name, e.task_id, count(*) AS events FROM task_events AS e GROUP BY e.agent, e.task_id",
        ),
        rule(
            "joined",
            &[],
            "SELECT f.agent, f.task_id, f.observed_at, c.name, 'likely' AS confidence, f.fact_id FROM firsts AS f INNER JOIN (SELECT c.agent, max(c.name) AS name FROM cards AS c GROUP BY c.agent) AS c ON f.agent = c.agent",
        ),
        rule(
            "left_joined",
            &[],
            "SELECT f.agent, f.task_id, f.observed_at, x.n, 'likely' AS confidence, f.fact_id FROM firsts AS f LEFT JOIN (SELECT e.agent, e.task_id, count(*) AS n FROM task_events AS e WHERE e.state = 'failed' GROUP BY e.agent, e.task_id) AS x ON f.agent = x.agent AND f.task_id = x.task_id",
        ),
        rule(
            "ended",
            &[],
            "SELECT f.agent, f.task_id, f.observed_at, 'likely' AS confidence, f.fact_id FROM firsts AS f WHERE EXISTS (SELECT 1 FROM task_events AS o WHERE o.agent = f.agent AND o.task_id = f.task_id AND o.state = 'completed')",
        ),
        rule(
            "not_exists",
            &[],
            "SELECT f.agent, f.task_id, f.observed_at, 'likely' AS confidence, f.fact_id FROM firsts AS f WHERE NOT EXISTS (SELECT 1 FROM task_events AS o WHERE o.agent = f.agent AND o.task_id = f.task_id AND o.state = 'completed')",
        ),
        rule(
            "windowed",
            &[("entity", "[\"agent\", \"task_id\", \"nth\"]")],
            &format!(
                "SELECT {columns}, lag(e.state) OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS before, row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS nth FROM task_events AS e"
            ),
        ),
        rule(
            "united",
            &[("entity", "[\"agent\", \"task_id\", \"fact_id\"]")],
            &format!(
                "SELECT {columns} FROM task_events AS e WHERE e.state = 'failed' UNION ALL SELECT {columns} FROM task_events AS e WHERE e.state = 'completed'"
            ),
        ),
        rule(
            "by_name",
            &[],
            "SELECT f.agent, f.task_id, k.events, f.observed_at, 'likely' AS confidence, f.fact_id FROM firsts AS f INNER JOIN keyed_by_name AS k ON f.agent = k.agent AND f.task_id = k.task_id",
        ),
        rule(
            "reads_a_rule",
            &[],
            "SELECT x.agent, x.task_id, x.observed_at, 'likely' AS confidence, x.fact_id FROM ended AS x",
        ),
    ]
}

/// Batches of facts about few agents and tasks, so that every tick meets keys of other ticks.
fn batches() -> impl Iterator<Item = Facts> {
    let mut state = 11_u64;
    let mut pick = move |of: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((state >> 33) % of).unwrap()
    };
    (0..12).map(move |_| {
        let mut facts = Facts::default();
        for _ in 0..1 + pick(8) {
            let (agent, task) = (format!("a{}", pick(3)), format!("t{}", pick(4)));
            let state = ["completed", "failed", "working"][usize::try_from(pick(3)).unwrap()];
            match pick(6) {
                0 => {
                    let mut card = card(pick(900), "c", &agent, "body");
                    card.own.name = task;
                    facts.push_card(card);
                }
                _ => facts.push_task_event(event(pick(900), "server", &agent, &task, state)),
            }
        }
        facts
    })
}

#[test]
fn kept_plans_give_what_fresh_ones_give_tick_after_tick() {
    let engine = engine(&of_every_kind()).with_limits(Limits { partitions: 1, ..Limits::default() });
    let (mut keyed, mut all) = (Keyed::new(&engine).unwrap(), Facts::default());
    for batch in batches() {
        all.append(batch.clone());
        all.make_set();
        let tick = apply(&mut keyed, &FactsDelta { added: batch, ..FactsDelta::default() });
        assert_eq!(tick.failures, []);
        let whole = run(&engine, &all);
        assert_eq!(whole.failures, []);
        assert_eq!(keyed.all_findings(), whole.findings);
        assert_eq!(keyed.findings(&AsOf::Fixed(Instant(i64::MAX))), whole.findings);
    }
    let rules: BTreeSet<String> = keyed.all_findings().into_iter().map(|finding| finding.rule).collect();
    assert_eq!(rules.len(), 8);
    keyed.clear();
    let first = batches().next().unwrap();
    apply(&mut keyed, &FactsDelta { added: first.clone(), ..FactsDelta::default() });
    assert_eq!(keyed.all_findings(), run(&engine, &first).findings);
}

#[test]
fn only_wanted_rules_speak() {
    let engine = engine(&of_every_kind()).only(&["reads_a_rule"]).unwrap();
    let mut keyed = Keyed::new(&engine).unwrap();
    let tick = add(&mut keyed, |facts| facts.push_task_event(event(1, "server", "a", "t", "completed")));
    assert_eq!((tick.runs, entities(&keyed.all_findings())), (3, BTreeSet::from(["reads_a_rule a t".to_owned()])));
}
