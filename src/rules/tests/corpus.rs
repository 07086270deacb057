//! Loading: what a query file must be.

use super::super::{Status, Suspect};
use super::*;

/// The rule of the style guide with a text of it replaced.
fn changed(from: &str, to: &str) -> Vec<String> {
    let (path, text) = split_brain();
    assert!(text.contains(from), "{from}");
    problems(&[(path, text.replacen(from, to, 1)), task_verdicts(), terminal_events()])
}

#[test]
fn the_example_of_the_style_guide_is_a_corpus() {
    let corpus = corpus(&[split_brain(), task_verdicts(), terminal_events()]).unwrap();
    assert_eq!(
        corpus.views.iter().map(|v| (v.name.as_str(), v.is_stored())).collect::<Vec<_>>(),
        [("terminal_events", false), ("task_verdicts", true)]
    );
    let rule = corpus.rule("split_brain").unwrap();
    assert_eq!(rule.category, "lifecycle");
    assert_eq!(rule.header.title, "Client and server disagree on how a task ended");
    assert_eq!(rule.query.reads, ["task_verdicts"]);
    assert_eq!(rule.query.line, 25);
    assert_eq!((rule.runbook[2].heading.as_str(), rule.runbook[2].body.as_str()), ("First checks", "One."));
}

#[test]
fn what_is_wrong_in_a_header_is_told_with_its_line_and_the_words_that_would_be_right() {
    for (from, to, expected) in [
        (
            "-- since ",
            "-- sincere ",
            "split_brain.sql:4:4: unknown field `sincere` (did you mean `since`?), expected one of `title`, `severity`",
        ),
        (
            "\"critical\"",
            "\"fatal\"",
            "split_brain.sql:2:15: unknown severity `fatal`, expected one of `info`, `warning`, `critical`",
        ),
        ("\"stable\"", "\"solid\"", "split_brain.sql:3:15: unknown variant `solid`, expected one of `experimental`"),
        (
            "\"remote-runtime\"",
            "\"nobody\"",
            "split_brain.sql:9:15: unknown variant `nobody`, expected one of `client-cache`",
        ),
        ("task_events.state@client", "task_events", "split_brain.sql:7:15: `task_events` is no need"),
        ("state@client", "state@nobody", "split_brain.sql:7:15: `nobody` observes nothing"),
        ("{task_id} on", "{task_id on", "split_brain.sql:8:15: `{task_id on {agent}` is not the name of a column"),
        ("\"2 seconds\"", "[2]", "split_brain.sql:12:25: a param must be a string, a number or a boolean"),
        ("-- title ", "--title ", "split_brain.sql:1:1: a line of the header begins with `-- `"),
        ("= \"0.1.0\"", "= 0.1.0", "split_brain.sql:4:"),
    ] {
        let found = changed(from, to);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{to}: {found:?}");
    }
}

#[test]
fn a_runbook_has_its_five_sections_and_text_in_each() {
    assert_eq!(changed("-- Because.\n", ""), ["split_brain.sql:16:1: the section `## Why it matters` is empty"]);
    assert_eq!(
        changed("## First checks", "## Checks"),
        [
            "split_brain.sql:18:1: unknown section `Checks`; sections are `What it finds`, `Why it matters`, `First checks`, \
         `When it is wrong`, `What it cannot see`",
            "split_brain.sql:1:1: the section `## First checks` is missing",
        ]
    );
}

