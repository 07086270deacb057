//! Pieces of PromQL that several panels are made of.
//!
//! In: metrics and matchers. Out: expressions with Grafana's variables in them.

/// A counter as a rate.
pub(super) fn rate(metric: &str, chosen: &str) -> String {
    format!("rate({metric}{{{chosen}}}[$__rate_interval])")
}

/// A counter as what it counts in a minute: of tasks and calls of agents a second sees parts of one.
pub(super) fn per_minute(by: &str, metric: &str, chosen: &str) -> String {
    format!("60 * sum by ({by}) ({})", rate(metric, chosen))
}

/// What a counter counted in a step.
pub(super) fn counted(metric: &str, chosen: &str) -> String {
    format!("increase({metric}{{{chosen}}}[$__rate_interval])")
}

/// Matchers of what did not end well. Of what nobody saw the end, that is not known.
pub(super) fn failing(chosen: &str) -> String {
    format!(r#"{chosen}, outcome!~"ok|unknown""#)
}

/// The share of a counter that did not end well; `none` where nothing ever failed, and nothing where nothing is counted.
pub(super) fn share_failing(metric: &str, chosen: &str, none: &str) -> String {
    format!("(sum({}) or {none}) / (sum({}) > 0)", rate(metric, &failing(chosen)), rate(metric, chosen))
}

/// What of a counter moved within the time that is shown: labels that are known from the start stand at zero.
pub(super) fn counting(by: &str, metric: &str, chosen: &str) -> String {
    let shown = format!("sum by ({by}) ({}) > 0", shown_rate(metric, chosen));
    format!("sum by ({by}) ({}) and {shown}", rate(metric, chosen))
}

/// A counter as one rate over all the time that is shown: to choose series by, the same at each step.
pub(super) fn shown_rate(metric: &str, chosen: &str) -> String {
    format!("rate({metric}{{{chosen}}}[$__range] @ end())")
}

/// A gauge as its greatest value in all the time that is shown.
pub(super) fn shown_peak(metric: &str, chosen: &str) -> String {
    format!("max_over_time({metric}{{{chosen}}}[$__range] @ end())")
}

/// Those series of an expression that come first by another: `topk` alone chooses anew at each step, and so draws many more.
pub(super) fn first(count: u8, expr: &str, ranked: &str) -> String {
    format!("{expr} and topk({count}, {ranked})")
}

/// The share of each label value's counts that did not end well, of the ten worst.
pub(super) fn worst_shares(by: &str, metric: &str, chosen: &str) -> String {
    let share = |rate: fn(&str, &str) -> String| {
        format!("sum by ({by}) ({}) / sum by ({by}) ({})", rate(metric, &failing(chosen)), rate(metric, chosen))
    };
    first(10, &share(rate), &format!("{} > 0", share(shown_rate)))
}

/// A quantile of a histogram.
pub(super) fn quantile(q: &str, metric: &str, chosen: &str) -> String {
    format!("histogram_quantile({q}, sum by (le) ({}))", rate(&format!("{metric}_bucket"), chosen))
}

/// Zero while the service is there, and nothing when it is not: no news is not good news.
pub(super) fn watched(chosen: &str) -> String {
    format!("max(a2a_drift_build_info{{{chosen}}}) * 0")
}

/// Findings that fire, of the severities that the reader picked.
pub(super) fn active(chosen: &str) -> String {
    format!(r#"a2a_drift_active_findings{{{chosen}, severity=~"$severity"}}"#)
}

/// Cards, with the first eight digits of the fingerprint as the label `card`.
pub(super) fn card(chosen: &str) -> String {
    format!(r#"label_replace(a2a_card_info{{{chosen}}}, "card", "$1", "fingerprint", "(.{{8}}).*")"#)
}
