//! `rules test`: a user's cases for a user's rules.

use std::path::Path;

use super::*;

/// Refused webhook deliveries, one finding a url; reads a built-in view, as rules of users do.
pub(crate) const RULE: &str = r#"-- title    = "A webhook refused a delivery"
-- severity = "warning"
-- status   = "experimental"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent", "url"]
-- needs    = ["push_deliveries.http_status"]
-- summary  = "{url} answered {http_status}"
-- suspect  = "webhook-receiver"
-- because  = "it refused"
-- next     = "Ask the owner of {url}"
--
-- ## What it finds
-- A delivery that was refused.
-- ## Why it matters
-- Nobody is told.
-- ## First checks
-- 1. The receiver's log.
-- ## When it is wrong
-- Never.
-- ## What it cannot see
-- Deliveries that are not captured.

SELECT
    d.agent,
    d.url,
    d.http_status,
    d.observed_at,
    'confirmed' AS confidence,
    d.fact_id
FROM deliveries AS d
WHERE d.http_status >= 400
"#;

/// An own event of a delivery.
fn delivery(status: u16) -> String {
    format!(
        r#"{{"event":"a2a.push.delivery","time":"2026-11-30T06:15:00Z","service.name":"agent","server.address":"a.example","a2a.task.id":"t-1","url.full":"https://hooks.example/1","http.response.status_code":{status}}}"#
    )
}

pub(crate) fn case(why: &str, status: u16, expect: &str) -> String {
    format!("why = \"{why}\"\n\n[[lines]]\nraw = '''\n{}\n'''\n\n{expect}", delivery(status))
}

const EXPECT: &str = "[[expect]]\nrule = \"refused\"\nseverity = \"warning\"\nconfidence = \"confirmed\"\nentity = { url = \"https://hooks.example/1\" }\nevidence = [\"@1:1\"]\n";

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn folder(cases: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("rules/push/refused.sql", RULE)]);
    write(folder.path(), cases);
    folder
}

fn test(folder: &tempfile::TempDir, args: &[&str]) -> Output {
    program().args(["rules", "test", "."]).args(args).current_dir(folder).output().unwrap()
}

#[test]
fn cases_that_hold_pass_and_a_rule_without_any_is_named() {
    let folder = folder(&[
        ("cases/refused/fires_refusal/case.toml", &case("It was refused", 401, EXPECT)),
        ("cases/refused/quiet_accepted/case.toml", &case("It was not", 204, "")),
    ]);
    let output = test(&folder, &[]);
    assert_eq!(stdout(&output), "PASS  refused/fires_refusal\nPASS  refused/quiet_accepted\n2 cases: 2 hold\n");
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    write(folder.path(), &[("rules/push/other.sql", &RULE.replace(">= 400", ">= 9000"))]);
    assert!(stdout(&test(&folder, &["-q"])).ends_with("without a case: other\n"));
    assert_eq!(stdout(&test(&folder, &["--rule", "refused", "-q"])), "2 cases: 2 hold\n");
}

#[test]
fn a_case_that_does_not_hold_says_what_differs() {
    let folder = folder(&[
        ("cases/refused/fires_nothing/case.toml", &case("It was refused", 204, EXPECT)),
        (
            "cases/refused/fires_otherwise/case.toml",
            &case("It was refused", 401, &EXPECT.replace("confirmed", "likely")),
        ),
        ("cases/refused/quiet_refusal/case.toml", &case("It was not", 500, "")),
    ]);
    let output = test(&folder, &[]);
    assert_eq!(code(&output), 1);
    insta::assert_snapshot!("cases_that_differ", stdout(&output));
}