#[test]
fn a_file_holds_one_query_without_block_comments() {
    for (from, to, expected) in [
        ("SELECT\n", "SELECT /* */\n", "split_brain.sql:25:8: comments are written `--`"),
        ("t.server_state\n", "t.server_state; SELECT 1\n", "split_brain.sql:25:1: a file holds one query, not several"),
        ("FROM task_verdicts AS t", "FRM task_verdicts AS t", "split_brain.sql:35:5: "),
        (
            "FROM task_verdicts",
            "FROM task_verdict",
            "split_brain.sql:35:6: no table, view or rule `task_verdict` (did you mean `task_verdicts`?); there are `agent_dialects`",
        ),
    ] {
        let found = changed(from, to);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{to}: {found:?}");
    }
    let (path, text) = split_brain();
    let header: String = text.lines().take(23).map(|line| format!("{line}\n")).collect();
    for sql in [
        "DROP TABLE task_events",
        "COPY task_events TO 'x'",
        "CREATE VIEW v AS SELECT 1",
        "INSERT INTO cards VALUES (1)",
    ] {
        let found = problems(&[(path, format!("{header}{sql}\n"))]);
        assert!(found[0].ends_with("a file holds one query: `SELECT` or `WITH`"), "{found:?}");
    }
    assert_eq!(problems(&[(path, header)]), ["split_brain.sql:23:1: there is no query below the header"]);
    assert_eq!(
        problems(&[(path, "SELECT 1\n".to_owned())]),
        ["split_brain.sql:1:1: the file begins with its header: `-- title = \"...\"`"]
    );
}

#[test]
fn media_types_in_text_are_no_comments() {
    let (path, text) = split_brain();
    let text = text.replace("-- Because.", "-- A part of `*/*` or `text/*` fits.").replace("'confirmed'", "'*/*'");
    assert_eq!(problems(&[(path, text), task_verdicts(), terminal_events()]), Vec::<String>::new());
}

#[test]
fn names_are_unique_and_files_lie_where_they_belong() {
    let (_, text) = split_brain();
    let view = |name: &str| (format!("views/{name}.sql"), task_verdicts().1);
    let (cards, again) = (view("cards"), view("split_brain"));
    let all = [split_brain(), task_verdicts(), terminal_events()];
    let with = |path: &str, text: &String| problems(&[&all[..], &[(path, text.clone())]].concat());
    assert_eq!(
        with(&cards.0, &cards.1),
        ["cards.sql:1:1: the name `cards` is taken by a table, a view or another rule"]
    );
    assert!(with(&again.0, &again.1)[0].contains("the name `split_brain` is taken"));
    assert!(with("rules/push/split_brain.sql", &text)[0].contains("the name `split_brain` is taken"));
    assert!(with("rules/push/SplitBrain.sql", &text)[0].contains("lower case letters"));
    assert!(with("rules/stray.sql", &text)[0].contains("rules are `rules/<category>/<id>.sql`"));
    assert_eq!(with("rules/push/.gitkeep", &String::new()), Vec::<String>::new());
    assert_eq!(with("aliases.toml", &String::new()), Vec::<String>::new());
}

#[test]
fn a_cte_does_not_hide_a_table() {
    let (path, text) = rule("hides", &[], "WITH cards AS (SELECT 1 AS x) SELECT c.x FROM cards AS c");
    let expected = format!("hides.sql:{RULE_SQL_LINE}:6: `WITH cards` hides the table, view or rule of that name");
    assert_eq!(problems(&[(path.as_str(), text)]), [expected]);
}

#[test]
fn a_circle_is_told_by_its_members() {
    let view = |name: &str, reads: &str| {
        (format!("views/{name}.sql"), format!("-- title = \"{name}\"\n--\nSELECT v.agent\nFROM {reads} AS v\n"))
    };
    let views = [view("a", "b"), view("b", "c"), view("c", "a"), view("d", "a"), view("e", "cards")];
    let views: Vec<(&str, String)> = views.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    assert_eq!(problems(&views), ["a.sql:4:6: these read each other in a circle: a -> b -> c -> a"]);
    let (path, text) = rule("self", &[], "SELECT s.agent FROM self AS s");
    assert!(problems(&[(path.as_str(), text)])[0].ends_with("these read each other in a circle: self -> self"));
}

