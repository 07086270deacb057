//! A query that somebody asks over the facts and views.
//!
//! In: SQL text, batches of facts. Out: its rows. Answers questions only: what would write, or read a file, is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;

use super::evaluate::{Engine, EngineError};
use super::params::Params;
use super::plan::{self, QueryError};
use super::problem::{listed, near};
use super::query::Query;
use super::stack;
use crate::tables::Facts;

/// Longest text of a query.
const MOST_TEXT: usize = 64 << 10;

/// Why a query has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It is not one query that only reads, or it cannot be planned or run.
    #[error("{}", at(sql, *line, *column, message))]
    Query {
        /// The query.
        sql: String,
        /// Where in it, from 1.
        line: usize,
        /// Where in the line, from 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// It reads what is not there.
    #[error("there is no table or view `{name}`{near}; there are {valid}")]
    Unknown {
        /// What it reads.
        name: String,
        /// The name that may be meant, as a question; empty if none is like it.
        near: String,
        /// What there is.
        valid: String,
    },
    /// A view that it reads failed.
    #[error("view `{name}`, which it reads, failed: {message}")]
    View {
        /// The view.
        name: String,
        /// Why.
        message: String,
    },
    /// It is too long.
    #[error("a query has at most {MOST_TEXT} bytes")]
    TooLong,
    /// The engine cannot be set up.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl AskError {
    /// What is asked for by a name that is not among those of tables and views.
    pub fn unknown<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: BTreeSet<&str> = names.into_iter().collect();
        Self::Unknown { name: name.to_owned(), near: near(name, names.iter().copied()), valid: listed(names) }
    }
}

/// The place in the text, with a mark under it.
fn at(sql: &str, line: usize, column: usize, message: &str) -> String {
    let text = sql.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let before = column.saturating_sub(1).min(text.chars().count());
    // What an engine has to say beyond the first line would part the mark from what it is about.
    let (message, more) = message.split_once('\n').unwrap_or((message, ""));
    let more = if more.is_empty() { String::new() } else { format!("\n{}", more.trim_end()) };
    format!("line {line}, column {column}: {message}\n  {text}\n  {}^{more}", " ".repeat(before))
}