#[test]
fn mistakes_in_cases_are_told_with_their_places() {
    let of = |text: &str| {
        let folder = folder(&[("cases/refused/fires_refusal/case.toml", text)]);
        let output = test(&folder, &[]);
        assert_eq!(code(&output), 2, "{text}");
        stdout(&output)
            .lines()
            .next()
            .unwrap()
            .strip_prefix("./cases/refused/fires_refusal/case.toml:")
            .unwrap()
            .to_owned()
    };
    let good = case("It was refused", 401, EXPECT);
    assert_eq!(
        of(&good.replace("raw =", "roh =")),
        "4:1: unknown field `roh`, expected one of `from`, `pick`, `match`, `records`, `raw`, `file`, `at`, `shift`, `apart`, `stretch`, `ids`, `fresh`, `repeat`, `every`, `replace`, `set`, `add`, `remove`"
    );
    assert_eq!(
        of(&good.replace("\"warning\"", "\"loud\"")),
        "10:12: no severity `loud`; there are `info`, `warning`, `critical`"
    );
    assert_eq!(of(&good.replace("@1:1", "@1:7")), "8:1: `@1:7`: the case has no such line");
    assert_eq!(
        of(&good.replace("raw = '''", "pick = [1]\nraw = '''").replace("[1]", "[9]")),
        "3:1: no line 9: there are 1"
    );
    assert_eq!(of(&good.replace("\"refused\"", "\"refuse\"")), "9:8: no rule `refuse` (did you mean `refused`?)");
    assert_eq!(of(&good.replace("\"refused\"", "\"denied\"")), "9:8: no rule `denied`; there are `refused`");
    let other = format!("{good}\n[[expect]]\nrule = \"refusd\"\nseverity = \"info\"\n");
    assert_eq!(of(&other), "16:8: no rule `refusd` (did you mean `refused`?)");
    assert!(of(&good.replace("why = \"It", "why = It")).starts_with("1:7: "));
    assert_eq!(
        of(&good.replace("{ url =", "{ ulr =")),
        "12:12: `ulr` is not in the `entity` of refused; it has `agent`, `url`"
    );
    assert_eq!(
        of(&good.replace("a2a.push.delivery", "a2a.push.delivry")),
        "5:11: no event `a2a.push.delivry` (did you mean `a2a.push.delivery`?); there are `a2a.task.state`, \
         `a2a.artifact.pruned`, `a2a.push.delivery`, `a2a.policy.changed`, `a2a.exchange`"
    );
    assert!(of(&format!("{good}suspect = \"webhook-reciever\"\n")).starts_with(
        "14:11: no suspect `webhook-reciever` (did you mean `webhook-receiver`?); there are `client-cache`, "
    ));
    let (without, _) = good.split_once("[[expect]]").unwrap();
    assert_eq!(
        of(without),
        "7:1: fires_refusal must expect refused, the rule whose folder it is in: add [[expect]] with `rule = \"refused\"`"
    );
}

#[test]
fn events_of_others_may_have_names_of_their_own() {
    let other = r#"{"event":"a2a.call.failed","time":"2026-11-30T06:15:00Z","a2a.task.id":"t-1"}"#;
    let good = case("It was refused", 401, &EXPECT.replace("@1:1", "@1:2"));
    let text = good.replace("raw = '''\n", &format!("raw = '''\n{other}\n"));
    let output = test(&folder(&[("cases/refused/fires_refusal/case.toml", &text)]), &[]);
    assert_eq!(stdout(&output), "PASS  refused/fires_refusal\n1 case: 1 holds\n");
}