#[test]
fn views_read_no_rules() {
    let view = "-- title = \"v\"\n--\nSELECT s.agent FROM split_brain AS s\n".to_owned();
    let found = problems(&[split_brain(), task_verdicts(), terminal_events(), ("views/v.sql", view)]);
    assert!(found[0].starts_with("v.sql:3:21: no table or view `split_brain`"), "{found:?}");
}

#[test]
fn a_folder_without_queries_is_no_corpus() {
    let error = corpus(&[("aliases.toml", String::new())]).unwrap_err().to_string();
    assert!(
        error.ends_with("there are no `rules/<category>/<id>.sql` and no `views/<name>.sql` in this folder"),
        "{error}"
    );
    let error = Corpus::from_dir(Path::new("/no/such/folder")).unwrap_err().to_string();
    assert_eq!(error, "cannot read /no/such/folder");
}

#[test]
fn a_folder_without_a_rule_is_no_corpus_unless_it_is_beside_one_that_has() {
    let expected = "there is no rule in this folder: rules are `rules/<category>/<id>.sql`";
    let error = corpus(&[task_verdicts(), terminal_events()]).unwrap_err().to_string();
    assert!(error.ends_with(expected), "{error}");
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("views")).unwrap();
    fs::create_dir_all(dir.path().join("rules/card")).unwrap();
    fs::write(dir.path().join(terminal_events().0), terminal_events().1).unwrap();
    let error = Corpus::of(Some(dir.path()), None).unwrap_err().to_string();
    assert!(error.ends_with(expected), "{error}");
    assert!(!Corpus::of(None, Some(dir.path())).unwrap().rules.is_empty());
}

#[test]
fn the_corpus_in_the_binary_holds_together() {
    Corpus::embedded().unwrap();
}

#[test]
fn a_word_of_a_header_is_read_as_it_is_written() {
    use serde::Deserialize;
    let read = |word: &str| toml::Value::from(word);
    for suspect in Suspect::ALL {
        assert_eq!(Suspect::deserialize(read(suspect.as_str())), Ok(suspect));
        assert_eq!(Suspect::parse(suspect.as_str()), Some(suspect));
    }
    for status in [Status::Experimental, Status::Stable, Status::Deprecated] {
        assert_eq!(Status::deserialize(read(status.as_str())), Ok(status));
    }
}

/// Views that each read the one before twice: written out, each is as long as all before it together.
#[test]
fn views_that_double_are_refused_before_they_are_written_out() {
    let header = "-- title = \"Once more\"\n\n";
    let select = |from: &str| format!("{header}SELECT\n    a.agent\nFROM {from} AS a\n");
    let mut files = vec![("views/d0.sql".to_owned(), select("task_events"))];
    for nth in 1..30 {
        let before = format!("d{}", nth - 1);
        let text = format!("{}INNER JOIN {before} AS b ON a.agent = b.agent\n", select(&before));
        files.push((format!("views/d{nth}.sql"), text));
    }
    let mut files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    files.extend([split_brain(), task_verdicts(), terminal_events()]);
    let told = super::super::check(&corpus(&files).unwrap());
    assert!(!told.is_empty());
    let told = told[0].to_string();
    assert!(
        told.contains("more than 16384 steps: a view that is read more than once is written out as often"),
        "{told}"
    );
}

#[test]
fn endless_chains_of_operators_are_refused_where_they_pass_the_limit() {
    let (path, text) = split_brain();
    let chain = "    OR t.agent = 'a'\n".repeat(20_000);
    let found = problems(&[(path, format!("{text}{chain}"))]);
    let told = "the query has more than 4000 operators: write long lists as `x IN (...)`";
    assert!(found.len() == 1 && found[0].ends_with(told), "{found:?}");
}

#[test]
fn what_reads_a_file_that_cannot_be_read_is_not_told_that_there_is_none() {
    let (path, verdicts) = task_verdicts();
    let found = problems(&[split_brain(), (path, verdicts.replace("SELECT", "SELECT 'x")), terminal_events()]);
    assert!(found.len() == 1 && found[0].contains("Unterminated string literal"), "{found:?}");
}
