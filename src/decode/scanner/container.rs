//! Lists whose elements are records of their own, wherever documents of known formats have them.
//!
//! In: the depth of a list and the keys on the way to it. Out: which list it is. Looks at no element.

use super::key::Name;

/// A list whose elements are records of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decode) enum Container {
    /// The document itself is a list.
    Array,
    /// `data` of Jaeger.
    Traces,
    /// `log.entries` of a HAR.
    HarEntries,
    /// `resourceSpans`, `batches`, each also in `trace` and `result`.
    ResourceSpans,
    /// `resourceLogs`.
    ResourceLogs,
    /// `data.result` or `streams` of Loki.
    LokiStreams,
    /// `values` of one of [`Container::LokiStreams`].
    LokiValues,
    /// `events` or `logEvents` of CloudWatch.
    LogEvents,
    /// `results` of CloudWatch Insights.
    InsightsRows,
    /// `hits.hits` of Elasticsearch.
    Hits,
    /// `entries` of Cloud Logging.
    LogEntries,
}

impl Container {
    /// Others use the same keys: the first element has to show that it is one.
    pub(super) fn is_doubtful(self) -> bool {
        !matches!(self, Self::Array | Self::HarEntries | Self::ResourceSpans | Self::ResourceLogs)
    }

    /// The container that a list is, by its depth, the keys on the way to it, and which of the levels are objects.
    pub(super) fn at(depth: u64, names: [Name; 2], objects: u128) -> Option<Self> {
        let in_objects = objects & 0b11 == 0b11;
        match (depth, names) {
            (0, _) => Some(Self::Array),
            (1, [Name::Data, _]) => Some(Self::Traces),
            (1, [Name::ResourceSpans | Name::Batches, _]) => Some(Self::ResourceSpans),
            (1, [Name::ResourceLogs, _]) => Some(Self::ResourceLogs),
            (1, [Name::Streams, _]) => Some(Self::LokiStreams),
            (1, [Name::Events | Name::LogEvents, _]) => Some(Self::LogEvents),
            (1, [Name::Results, _]) => Some(Self::InsightsRows),
            (1, [Name::Entries, _]) => Some(Self::LogEntries),
            (2, [Name::Data, Name::Result]) if in_objects => Some(Self::LokiStreams),
            (2, [Name::Hits, Name::Hits]) if in_objects => Some(Self::Hits),
            (2, [Name::Log, Name::Entries]) if in_objects => Some(Self::HarEntries),
            (2, [Name::Trace | Name::Result, Name::ResourceSpans | Name::Batches]) if in_objects => {
                Some(Self::ResourceSpans)
            }
            _ => None,
        }
    }
}