impl Engine {
    /// Answers a query over facts and views. Views are evaluated only if it reads any.
    ///
    /// # Errors
    /// When it is no query that only reads, reads what is not there, or fails.
    pub async fn ask(&self, batches: Vec<(&'static str, RecordBatch)>, sql: &str) -> Result<RecordBatch, AskError> {
        if sql.len() > MOST_TEXT {
            return Err(AskError::TooLong);
        }
        let (engine, sql) = (self.clone(), sql.to_owned());
        let answer = stack::deep_async(move || async move { engine.answer(batches, sql).await }).await;
        answer.map_err(EngineError::Threads)?
    }

    async fn answer(&self, batches: Vec<(&'static str, RecordBatch)>, sql: String) -> Result<RecordBatch, AskError> {
        let wrong = |(line, column), message| AskError::Query { sql: sql.clone(), line, column, message };
        let fail = |error: QueryError| wrong(error.place, error.message);
        let query = Query::parse(&sql, 1).map_err(|(place, message)| wrong(place, message))?;
        let views = self.views_below(&query)?;

        let tables = |error| EngineError::Tables(Box::new(error));
        let ctx = plan::session(self.limits.partitions, self.limits.memory).map_err(tables)?;
        for (name, schema) in Facts::schemas() {
            let rows = batches.iter().filter(|(table, _)| *table == name).map(|(_, batch)| batch.clone()).collect();
            plan::add_table(&ctx, name, schema, rows).map_err(tables)?;
        }
        // In the order of dependency: each is planned over those before it.
        for view in self.corpus.views.iter().filter(|view| views.contains(&view.name)) {
            let params = self.params.get(&view.name).cloned().unwrap_or_default();
            let add = async {
                let logical = plan::plan(&ctx, &view.query, &params).await?;
                let failed = |error| QueryError::new(&view.query, &error);
                if !view.is_stored() {
                    return plan::add_inline(&ctx, &view.name, logical).map_err(failed);
                }
                let (_, operators) = plan::operators(&ctx, &logical).await.map_err(failed)?;
                let rows = plan::collect(operators, ctx.task_ctx(), &view.query, self.limits.memory).await?.rows;
                plan::add_table(&ctx, &view.name, rows.schema(), vec![rows]).map_err(failed)
            };
            let failed = |error: QueryError| AskError::View { name: view.name.clone(), message: error.message };
            add.await.map_err(failed)?;
        }
        let run = async {
            let logical = plan::plan(&ctx, &query, &Params::default()).await?;
            let failed = |error| QueryError::new(&query, &error);
            let (_, operators) = plan::operators(&ctx, &logical).await.map_err(failed)?;
            plan::collect(operators, ctx.task_ctx(), &query, self.limits.memory).await.map(|ran| ran.rows)
        };
        let late = |_| QueryError::plain(&query, format!("stopped after {} s", self.limits.time.as_secs()));
        tokio::time::timeout(self.limits.time, run).await.map_err(late).flatten().map_err(fail)
    }

    /// Views that a query reads, and those that they read.
    fn views_below(&self, query: &Query) -> Result<BTreeSet<String>, AskError> {
        let tables: BTreeSet<&str> = Facts::schemas().into_iter().map(|(name, _)| name).collect();
        let mut wanted: BTreeSet<String> = query.reads.iter().cloned().collect();
        for view in self.corpus.views.iter().rev() {
            if wanted.contains(&view.name) {
                wanted.extend(view.query.reads.iter().cloned());
            }
        }
        let views: BTreeSet<&str> = self.corpus.views.iter().map(|view| view.name.as_str()).collect();
        let known = |name: &String| tables.contains(name.as_str()) || views.contains(name.as_str());
        if let Some(name) = wanted.iter().find(|name| !known(name)) {
            return Err(AskError::unknown(name, tables.iter().chain(&views).copied()));
        }
        wanted.retain(|name| views.contains(name.as_str()));
        Ok(wanted)
    }

    /// Tables and views that can be asked, with their columns.
    ///
    /// # Errors
    /// When the engine cannot be set up.
    pub fn readable(&self) -> Result<Vec<(String, SchemaRef)>, EngineError> {
        let schemas = stack::deep(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(EngineError::Threads)?;
            runtime.block_on(self.schemas()).map_err(|error| EngineError::Tables(Box::new(error)))
        });
        schemas.map_err(EngineError::Threads)?
    }

    /// Tables, then views in the order of dependency; a view that cannot be planned is left out, as are those over it.
    async fn schemas(&self) -> Result<Vec<(String, SchemaRef)>, DataFusionError> {
        let ctx = plan::session(self.limits.partitions, self.limits.memory)?;
        let mut schemas = Vec::new();
        for (name, schema) in Facts::schemas() {
            schemas.push((name.to_owned(), Arc::clone(&schema)));
            plan::add_table(&ctx, name, schema, Vec::new())?;
        }
        for view in &self.corpus.views {
            let params = self.params.get(&view.name).cloned().unwrap_or_default();
            if let Ok(logical) = plan::plan(&ctx, &view.query, &params).await {
                schemas.push((view.name.clone(), Arc::new(logical.schema().as_arrow().clone())));
                plan::add_inline(&ctx, &view.name, logical)?;
            }
        }
        Ok(schemas)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant::Instant;
    use crate::rules::{Corpus, Overrides};
    use crate::tables::{Common, TaskEventColumns, TaskEventRow};

    async fn asked(sql: &str) -> Result<RecordBatch, AskError> {
        let mut facts = Facts::default();
        for (at, state) in [(1, "working"), (2, "completed")] {
            let common = Common { observed_at: Instant(at), agent: "a".to_owned(), ..Common::default() };
            let own =
                TaskEventColumns { task_id: "t".to_owned(), state: state.to_owned(), ..TaskEventColumns::default() };
            facts.push_task_event(TaskEventRow { common, own });
        }
        let engine = Engine::new(Corpus::embedded().unwrap(), &Overrides::new()).unwrap();
        engine.ask(facts.batches().unwrap(), sql).await
    }

    #[tokio::test]
    async fn facts_and_views_can_be_asked() {
        assert_eq!(asked("SELECT state FROM task_events ORDER BY observed_at").await.unwrap().num_rows(), 2);
        let stored = asked("SELECT agent, task_id FROM task_ends").await.unwrap();
        assert_eq!((stored.num_rows(), stored.num_columns()), (1, 2));
    }

    #[tokio::test]
    async fn only_questions_are_answered() {
        for sql in [
            "DROP TABLE cards",
            "COPY cards TO '/tmp/x'",
            "SET a = 1",
            "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
            "SELECT 1; SELECT 2",
            "INSERT INTO cards VALUES (1)",
            "",
        ] {
            assert!(matches!(asked(sql).await, Err(AskError::Query { .. })), "{sql}");
        }
        for sql in ["SELECT * FROM '/etc/passwd'", "SELECT * FROM information_schema.tables"] {
            assert!(asked(sql).await.is_err(), "{sql}");
        }
    }

    #[tokio::test]
    async fn a_mistake_is_shown_where_it_is() {
        let error = asked("SELECT agent,\n  nothing\nFROM task_events").await.unwrap_err().to_string();
        assert!(error.starts_with("line 2, column 3: "), "{error}");
        assert!(error.contains("\n    nothing\n    ^"), "{error}");
        let error = asked("SELECT 1 FROM task_event").await.unwrap_err().to_string();
        assert!(
            error.starts_with(
                "there is no table or view `task_event` (did you mean `task_events`?); there are `agent_dialects`, "
            ),
            "{error}"
        );
    }

    #[tokio::test]
    async fn mistakes_are_told_in_words_with_what_would_be_right() {
        for (sql, place, words) in [
            (
                "SELECT agnt FROM task_events",
                (1, 8),
                "no column `agnt` (did you mean `agent`?); of NN the most alike are `agent`, `agent_ref`, ",
            ),
            // The engine gives no place of its own.
            ("SELECT agent FROM task_events ORDER BY agnt", (1, 40), "no column `agnt` (did you mean `agent`?); of "),
            (
                "SELECT e.agnt FROM task_events AS e INNER JOIN task_ends AS t ON e.task_id = t.task_id",
                (1, 8),
                "no column `e.agnt` (did you mean `e.agent`?); of NN the most alike are `e.agent`, `e.agent_ref`, ",
            ),
            (
                "SELECT task_events.agent FROM task_events AS e",
                (1, 8),
                "no table `task_events` at this place of the query; there is `e`",
            ),
            (
                "WITH x AS (SELECT agent AS a FROM task_ends) SELECT agent FROM x",
                (1, 53),
                "no column `agent`; there is `a`",
            ),
            (
                "SELECT agent FROM task_events WHERE state = \"failed\"",
                (1, 45),
                "no column `failed`: a name stands in double quotes, a text in single ones: write 'failed'",
            ),
            ("SELECT \"Agent\" FROM task_ends", (1, 8), "no column `Agent` (did you mean `agent`?); "),
            (
                "SELECT agent, count(*) FROM task_ends",
                (1, 8),
                "`task_ends.agent` may differ within a group: write it behind GROUP BY, or take one value of it, such as \
                 `max(task_ends.agent)`",
            ),
            (
                "SELECT agent FROM task_ends INNER JOIN task_events ON true",
                (1, 8),
                "more than one table has a column `agent`: say of which, as in `t.agent` for a table that is read `AS t`",
            ),
            ("SELECT lenght(agent) FROM task_ends", (1, 8), "no function `lenght` (did you mean `length`?)"),
            ("SELECT nofun(agent) FROM task_ends", (1, 8), "no function `nofun`"),
            (
                "SELECT row_number() FROM task_ends",
                (1, 8),
                "`row_number` is a function of windows: write `row_number(...) OVER ",
            ),
            (
                "SELECT date_trunc(observed_at) FROM task_events",
                (1, 1),
                "Function 'date_trunc' failed to match any signature",
            ),
            (
                "SELECT agent FROM task_events WHERE observed_at > 'x'",
                (1, 51),
                "'x' is not a time: write 2026-12-31 or 2026-12-31T07:30:00Z",
            ),
            ("SELECT CAST('x' AS BIGINT) FROM task_ends", (1, 13), "'x' is not a whole number"),
            (
                "SELECT agent task_id state FROM task_ends",
                (1, 22),
                "`state` does not fit here: is a comma or another word missing before it?",
            ),
            ("SELECT count(* FROM task_ends", (1, 16), "`FROM` does not fit here, where ) is expected"),
            ("SELECT agent FROM task_ends ORDER BY", (1, 37), "the query ends too early: an expression is missing"),
            (
                "SELECT CAST(agent AS VARCHARS) FROM task_ends",
                (1, 22),
                "no type `VARCHARS` (did you mean `VARCHAR`?); there are ",
            ),
        ] {
            let AskError::Query { line, column, message, .. } = asked(sql).await.unwrap_err() else { panic!("{sql}") };
            assert_eq!((line, column), place, "{sql}: {message}");
            // How many columns a table has is no matter of this test.
            let number = message.split(" of ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
            let said = match number.parse::<usize>() {
                Ok(_) => message.replacen(number, "NN", 1),
                Err(_) => message.clone(),
            };
            assert!(said.starts_with(words) || message.starts_with(words), "{sql}: {message}");
            assert!(!message.contains("DataFusion") && !message.contains("Schema error"), "{sql}: {message}");
        }
    }
}
