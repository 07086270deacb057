//! Pages of Markdown as a browser shows them, for the service that serves its own runbooks.
//!
//! In: Markdown of ours and of users' rules. Out: a page without scripts, whose headings have the anchors that GitHub gives them.
//! Marks in the text that are HTML are shown as they are written, and links to files beside the page lead nowhere: they are
//! text.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::super::corpus::Corpus;
use super::markdown::readme;

/// The runbooks of alerts on the service itself.
const OF_SERVICE: &str = include_str!("../../../dashboards/README.md");

/// The page of all rules: what [`readme`] writes.
pub fn runbooks(corpus: &Corpus) -> String {
    page("a2a-drift: rules", &readme(corpus))
}

/// The page of the alerts on the service.
pub fn service_runbooks() -> String {
    page("a2a-drift: alerts on the service", OF_SERVICE)
}

fn page(title: &str, markdown: &str) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title}</title></head>\n<body>\n"
    );
    html::push_html(&mut page, anchored(markdown).into_iter());
    page.push_str("</body>\n</html>\n");
    page
}

/// The events of a text, with anchors, and without what leads nowhere or is no Markdown.
fn anchored(markdown: &str) -> Vec<Event<'_>> {
    let mut events: Vec<Event<'_>> = Vec::new();
    let mut heading: Option<(usize, String)> = None;
    let mut is_followed = Vec::new();
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { ref dest_url, .. }) => {
                is_followed.push(leads(dest_url));
                events.extend(leads(dest_url).then_some(event));
            }
            Event::End(TagEnd::Link) => events.extend(is_followed.pop().unwrap_or_default().then_some(event)),
            // Comments are for those who edit the page.
            Event::Html(text) | Event::InlineHtml(text) if text.trim_start().starts_with("<!--") => {}
            Event::Html(text) | Event::InlineHtml(text) => events.push(Event::Text(text)),
            Event::Start(Tag::Heading { .. }) => {
                heading = Some((events.len(), String::new()));
                events.push(event);
            }
            Event::End(TagEnd::Heading(_)) => {
                if let Some((at, words)) = heading.take()
                    && let Some(Event::Start(Tag::Heading { id, .. })) = events.get_mut(at)
                {
                    *id = Some(CowStr::from(anchor(&words)));
                }
                events.push(event);
            }
            Event::Text(ref text) | Event::Code(ref text) => {
                if let Some((_, words)) = &mut heading {
                    words.push_str(text);
                }
                events.push(event);
            }
            other => events.push(other),
        }
    }
    events
}

fn leads(url: &str) -> bool {
    url.starts_with('#') || url.starts_with("https://") || url.starts_with("http://")
}

/// The anchor that GitHub makes of a heading: letters, digits, `_` and `-`, spaces as `-`.
fn anchor(heading: &str) -> String {
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        letter if letter.is_alphanumeric() || matches!(letter, '_' | '-') => Some(letter),
        _ => None,
    };
    heading.to_lowercase().chars().filter_map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::Corpus;
    use super::*;

    #[test]
    fn every_runbook_that_an_alert_names_is_at_its_anchor() {
        let corpus = Corpus::embedded().unwrap();
        let (rules, service) = (runbooks(&corpus), service_runbooks());
        let alerts = super::super::alerts(&corpus, "http://drift.example:9464");
        let mut seen = 0;
        for line in alerts.lines() {
            let Some(url) = line.trim().strip_prefix("runbook_url: 'http://drift.example:9464/") else { continue };
            let (path, anchor) = url.trim_end_matches('\'').split_once('#').unwrap();
            let page = if path == "queries/README.md" { &rules } else { &service };
            assert!(page.contains(&format!(" id=\"{anchor}\">")), "{url}");
            seen += 1;
        }
        assert!(seen > corpus.rules.len(), "rules and the service have alerts");
    }

    #[test]
    fn a_page_shows_marks_and_follows_no_files() {
        let page = page(
            "t",
            "<!-- made -->\n\n# A <b>`x`</b> Heading!\n\n<script>a()</script>\n\n[in](#a) [out](https://a.example/) [file](x.sql)\n",
        );
        assert!(page.contains("<h1 id=\"a-x-heading\">"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains("made"), "{page}");
        assert!(page.contains("href=\"#a\"") && page.contains("href=\"https://a.example/\""), "{page}");
        assert!(page.contains("file") && !page.contains("x.sql"), "{page}");
    }
}
