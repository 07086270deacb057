//! How home-made recorders spell the parts of an exchange.
//!
//! In: the built-in table below and what the configuration adds. Out: for each field, spellings in order of preference.
//! Holds names only: what makes an object an exchange is decided in `home_made`.

use std::sync::LazyLock;

/// A part of an exchange that a recorder may spell in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    /// HTTP method.
    Method,
    /// Absolute url, or path.
    Url,
    /// Path, when host and path are apart.
    Path,
    /// Host, with or without port.
    Host,
    /// `http` or `https`.
    Scheme,
    /// Headers of the request.
    RequestHeaders,
    /// Body of the request.
    RequestBody,
    /// HTTP status.
    Status,
    /// Headers of the response.
    ResponseHeaders,
    /// Body of the response.
    ResponseBody,
    /// Start of the call.
    Start,
    /// End of the call.
    End,
    /// Duration in milliseconds, or text with a unit.
    Duration,
    /// Duration in seconds.
    DurationSeconds,
    /// Duration in microseconds.
    DurationMicros,
    /// Duration in nanoseconds.
    DurationNanos,
    /// Caller.
    Client,
    /// Callee.
    Server,
    /// `agent` or `webhook`.
    Leg,
    /// Agent's name.
    Agent,
    /// Who saw it.
    Observer,
    /// Name of the tap.
    ObserverName,
    /// Trace id.
    TraceId,
    /// A body was cut short.
    Truncated,
    /// The caller went away.
    ClientDisconnected,
    /// Bodies are base64.
    Base64,
    /// Pieces of a streamed response.
    Chunks,
    /// Method, target and protocol in one text.
    RequestLine,
    /// nginx's duration in seconds: the time beside it is that of the end.
    RequestSeconds,
    /// Header `traceparent`, where it is logged by itself.
    Traceparent,
    /// Header `A2A-Version`, where it is logged by itself.
    Version,
}

/// Field, its name in the configuration, and its spellings without separators, in lower case: `requestmethod` stands
/// for `request_method`, `requestMethod`, `request.method`, `Request-Method` and `{"request": {"method": ...}}`.
const BUILT_IN: [(Field, &str, &[&str]); 31] = [
    (Field::Method, "method", &["requestmethod", "reqmethod", "method", "verb"]),
    (
        Field::Url,
        "url",
        &["requesturl", "requrl", "requesturi", "requri", "url", "uri", "urlfull", "fullurl", "endpoint"],
    ),
    (Field::Path, "path", &["requestpath", "reqpath", "path", "urlpath", "target", "requesttarget", "route"]),
    (
        Field::Host,
        "host",
        &["requesthost", "reqhost", "host", "authority", "requestauthority", "serverhost", "urlhost", "baseurl"],
    ),
    (Field::Scheme, "scheme", &["requestscheme", "reqscheme", "scheme", "urlscheme", "requestprotocol"]),
    (Field::RequestHeaders, "request_headers", &["requestheaders", "reqheaders", "requestheader", "reqheader"]),
    (
        Field::RequestBody,
        "request_body",
        &[
            "requestbody",
            "reqbody",
            "requestpayload",
            "reqpayload",
            "requestjson",
            "requestcontent",
            "requestdata",
            "reqdata",
            "requesttext",
            "requestpostdata",
            "requestbodytext",
            "requestbodybase64",
            "reqbodybase64",
            "requestmessage",
            "requestraw",
        ],
    ),
    (
        Field::Status,
        "status",
        &[
            "responsestatus",
            "responsestatuscode",
            "responsecode",
            "resstatus",
            "resstatuscode",
            "respstatus",
            "respstatuscode",
            "replystatus",
            "replystatuscode",
            "statuscode",
            "status",
            "httpstatus",
            "httpstatuscode",
            "code",
            "responsestatuscodevalue",
            "responsehttpstatus",
        ],
    ),
    (
        Field::ResponseHeaders,
        "response_headers",
        &["responseheaders", "resheaders", "respheaders", "replyheaders", "responseheader", "resheader", "respheader"],
    ),
    (
        Field::ResponseBody,
        "response_body",
        &[
            "responsebody",
            "resbody",
            "respbody",
            "replybody",
            "responsepayload",
            "respayload",
            "resppayload",
            "responsejson",
            "responsecontent",
            "responsedata",
            "resdata",
            "responsetext",
            "responsebodytext",
            "responsebodybase64",
            "resbodybase64",
            "respbodybase64",
            "responsemessage",
            "responseraw",
        ],
    ),
    (
        Field::Start,
        "start",
        &[
            "startunixns",
            "starteddatetime",
            "startedat",
            "starttime",
            "startts",
            "starttimestamp",
            "start",
            "requesttimestamp",
            "requeststartedat",
            "requestts",
            "requestat",
            "reqtime",
            "timestamp",
            "timestampms",
            "timestampns",
            "time",
            "ts",
            "datetime",
            "date",
            "msec",
            "timeiso8601",
            "timelocal",
            "eventtime",
            "createdat",
        ],
    ),
    (
        Field::End,
        "end",
        &[
            "endedat",
            "endtime",
            "endts",
            "end",
            "finishedat",
            "completedat",
            "responsetimestamp",
            "responsetime",
            "responseat",
            "responsets",
            "resptime",
        ],
    ),
    (
        Field::Duration,
        "duration_ms",
        &[
            "durationms",
            "durationmillis",
            "elapsedms",
            "elapsedmillis",
            "latencyms",
            "tookms",
            "timems",
            "responsetimems",
            "totalms",
            "ms",
            "duration",
            "elapsed",
            "latency",
            "took",
        ],
    ),
    (
        Field::DurationSeconds,
        "duration_s",
        &[
            "durations",
            "durationsec",
            "durationseconds",
            "elapseds",
            "elapsedsec",
            "elapsedseconds",
            "latencys",
            "latencysec",
            "latencyseconds",
        ],
    ),
    (Field::DurationMicros, "duration_us", &["durationus", "durationmicros", "elapsedus", "latencyus"]),
    (Field::DurationNanos, "duration_ns", &["durationns", "durationnanos", "elapsedns", "latencyns"]),
    (
        Field::Client,
        "client",
        &[
            "client",
            "clientname",
            "caller",
            "clientaddress",
            "clientaddr",
            "clientip",
            "remoteaddr",
            "remoteaddress",
            "remoteip",
            "sourceip",
            "sourceaddress",
            "peer",
            "peeraddress",
            "requestclient",
            "requestremoteaddr",
            "requestclientip",
            "srcaddr",
            "downstreamremoteaddress",
        ],
    ),
    (
        Field::Server,
        "server",
        &[
            "server",
            "serveraddress",
            "serveraddr",
            "serverip",
            "upstream",
            "upstreamhost",
            "upstreamaddr",
            "upstreamaddress",
            "destination",
            "destinationaddress",
            "serveripaddress",
        ],
    ),
    (Field::Leg, "leg", &["leg", "direction", "hop"]),
    (Field::Agent, "agent", &["agent", "agentname", "agentid", "targetagent"]),
    (Field::Observer, "observer", &["observer", "observedby", "side", "role", "spankind"]),
    (Field::ObserverName, "observer_name", &["observername", "tap", "recorder"]),
    (Field::TraceId, "trace_id", &["traceid", "tracetraceid", "oteltraceid"]),
    (
        Field::Truncated,
        "truncated",
        &[
            "truncated",
            "bodytruncated",
            "responsetruncated",
            "requesttruncated",
            "responsebodytruncated",
            "requestbodytruncated",
        ],
    ),
    (
        Field::ClientDisconnected,
        "client_disconnected",
        &["clientdisconnected", "clientaborted", "aborted", "clientgone"],
    ),
    (
        Field::Base64,
        "base64",
        &["isbase64", "isbase64encoded", "base64encoded", "bodyisbase64", "bodyencoding", "encoding"],
    ),
    (Field::Chunks, "chunks", &["chunks", "responsechunks", "events"]),
    (Field::RequestLine, "request_line", &["requestline", "request"]),
    (Field::RequestSeconds, "request_seconds", &["requesttimeseconds", "requesttime"]),
    (Field::Traceparent, "traceparent", &["traceparent", "httptraceparent", "requesttraceparent"]),
    (Field::Version, "a2a_version", &["a2aversion", "httpa2aversion", "requesta2aversion"]),
];