#[test]
fn folders_of_cases_with_a_mistyped_name_are_told_with_the_right_one() {
    let accepted = case("It was not", 204, "");
    let of = |path: &str| {
        let folder = folder(&[(path, &accepted)]);
        let output = test(&folder, &[]);
        assert_eq!(code(&output), 2, "{path}");
        stdout(&output).lines().next().unwrap().to_owned()
    };
    assert_eq!(
        of("cases/refusd/quiet_accepted/case.toml"),
        "./cases/refusd/quiet_accepted/case.toml:1:1: no rule `refusd` (did you mean `refused`?), by which the folder of this \
         case is called: a case stands in RULE/CASE/case.toml"
    );
    assert_eq!(
        of("cases/refused/quite_accepted/case.toml"),
        "./cases/refused/quite_accepted/case.toml:1:1: the folder of a case is fires_NAME or quiet_NAME, not `quite_accepted` \
         (did you mean `quiet_accepted`?)"
    );
    assert_eq!(
        of("cases/refused/quiet_accepted/cas.toml"),
        "./cases/refused/quiet_accepted/case.toml:1:1: no `case.toml` in this folder of a case; there is `cas.toml`"
    );
    assert_eq!(
        of("case/refused/quiet_accepted/case.toml"),
        "./case/refused/quiet_accepted/case.toml:1:1: a case stands in RULE/CASE/case.toml below ., not in \
         case/refused/quiet_accepted/case.toml (did you mean `cases`?)"
    );
}

