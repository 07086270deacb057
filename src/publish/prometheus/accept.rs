//! In which format a scraper wants its metrics.
//!
//! In: the Accept header of a request, which may hold anything. Out: one of the formats that there are; text for who asks for
//! none of them, since a scraper reads what it gets better than a refusal.

/// A format of `/metrics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// Prometheus text 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// What the answer is called. Prometheus 3 takes no answer without it.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// The format with the highest weight (RFC 9110, 12.5.1). Where both weigh the same, OpenMetrics if it was asked for by
    /// its name.
    pub(super) fn accepted(accept: &str) -> Self {
        let mut text = 0;
        let mut open_metrics = 0;
        for range in accept.split(',').filter_map(Range::parse) {
            match range.media_type.as_str() {
                "application/openmetrics-text" if matches!(range.version.as_str(), "" | "1.0.0") => {
                    open_metrics = range.weight.max(open_metrics);
                }
                "text/plain" | "text/*" | "*/*" => text = range.weight.max(text),
                _ => {}
            }
        }
        if open_metrics > 0 && open_metrics >= text { Self::OpenMetrics } else { Self::Text }
    }
}

/// One member of an Accept header.
struct Range {
    media_type: String,
    version: String,
    /// In thousandths.
    weight: u16,
}

impl Range {
    fn parse(member: &str) -> Option<Self> {
        let mut parts = member.split(';').map(str::trim);
        let media_type = parts.next()?.to_ascii_lowercase();
        let mut range = Self { media_type, version: String::new(), weight: 1000 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => value.clone_into(&mut range.version),
                "q" => range.weight = thousandths(value)?,
                _ => {}
            }
        }
        Some(range)
    }
}

/// A weight of 0 to 1; none when it is none.
fn thousandths(weight: &str) -> Option<u16> {
    let weight: f64 = weight.parse().ok()?;
    (0.0..=1.0).contains(&weight).then(|| (weight * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_prometheus_asks_for_is_open_metrics() {
        // Sent by Prometheus 2.42 and by 3.5 without native histograms.
        for accept in [
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,application/openmetrics-text;version=1.0.0;q=0.6,*/*;q=0.2",
        ] {
            assert_eq!(Format::accepted(accept), Format::OpenMetrics, "{accept}");
        }
    }

    #[test]
    fn the_higher_weight_wins_and_zero_is_a_refusal() {
        for (accept, expected) in [
            ("application/openmetrics-text; q=0.4, text/plain; q=0.5", Format::Text),
            ("text/plain;q=0.5,application/openmetrics-text;q=0.501", Format::OpenMetrics),
            ("application/openmetrics-text;q=0", Format::Text),
            ("application/openmetrics-text;q=0,*/*", Format::Text),
            ("APPLICATION/OpenMetrics-Text ; Version=\"1.0.0\" ; Q=1", Format::OpenMetrics),
        ] {
            assert_eq!(Format::accepted(accept), expected, "{accept}");
        }
    }

    #[test]
    fn who_asks_for_nothing_known_gets_text() {
        for accept in [
            "",
            "*/*",
            "text/html,application/xhtml+xml,*/*;q=0.8",
            "application/openmetrics-text;version=0.0.1",
            "application/openmetrics-text;q=7",
            "application/openmetrics-text;q=NaN",
            ";;,,==,q",
            "application/json",
        ] {
            assert_eq!(Format::accepted(accept), Format::Text, "{accept}");
        }
    }
}