/// Spellings of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyMap {
    fields: Vec<(Field, Vec<String>)>,
}

impl KeyMap {
    /// The spellings that need no configuration.
    pub fn built_in() -> &'static Self {
        static KEYS: LazyLock<KeyMap> = LazyLock::new(KeyMap::default);
        &KEYS
    }

    /// Puts a spelling before all others: `field` by its name in the configuration, `path` with dots between nested
    /// keys (`envelope.http.verb`). False if there is no such field.
    pub fn prefer(&mut self, field: &str, path: &str) -> bool {
        let Some(index) = BUILT_IN.iter().position(|(_, name, _)| *name == field) else { return false };
        self.fields[index].1.insert(0, plain(path));
        true
    }

    /// Names of the fields in the configuration.
    pub fn field_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(_, name, _)| *name)
    }

    /// Spellings of a field, the preferred first.
    pub(super) fn spellings(&self, field: Field) -> &[String] {
        self.fields.iter().find(|(known, _)| *known == field).map(|(_, names)| names.as_slice()).unwrap_or_default()
    }
}

impl Default for KeyMap {
    fn default() -> Self {
        let own = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { fields: BUILT_IN.iter().map(|(field, _, names)| (*field, own(names))).collect() }
    }
}

/// A key without case and separators.
pub(super) fn plain(key: &str) -> String {
    key.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' ' | '@' | '/')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_spellings_are_plain_and_belong_to_one_field_each() {
        let mut seen = std::collections::HashMap::new();
        for (field, _, names) in BUILT_IN {
            for name in names {
                assert_eq!(plain(name), *name);
                assert_eq!(seen.insert(*name, field), None, "{name}");
            }
        }
    }

    #[test]
    fn a_configured_spelling_goes_first() {
        let mut keys = KeyMap::default();
        assert!(keys.prefer("method", "envelope.HTTP_Verb"));
        assert!(!keys.prefer("colour", "x"));
        assert_eq!(keys.spellings(Field::Method)[0], "envelopehttpverb");
    }
}
