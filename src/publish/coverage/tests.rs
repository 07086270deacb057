use super::*;
use crate::findings::coverage::{Gain, Missing, Sight, Told, Unseen};
use crate::findings::{Intake, SourceIntake};

fn sight(rule: &str, state: State, missing: Vec<Missing>, unseen: Vec<Unseen>) -> Sight {
    Sight { rule: rule.to_owned(), state, missing, unseen, nameless: false }
}

fn missing(need: &str, has_other: bool, never: &[&str]) -> Missing {
    let never = never.iter().map(|why| (*why).to_owned()).collect();
    Missing { need: need.to_owned(), has_other, advice: "Record it.".to_owned(), unseen: None, never }
}

fn sample() -> Coverage {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let source = |name: &str, formats: &[&'static str], records| SourceIntake {
        name: name.to_owned(),
        formats: formats.to_vec(),
        emitters: names(&["kong"]),
        shown: vec![],
        records,
        logs: 0,
        kept: 0,
        rejects: u64::from(records == 7),
    };
    Coverage {
        intake: Intake {
            sources: vec![source("logs/kong.ndjson", &["kong"], 40), source("logs/notes\u{1b}.txt", &[], 7)],
            facts: 52,
            ..Intake::default()
        },
        yields: vec![vec![("exchanges", 40), ("task_events", 12)], vec![]],
        agents: names(&["a.example", "b.example"]),
        clients: None,
        emitters: vec![Told { id: "kong".into(), title: "Kong AI A2A Proxy".into() }],
        rules: vec![
            sight(
                "duplicate_submission",
                State::Blind,
                vec![missing("exchanges.content_hash", false, &["Kong: spans hold no bodies"])],
                vec![],
            ),
            sight(
                "split_brain",
                State::Partly,
                vec![],
                vec![Unseen { agent: "b.example".into(), missing: names(&["task_events.state"]) }],
            ),
            sight(
                "scheme_mismatch",
                State::Blind,
                vec![
                    Missing {
                        unseen: Some("a call that registers a webhook".into()),
                        ..missing("exchanges.push_url", false, &[])
                    },
                    missing("push_deliveries.task_id", false, &[]),
                ],
                vec![],
            ),
            sight("stale_card_retry", State::Able, vec![], vec![]),
            sight("terminal_reopened", State::Partly, vec![missing("task_events.generation", true, &[])], vec![]),
        ],
        gains: vec![
            Gain {
                emitter: "Kong AI A2A Proxy".into(),
                set: "plugins: ai-a2a-proxy: config.logging: {log_statistics: true, log_payloads: true}".into(),
                note: "Payloads are cut at config.logging.max_payload_size.".into(),
                source: "https://developer.konghq.com/".into(),
                fills: names(&["exchanges.content_hash"]),
                wakes: names(&["duplicate_submission"]),
                perhaps: names(&["unadvertised_skill"]),
                if_said: names(&["exchanges.skill_id"]),
                helps: vec![],
            },
            Gain {
                note: "Record agent cards with their bodies.".into(),
                fills: names(&["cards.url"]),
                helps: names(&["endpoint_suspect"]),
                ..Gain::default()
            },
        ],
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn the_page_on_80_and_on_160_columns() {
    insta::assert_snapshot!("coverage_80", plain(&page(&sample(), 80, false)));
    insta::assert_snapshot!("coverage_160", plain(&page(&sample(), 160, false)));
}

#[test]
fn the_page_in_colour_says_the_same() {
    let coloured = page(&sample(), 80, false);
    assert!(
        coloured.starts_with(
            "\u{1b}[1m\u{1b}[31mCOVERAGE\u{1b}[0m  3 of 5 rules can judge, 2 of them in part, 2 are blind\n"
        ),
        "{coloured:?}"
    );
    assert!(!plain(&coloured).contains('\u{1b}'));
}

#[test]
fn the_markdown_is_a_list_to_tick_off() {
    insta::assert_snapshot!("coverage_markdown", markdown(&sample()));
}

#[test]
fn the_schema_names_every_member_of_the_output() {
    let output: serde_json::Value = serde_json::from_str(&json(&sample()).unwrap()).unwrap();
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    fn check(output: &serde_json::Value, schema: &serde_json::Value, path: &str) {
        if let (Some(members), Some(known)) = (output.as_object(), schema["properties"].as_object()) {
            let (have, want): (Vec<_>, Vec<_>) = (members.keys().collect(), known.keys().collect());
            assert_eq!(have, want, "{path}");
            members.iter().for_each(|(name, value)| check(value, &known[name], &format!("{path}/{name}")));
        }
        for item in output.as_array().into_iter().flatten() {
            check(item, &schema["items"], path);
        }
    }
    check(&output, &schema, "");
}
