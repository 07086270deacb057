//! Pages made of the corpus.

use std::collections::BTreeSet;

use super::super::render;
use super::super::source::SECTIONS;
use super::*;

const PREFACE: &str = include_str!("../render/preface.md");

/// The anchors that GitHub gives to the headings of a page: lower case, without punctuation but `-` and `_`, blanks to
/// `-`, and a number behind what was there before.
fn anchors(page: &str) -> Vec<(String, String)> {
    let mut taken = BTreeSet::new();
    let mut fenced = false;
    let mut anchors = Vec::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        let heading = line.trim_start_matches('#');
        let level = line.len() - heading.len();
        let Some(heading) = heading.strip_prefix(' ').filter(|_| level > 0 && !fenced) else { continue };
        let slug: String = heading
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let numbered = (1..).map(|number| format!("{slug}-{number}"));
        let anchor = std::iter::once(slug.clone()).chain(numbered).find(|anchor| !taken.contains(anchor)).unwrap();
        taken.insert(anchor.clone());
        anchors.push((heading.to_owned(), anchor));
    }
    anchors
}

#[test]
fn the_anchor_of_a_runbook_is_the_id_that_findings_carry() {
    let corpus = Corpus::embedded().unwrap();
    let anchors = anchors(&render::readme(&corpus));
    for rule in &corpus.rules {
        let link = render::link(&rule.id);
        let (page, anchor) = link.split_once('#').unwrap();
        assert_eq!(page, "queries/README.md");
        let heading = anchors.iter().find(|(_, a)| a == anchor).map(|(heading, _)| heading);
        assert_eq!(heading, Some(&rule.id), "{link} leads elsewhere");
    }
}

#[test]
fn no_heading_takes_the_anchor_of_a_rule_named_like_a_category_or_a_section() {
    let named = |id: &str| {
        let (path, text) = rule(id, &[], "SELECT e.agent FROM task_events AS e");
        (path.replace("lifecycle", "rules"), text)
    };
    let files = ["rules", "views", "next", "index"].map(named);
    let corpus = corpus(&files.each_ref().map(|(path, text)| (path.as_str(), text.clone()))).unwrap();
    let anchors = anchors(&render::readme(&corpus));
    for rule in &corpus.rules {
        assert!(anchors.contains(&(rule.id.clone(), rule.id.clone())), "{anchors:?}");
    }
}

#[test]
fn text_of_a_header_stays_text_and_names_of_other_rules_become_links() {
    let (first, text) =
        rule("one_rule", &[("title", r#""Types `*/*` | *any* <b>""#)], "SELECT e.agent FROM task_events AS e");
    let text =
        text.replace("-- Because.", "-- See other_rule, `other_rule`, another_rule, [it](#other_rule) and one_rule.");
    let (second, other) = rule("other_rule", &[], "SELECT e.agent FROM task_events AS e");
    let page = render::readme(&corpus(&[(first.as_str(), text), (second.as_str(), other)]).unwrap());
    assert!(page.contains("\n**Types `*/*` | \\*any\\* \\<b>**\n"), "{page}");
    assert!(page.contains("| Types `*/*` \\| \\*any\\* \\<b> |"), "{page}");
    let linked = "\nSee [other_rule](#other_rule), `other_rule`, another_rule, [it](#other_rule) and one_rule.\n";
    assert!(page.contains(linked), "{page}");
}

#[test]
fn every_link_within_the_page_leads_to_a_heading() {
    let page = render::readme(&Corpus::embedded().unwrap());
    let anchors: BTreeSet<String> = anchors(&page).into_iter().map(|(_, anchor)| anchor).collect();
    let links: BTreeSet<&str> = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(!links.is_empty());
    let dead: Vec<_> = links.into_iter().filter(|link| !anchors.contains(*link)).collect();
    assert!(dead.is_empty(), "{dead:?}");
}

#[test]
fn the_page_explains_every_key_that_a_header_may_have_and_names_every_section() {
    let (path, text) = split_brain();
    let refused = problems(&[(path, text.replacen("-- title ", "-- no_such_key ", 1))]);
    let (_, known) = refused[0].split_once("expected one of ").unwrap();
    let keys: Vec<&str> = known.split(", ").collect();
    assert!(keys.len() > 10, "{keys:?}");
    let explained: Vec<&str> =
        PREFACE.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(key, _)| key).collect();
    assert_eq!(explained, keys.iter().map(|key| key.trim_matches('`')).collect::<Vec<_>>());
    for section in SECTIONS {
        assert!(PREFACE.contains(section), "{section}");
    }
}

#[test]
fn every_rule_is_in_the_table_the_list_and_on_a_page_of_its_own() {
    let corpus = Corpus::embedded().unwrap();
    let (table, list) = (render::table(&corpus), render::list(&corpus, None));
    assert_eq!(list.lines().count(), corpus.rules.len());
    for rule in &corpus.rules {
        let link = format!("[{0}](queries/README.md#{0})", rule.id);
        assert_eq!(table.matches(&link).count(), 1, "{link}");
        let page = render::show(rule, 80);
        for section in SECTIONS {
            assert!(page.contains(section), "{}: {section}", rule.id);
        }
    }
}
