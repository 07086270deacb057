//! Small corpora and hand-made facts, and what the engine must make of them.

mod checks;
mod corpus;
mod engine;
mod render;
mod texts;

use std::fs;
use std::path::Path;

use arrow::array::RecordBatch;

use super::{Corpus, CorpusError, Engine, Evaluation, Overrides};
use crate::instant::Instant;
use crate::tables::{Common, Facts, TaskEventColumns, TaskEventRow};

/// A corpus made of files, each given as path within the folder and text.
pub(crate) fn corpus(files: &[(&str, String)]) -> Result<Corpus, CorpusError> {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Corpus::from_dir(dir.path())
}

/// What is wrong with a corpus, one `file:line:column: message` a line.
pub(super) fn problems(files: &[(&str, String)]) -> Vec<String> {
    match corpus(files) {
        Ok(_) => Vec::new(),
        Err(CorpusError::Invalid { problems, .. }) => problems.iter().map(|p| short(&p.path, &p.to_string())).collect(),
        Err(other) => panic!("{other}"),
    }
}

fn short(path: &Path, text: &str) -> String {
    let folder = format!("{}/", path.parent().unwrap().display());
    text.replace(&folder, "")
}

/// The five sections of a runbook, each with a word in it: ten lines.
pub(crate) const RUNBOOK: &str = "\
-- ## What it finds
-- It.
-- ## Why it matters
-- Because.
-- ## First checks
-- One.
-- ## When it is wrong
-- Never.
-- ## What it cannot see
-- Nothing.
";

/// The rule of the style guide, by its view of who said what last.
pub(super) fn split_brain() -> (&'static str, String) {
    let text = r#"-- title    = "Client and server disagree on how a task ended"
-- severity = "critical"
-- status   = "stable"                      # experimental | stable | deprecated
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]          # evaluated alone along these columns
-- entity   = ["agent", "task_id"]          # columns that make two rows the same finding; contains `by`
-- needs    = ["task_events.state@client", "task_events.state@server"]   # blind without
-- summary  = "{task_id} on {agent}: client says {client_state}, server says {server_state}"
-- suspect  = "remote-runtime"
-- because  = "the server said {server_state}"
-- next     = "Ask {agent} for {task_id} again."
-- params   = { grace = "2 seconds" }
--
"#
    .to_owned()
        + RUNBOOK
        + r"
SELECT
    t.agent,
    t.task_id,
    t.client_state,
    t.server_state,
    t.later_at AS observed_at,
    t.later_at + CAST($grace AS INTERVAL) AS due_at,
    'confirmed' AS confidence,
    t.client_fact_id,
    t.server_fact_id
FROM task_verdicts AS t
WHERE t.client_state <> t.server_state
";
    ("rules/lifecycle/split_brain.sql", text)
}

/// The stored view that [`split_brain`] reads; one row a task of which both sides named a terminal state.
pub(super) fn task_verdicts() -> (&'static str, String) {
    let text = r#"-- title = "Terminal states of a task by client and server"
-- by    = ["agent", "task_id"]
--

SELECT
    c.agent,
    c.task_id,
    c.state AS client_state,
    s.state AS server_state,
    CASE WHEN c.observed_at > s.observed_at THEN c.observed_at ELSE s.observed_at END AS later_at,
    c.fact_id AS client_fact_id,
    s.fact_id AS server_fact_id
FROM terminal_events AS c
INNER JOIN terminal_events AS s ON c.agent = s.agent AND c.task_id = s.task_id
WHERE c.observer = 'client' AND s.observer = 'server'
"#;
    ("views/task_verdicts.sql", text.to_owned())
}

/// The inline view that [`task_verdicts`] reads.
pub(super) fn terminal_events() -> (&'static str, String) {
    let text = r#"-- title = "Terminal states"
-- params = { first = "completed", second = "failed" }
--

SELECT
    e.agent,
    e.task_id,
    e.observer,
    e.state,
    e.observed_at,
    e.fact_id
FROM task_events AS e
WHERE e.state IN ($first, $second)
"#;
    ("views/terminal_events.sql", text.to_owned())
}

/// A rule over `task_events` by agent and task, with its own query and lines of header to replace.
pub(crate) fn rule(id: &str, replace: &[(&str, &str)], sql: &str) -> (String, String) {
    let mut header = vec![
        ("title", r#""A rule""#),
        ("severity", r#""warning""#),
        ("status", r#""stable""#),
        ("since", r#""0.1.0""#),
        ("by", r#"["agent", "task_id"]"#),
        ("entity", r#"["agent", "task_id"]"#),
        ("needs", r#"["task_events.state"]"#),
        ("summary", r#""{task_id} on {agent}""#),
        ("suspect", r#""client""#),
        ("because", r#""it is""#),
        ("next", r#""Look.""#),
    ];
    for (key, value) in replace {
        match header.iter_mut().find(|(name, _)| name == key) {
            Some(entry) => entry.1 = value,
            None => header.push((key, value)),
        }
    }
    let header: String = header.iter().map(|(key, value)| format!("-- {key} = {value}\n")).collect();
    (format!("rules/lifecycle/{id}.sql"), format!("{header}--\n{RUNBOOK}{sql}\n"))
}

/// Line on which the SQL of [`rule`] begins when no key was added.
pub(super) const RULE_SQL_LINE: usize = 11 + 1 + 10 + 1;

/// 2026-11-30T06:00:00Z and some seconds.
pub(crate) fn at(seconds: i64) -> Instant {
    Instant((1_796_018_400 + seconds) * 1_000_000_000)
}

/// A task's state as an observer saw it.
pub(crate) fn event(seconds: i64, observer: &str, agent: &str, task: &str, state: &str) -> TaskEventRow {
    TaskEventRow {
        common: Common {
            observed_at: at(seconds),
            observer: observer.to_owned(),
            agent: agent.to_owned(),
            agent_ref: agent.to_owned(),
            source: "capture.ndjson".to_owned(),
            position: format!("line {seconds}"),
            ..Common::default()
        },
        own: TaskEventColumns {
            task_id: task.to_owned(),
            state: state.to_owned(),
            origin: if observer == "client" { "local" } else { "reply" }.to_owned(),
            ..TaskEventColumns::default()
        },
    }
}

/// Two tasks on which client and server agree, and one on which they do not.
pub(super) fn facts() -> Facts {
    let mut facts = Facts::default();
    for task in ["t1", "t2"] {
        facts.push_task_event(event(1, "client", "a", task, "completed"));
        facts.push_task_event(event(2, "server", "a", task, "completed"));
    }
    facts.push_task_event(event(3, "client", "a", "t3", "failed"));
    facts.push_task_event(event(5, "server", "a", "t3", "completed"));
    facts
}

pub(super) fn batches(facts: &Facts) -> Vec<(&'static str, RecordBatch)> {
    facts.batches().unwrap()
}

/// Evaluates a corpus over facts.
pub(super) fn evaluate(corpus: Corpus, overrides: &Overrides, facts: &Facts) -> Evaluation {
    run(&Engine::new(corpus, overrides).unwrap(), facts)
}

/// Runs an engine over facts, on a thread with the small stack that a test has.
pub(crate) fn run(engine: &Engine, facts: &Facts) -> Evaluation {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(engine.evaluate(batches(facts))).unwrap()
}