#[test]
fn cases_without_rules_beside_them_say_for_which_rules_they_were_run() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        &[("ruls/push/refused.sql", RULE), ("cases/refused/quiet_accepted/case.toml", &case("x", 204, ""))],
    );
    let output = test(&folder, &[]);
    assert_eq!(code(&output), 2);
    assert!(
        stdout(&output).starts_with("./cases/refused/quiet_accepted/case.toml:1:1: no rule `refused`"),
        "{}",
        stdout(&output)
    );
    assert!(
        stderr(&output).contains(". has no folder `rules`: its cases were run for other rules, "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn details_that_a_finding_does_not_have_are_told_with_those_that_it_has() {
    let expect = format!("{EXPECT}details = {{ htp_status = 401 }}\n");
    let folder = folder(&[("cases/refused/fires_refusal/case.toml", &case("It was refused", 401, &expect))]);
    let said = stdout(&test(&folder, &[]));
    let wanted = "details.htp_status is not there (did you mean `http_status`?): there are `http_status`, must be 401";
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn captures_lie_beside_the_case_or_in_a_folder_of_their_own() {
    let folder = folder(&[
        ("captures/day.ndjson", &format!("{}\n{}\n", delivery(204), delivery(401))),
        (
            "cases/refused/fires_refusal/case.toml",
            &format!("why = \"x\"\n[[lines]]\nfrom = \"day.ndjson\"\npick = [2]\n{}", EXPECT.replace("@1:1", "@1:2")),
        ),
        ("cases/refused/quiet_beside/case.toml", "why = \"x\"\n[[lines]]\nfrom = \"own.ndjson\"\npick = [1]\n"),
        ("cases/refused/quiet_beside/own.ndjson", &delivery(204)),
    ]);
    let output = test(&folder, &[]);
    assert_eq!(code(&output), 0, "{}", stdout(&output));
}

#[test]
fn rules_with_mistakes_and_folders_without_cases_are_no_success() {
    let folder = folder(&[("cases/refused/quiet_accepted/case.toml", &case("x", 204, ""))]);
    write(folder.path(), &[("rules/push/refused.sql", &RULE.replace("d.http_status >=", "d.http_state >="))]);
    let output = test(&folder, &[]);
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).starts_with("./rules/push/refused.sql:32:7: "), "{}", stdout(&output));
    let empty = tempfile::tempdir().unwrap();
    let output = test(&empty, &[]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("there is no case in "), "{}", stderr(&output));
}

#[test]
fn mistakes_of_every_kind_are_told_in_one_turn() {
    let folder = folder(&[]);
    let another = |old: &str, new: &str| RULE.replace("\"A webhook", "\"Another webhook").replace(old, new);
    let rules = [
        ("rules/push/header.sql", another("\"warning\"", "\"loud\"")),
        ("rules/push/grammar.sql", another("    d.url,\n", "    d.url\n")),
        ("rules/push/table.sql", another("FROM deliveries", "FROM deliveriez")),
        ("rules/push/column.sql", another("WHERE d.http_status", "WHERE d.http_state")),
        ("rules/push/word.sql", another("'confirmed'", "'sure'")),
        (
            "rules/push/both.sql",
            another("\"warning\"", "\"loud\"").replace("WHERE d.http_status", "WHERE d.http_state"),
        ),
        ("rules/push/needs.sql", another("s.http_status\"]", "s.http_state\"]")),
    ];
    for (path, text) in &rules {
        write(folder.path(), &[(path, text)]);
    }
    let output = program().args(["rules", "check", "."]).current_dir(&folder).output().unwrap();
    let said = stdout(&output);
    for (path, _) in &rules {
        let told = said.lines().filter(|line| line.starts_with(&format!("./{path}:"))).count();
        let wrong = if path.ends_with("both.sql") { 2 } else { 1 };
        assert_eq!(told, wrong, "{path}: {said}");
    }
}

#[test]
fn mistakes_in_rules_name_what_would_be_right() {
    let folder = folder(&[]);
    let of = |old: &str, new: &str| {
        write(folder.path(), &[("rules/push/refused.sql", &RULE.replace(old, new))]);
        let output = program().args(["rules", "check", "."]).current_dir(&folder).output().unwrap();
        assert_eq!(code(&output), 1, "{new}");
        stdout(&output)
    };
    for (old, new, place, right) in [
        ("'confirmed'", "'sure'", "29:5: ", "`sure` is no confidence; there are `possible`, `likely`, `confirmed`"),
        (
            "WHERE d.http_status",
            "WHERE d.http_state",
            "32:7: ",
            "no column `d.http_state` (did you mean `d.http_status`?); of ",
        ),
        ("FROM deliveries", "FROM deliveriez", "31:6: ", "(did you mean `deliveries`?); there are `agent_dialects`, "),
        (
            "    d.url,\n",
            "    d.url\n",
            "27:6: ",
            "`.` does not fit here: is a comma or another word missing before it?",
        ),
        ("status >= 400\n", "status >=\n", "32:23: ", "the query ends too early: an expression is missing"),
        (
            "d.http_status >= 400",
            "d.observed_at >= '2026-13-01'",
            "32:24: ",
            "'2026-13-01' is not a time: write 2026-12-31 or 2026-12-31T07:30:00Z",
        ),
        (
            "    d.observed_at,",
            "    CAST(d.observed_at AS TIMESTAMPS) AS observed_at,",
            "28:27: ",
            "no type `TIMESTAMPS` (did you mean `TIMESTAMP`?)",
        ),
        (
            "[\"push_deliveries.",
            "[\"push_delivery.",
            "7:4: ",
            "no table `push_delivery` of facts (did you mean `push_deliveries`?); ",
        ),
        (">= 400", ">= $least", "32:24: ", "no param `$least`; the header has no `params`"),
        (
            "s.http_status\"]",
            "s.http_state\"]",
            "7:4: ",
            "no column `http_state` (did you mean `http_status`?); it has ",
        ),
        (
            "\"url\"]",
            "\"uri\"]",
            "6:4: ",
            "`entity` names `uri`, which the query does not yield; it yields `agent`, `url`",
        ),
        ("\"warning\"", "\"loud\"", "2:15: ", "unknown severity `loud`, expected one of `info`, `warning`, `critical`"),
        ("receiver\"", "taker\"", "9:15: ", "expected one of `client-cache`, "),
        ("## First checks", "## Checks", "17:1: ", "unknown section `Checks`; sections are `What it finds`, "),
        ("-- title ", "-- titel ", "1:4: ", "unknown field `titel` (did you mean `title`?), expected one of `title`, "),
    ] {
        let said = of(old, new);
        let wanted = format!("./rules/push/refused.sql:{place}");
        let line = said.lines().find(|line| line.starts_with(&wanted)).unwrap_or_else(|| panic!("{new}: {said}"));
        assert!(line.contains(right), "{line}");
    }
}
