//! What the cards of the captures say, read off their bytes and steps files, and what must not matter.

use serde_json::json;

use super::*;
use crate::instant::Instant;

/// A response that held a card.
pub(in crate::normalize) struct Captured {
    pub card: Value,
    url: String,
    status: u16,
    headers: Headers,
    body: Option<Value>,
}

/// The response on a line of an exchange capture.
pub(in crate::normalize) fn captured(file: &str, line: usize) -> Captured {
    let path = format!("{}/tests/captures/{file}.exchanges.ndjson", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let exchange: Value = serde_json::from_str(text.lines().nth(line - 1).unwrap()).unwrap();
    let response = &exchange["response"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let body: Option<Value> = serde_json::from_str(response["body"]["text"].as_str().unwrap_or_default()).ok();
    let headers = response["headers"].as_array().unwrap().iter();
    Captured {
        card: match &body {
            Some(body) if body.get("jsonrpc").is_some() => body["result"].clone(),
            Some(body) => body.clone(),
            None => Value::Null,
        },
        url: text(&exchange["request"]["url"]),
        status: response["status"].as_u64().unwrap() as u16,
        headers: Headers(headers.map(|pair| (text(&pair[0]), text(&pair[1]))).collect()),
        body,
    }
}

fn facts_of(captured: &Captured) -> Facts {
    let mut set = Facts::default();
    let look = CardLook {
        common: Common { observed_at: Instant(7), observer: "client".to_owned(), ..Common::default() },
        url: &captured.url,
        origin: "fetch",
        http_status: Some(captured.status),
        headers: &captured.headers,
        extended: false,
        body: captured.body.as_ref(),
        raw: None,
    };
    facts(&look, &mut set);
    set
}

fn facts_of_card(card: &Value) -> Facts {
    facts_of(&Captured {
        card: Value::Null,
        url: "https://agent.example/.well-known/agent-card.json".to_owned(),
        status: 200,
        headers: Headers::default(),
        body: Some(card.clone()),
    })
}

fn row_of(card: &Value) -> CardColumns {
    facts_of_card(card).cards.remove(0).own
}

fn texts(items: &[&str]) -> Option<Vec<String>> {
    Some(items.iter().map(|item| (*item).to_owned()).collect())
}

/// What the steps files and the bytes say of each card: which contract, which security, which words.
///
/// Contracts: `M` summarize-v2 to markdown, `T` translate-v1, `P` summarize-v2 to plain text (s10). Security: `-`
/// nothing asked, `b` bearer, `c` the card asks for oauth (s06 of v02), `s` the skill does (s06 of 1.3.0), `cs` both do
/// (s06 of v03). Words: `m`, `t` the two skills, `e` the extended card, `1`, `2` the cards of v01, `r` that of rust.
const CARDS: [(&str, usize, &str, &str, &str); 37] = [
    ("a2a-spec-0.1.0-handmade/v01", 1, "M", "b", "1"),
    ("a2a-spec-0.1.0-handmade/v01", 13, "T", "b", "2"),
    ("a2a-python-0.2.16/v02", 1, "M", "-", "m"),
    ("a2a-python-0.2.16/v02", 12, "M", "c", "m"),
    ("a2a-python-0.2.16/v02", 24, "T", "-", "t"),
    ("a2a-python-0.2.16/v02", 36, "M", "-", "e"),
    ("a2a-python-0.2.16/v02", 37, "P", "-", "m"),
    ("a2a-python-0.3.26/v03", 1, "M", "-", "m"),
    ("a2a-python-0.3.26/v03", 12, "M", "cs", "m"),
    ("a2a-python-0.3.26/v03", 37, "T", "-", "t"),
    ("a2a-python-0.3.26/v03", 49, "M", "-", "e"),
    ("a2a-python-0.3.26/v03", 50, "P", "-", "m"),
    ("a2a-python-0.3.26/v03", 51, "M", "-", "e"),
    ("a2a-python-0.3.26/v03", 52, "M", "-", "m"),
    ("a2a-python-0.3.26/v03", 63, "M", "cs", "m"),
    ("a2a-python-0.3.26/v03", 88, "T", "-", "t"),
    ("a2a-python-1.3.0/grpc", 1, "M", "-", "m"),
    ("a2a-python-1.3.0/grpc", 20, "T", "-", "t"),
    ("a2a-python-1.3.0/headers", 1, "M", "-", "m"),
    ("a2a-python-1.3.0/headers", 10, "M", "s", "m"),
    ("a2a-python-1.3.0/headers", 28, "T", "-", "t"),
    ("a2a-python-1.3.0/jsonrpc", 1, "M", "-", "m"),
    ("a2a-python-1.3.0/jsonrpc", 12, "M", "-", "e"),
    ("a2a-python-1.3.0/jsonrpc", 19, "M", "s", "m"),
    ("a2a-python-1.3.0/jsonrpc", 50, "T", "-", "t"),
    ("a2a-python-1.3.0/jsonrpc", 79, "T", "-", "t"),
    ("a2a-python-1.3.0/jsonrpc", 85, "M", "-", "m"),
    ("a2a-python-1.3.0/jsonrpc", 91, "M", "-", "m"),
    ("a2a-python-1.3.0/rest", 1, "M", "-", "m"),
    ("a2a-python-1.3.0/rest", 12, "M", "-", "e"),
    ("a2a-python-1.3.0/rest", 19, "M", "s", "m"),
    ("a2a-python-1.3.0/rest", 50, "T", "-", "t"),
    ("a2a-python-1.3.0/rest", 75, "T", "-", "t"),
    ("a2a-python-1.3.0/rest", 81, "M", "-", "m"),
    ("a2a-python-1.3.0/rest", 87, "M", "-", "m"),
    ("a2a-rust-0.15.0/rust", 1, "M", "-", "r"),
    ("a2a-rust-0.15.0/rust", 40, "M", "-", "r"),
];

#[test]
fn hashes_of_captured_cards_agree_exactly_where_the_cards_mean_the_same() {
    let rows = CARDS.map(|(file, line, ..)| facts_of(&captured(file, line)).cards.remove(0).own);
    for (a, row_a) in CARDS.iter().zip(&rows) {
        assert_eq!(row_a.body_sha256.len(), 64, "{a:?}");
        for (b, row_b) in CARDS.iter().zip(&rows) {
            assert_eq!(row_a.contract_sha256 == row_b.contract_sha256, a.2 == b.2, "contract of {a:?} and {b:?}");
            assert_eq!(row_a.security_sha256 == row_b.security_sha256, a.3 == b.3, "security of {a:?} and {b:?}");
            assert_eq!(row_a.descriptive_sha256 == row_b.descriptive_sha256, a.4 == b.4, "words of {a:?} and {b:?}");
        }
    }
}

#[test]
fn s06_changes_security_alone_and_s09_the_contract_with_the_version_kept_and_s15_only_the_signature() {
    let [first, secured, replaced, signed, rotated] =
        [1, 19, 50, 85, 91].map(|line| facts_of(&captured("a2a-python-1.3.0/jsonrpc", line)));
    let row = |facts: &Facts| facts.cards[0].own.clone();
    let hashes = |facts: &Facts| {
        let own = row(facts);
        (own.contract_sha256, own.security_sha256, own.descriptive_sha256, own.version)
    };
    assert_eq!(hashes(&first).0, hashes(&secured).0);
    assert_ne!(hashes(&first).1, hashes(&secured).1);
    assert_eq!(row(&secured).security_schemes, texts(&["oauth"]));
    assert_eq!(row(&secured).security_required, texts(&[]));
    let of_skill = |facts: &Facts| facts.card_skills[0].own.security_required.clone();
    assert_eq!((of_skill(&first), of_skill(&secured)), (texts(&[]), texts(&["oauth(summary.run)"])));
    assert_ne!(first.card_skills[0].own.security_sha256, secured.card_skills[0].own.security_sha256);
    assert_ne!(hashes(&first).0, hashes(&replaced).0);
    assert_eq!(hashes(&first).1, hashes(&replaced).1);
    assert_eq!((hashes(&first).3, hashes(&replaced).3), ("1.0.0".to_owned(), "1.0.0".to_owned()));
    assert_eq!(hashes(&first), hashes(&signed));
    assert_eq!(hashes(&signed), hashes(&rotated));
    assert_ne!(row(&signed).body_sha256, row(&rotated).body_sha256);
    assert_eq!((row(&first).signature_kids, row(&signed).signature_kids), (texts(&[]), texts(&["key-1"])));
    assert_eq!(row(&rotated).signature_kids, texts(&["key-2"]));
    let key = &rotated.signing_keys[0];
    assert_eq!((key.own.kid.as_str(), key.own.thumbprint.as_str(), key.own.origin.as_str()), ("key-2", "", "card"));
    assert_eq!(key.own.url, "http://127.0.0.1:41001/.well-known/agent-card.json");
    assert_eq!((key.common.observed_at, rotated.signing_keys.len()), (Instant(7), 1));
    assert!(first.signing_keys.is_empty());
}

#[test]
fn a_card_of_each_dialect_is_told_in_full() {
    for (file, dialect, versions, endpoints, schemes) in [
        ("a2a-spec-0.1.0-handmade/v01", "0.1", &[][..], &["http://127.0.0.1:48001/"][..], &["bearer"][..]),
        ("a2a-python-0.2.16/v02", "0.3", &["0.2.6"], &["http://127.0.0.1:44001/"], &[]),
        ("a2a-python-0.3.26/v03", "0.3", &["0.3.0"], &["http://127.0.0.1:43001/", "http://127.0.0.1:43001/rest"], &[]),
        (
            "a2a-python-1.3.0/jsonrpc",
            "1.0",
            &["1.0"],
            &["http://127.0.0.1:41001/a2a", "http://127.0.0.1:41001/rest", "127.0.0.1:41013"],
            &[],
        ),
        ("a2a-rust-0.15.0/rust", "1.0", &["1.0"], &["http://127.0.0.1:49001/a2a"], &[]),
    ] {
        let set = facts_of(&captured(file, 1));
        let own = &set.cards[0].own;
        assert_eq!((own.name.as_str(), own.dialect.as_str()), ("Summary Agent", dialect), "{file}");
        assert_eq!(own.protocol_versions, texts(versions), "{file}");
        assert_eq!(own.endpoints, texts(endpoints), "{file}");
        assert_eq!(own.security_schemes, texts(schemes), "{file}");
        assert_eq!((own.streaming, own.push_notifications), (Some(true), Some(true)), "{file}");
        assert_eq!((own.host_class.as_str(), own.origin.as_str()), ("loopback", "fetch"), "{file}");
        let skill = &set.card_skills[0].own;
        assert_eq!((set.card_skills.len(), skill.skill_id.as_str()), (1, "summarize-v2"), "{file}");
        assert_eq!(skill.input_modes, texts(&["text/plain"]), "{file}");
        assert_eq!(skill.output_modes, texts(&["text/markdown"]), "{file}");
        assert_eq!(skill.body_sha256, own.body_sha256, "{file}");
    }
}

#[test]
fn endpoints_carry_binding_version_and_preference() {
    let endpoints = |file, line| -> Vec<String> {
        let rows = facts_of(&captured(file, line)).card_endpoints;
        let told = rows.iter().map(|row| {
            let own = &row.own;
            let parts = [&own.field, &own.binding, &own.protocol_version, &own.scheme, &own.host, &own.host_class];
            format!("{} {}", parts.map(String::as_str).join(" "), own.preferred.unwrap())
        });
        told.collect()
    };
    assert_eq!(
        endpoints("a2a-python-1.3.0/jsonrpc", 1),
        [
            "supportedInterfaces jsonrpc 1.0 http 127.0.0.1 loopback true",
            "supportedInterfaces http+json 1.0 http 127.0.0.1 loopback false",
            "supportedInterfaces grpc 1.0  127.0.0.1 loopback false",
        ]
    );
    assert_eq!(
        endpoints("a2a-python-0.3.26/v03", 1),
        [
            "url jsonrpc 0.3.0 http 127.0.0.1 loopback true",
            "additionalInterfaces jsonrpc 0.3.0 http 127.0.0.1 loopback false",
            "additionalInterfaces http+json 0.3.0 http 127.0.0.1 loopback false",
        ]
    );
    assert_eq!(endpoints("a2a-python-0.2.16/v02", 1), ["url jsonrpc 0.2.6 http 127.0.0.1 loopback true"]);
    assert_eq!(endpoints("a2a-spec-0.1.0-handmade/v01", 1), ["url jsonrpc  http 127.0.0.1 loopback true"]);
}

#[test]
fn validators_and_freshness_come_from_the_headers() {
    let rust = facts_of(&captured("a2a-rust-0.15.0/rust", 1)).cards.remove(0).own;
    assert_eq!((rust.etag.as_str(), rust.max_age_s), ("W/\"9dea1919bde9f582\"", Some(3600)));
    assert_eq!(rust.last_modified, "Mon, 30 Nov 2026 06:29:07 GMT");
    assert_eq!((rust.http_status, rust.not_modified), (Some(200), Some(false)));
    for (value, expected) in [
        ("max-age=60", Some(60)),
        ("no-cache, Max-Age = \"5\" , public", Some(5)),
        ("public, s-maxage=9", None),
        ("max-age=-1", None),
        ("max-age=", None),
        ("max-age=1, max-age=2", Some(1)),
        ("max-age=99999999999999999999", Some(315_360_000)),
        ("", None),
    ] {
        assert_eq!(max_age(&Headers(vec![("cache-control".to_owned(), value.to_owned())])), expected, "{value}");
    }
}

#[test]
fn a_look_that_brought_no_card_is_a_row_without_hashes() {
    let not_modified = captured("a2a-python-1.3.0/jsonrpc", 51);
    let refused = Captured { status: 404, ..captured("a2a-python-1.3.0/jsonrpc", 1) };
    let other = captured("a2a-python-0.2.16/v02", 38);
    for (look, status, is_304) in [(&not_modified, 304, true), (&refused, 404, false), (&other, 200, false)] {
        let set = facts_of(look);
        let own = &set.cards[0].own;
        assert_eq!((set.len(), own.http_status, own.not_modified), (1, Some(status), Some(is_304)));
        assert_eq!(
            [&own.body_sha256, &own.fingerprint, &own.contract_sha256, &own.security_sha256, &own.name],
            [""; 5]
        );
        assert_eq!((&own.streaming, &own.endpoints, &own.security_schemes), (&None, &None, &None));
    }
    assert_eq!(
        facts_of(&not_modified).cards[0].own.etag,
        "W/\"190267be8a03c13c1c6159334b02a1d472de2d791ceb20e791b5fae2876d7ba2\""
    );
}

#[test]
fn a_body_is_one_fact_whoever_sees_it_and_however_it_came() {
    // v03 answers the extended card by GET (line 49) and as a JSON-RPC result (line 51).
    let (mut fetched, called) =
        (facts_of(&captured("a2a-python-0.3.26/v03", 49)), facts_of(&captured("a2a-python-0.3.26/v03", 51)));
    let bytes = serde_json::to_vec(&captured("a2a-python-0.3.26/v03", 49).card).unwrap();
    let mut logged = Facts::default();
    let look = CardLook {
        common: Common { observed_at: Instant(9), agent_ref: "name:x".to_owned(), ..Common::default() },
        url: "",
        origin: "log",
        http_status: None,
        headers: &Headers::default(),
        extended: true,
        body: None,
        raw: Some(&bytes),
    };
    facts(&look, &mut logged);
    assert_eq!((logged.cards[0].own.http_status, logged.cards[0].own.host_class.as_str()), (None, ""));
    fetched.append(called);
    fetched.append(logged);
    fetched.make_set();
    assert_eq!((fetched.cards.len(), fetched.card_skills.len(), fetched.card_endpoints.len()), (3, 1, 3));
    assert_eq!(fetched.card_skills[0].common.observed_at, Instant(0));
}

/// One card as a2a-sdk 1.3.0 prints it in its own shape, with every kind of scheme.
const SHAPE_1_0: &str = r#"{"name": "A", "description": "d", "supportedInterfaces": [{"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}, {"url": "https://a.example/v03", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}, {"url": "https://a.example/r", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"}], "provider": {"url": "https://o.example", "organization": "o"}, "version": "1", "documentationUrl": "https://o.example/doc", "capabilities": {"streaming": true, "extendedAgentCard": true}, "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {"authorizationUrl": "https://id.example.com/a", "tokenUrl": "https://id.example.com/t", "refreshUrl": "https://id.example.com/r", "scopes": {"read": "Read", "run": "Run"}, "pkceRequired": true}}, "oauth2MetadataUrl": "https://id.example.com/m"}}, "h": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}}, "m": {"mtlsSecurityScheme": {}}, "k": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}, "i": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example.com/w"}}}, "securityRequirements": [{"schemes": {"o": {"list": ["run"]}, "k": {}}}, {"schemes": {"m": {}}}], "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"], "inputModes": ["text/plain"], "securityRequirements": [{"schemes": {"h": {"list": ["x"]}}}]}, {"id": "p", "name": "S", "description": "d", "tags": ["t"], "outputModes": ["image/png"]}], "iconUrl": "https://o.example/i.png"}"#;

/// The same card as its 0.3 compatibility layer converts it.
const SHAPE_0_3: &str = r#"{"additionalInterfaces":[{"transport":"HTTP+JSON","url":"https://a.example/r"}],"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"description":"d","documentationUrl":"https://o.example/doc","iconUrl":"https://o.example/i.png","name":"A","preferredTransport":"JSONRPC","protocolVersion":"0.3","provider":{"organization":"o","url":"https://o.example"},"security":[{"o":["run"],"k":[]},{"m":[]}],"securitySchemes":{"o":{"flows":{"authorizationCode":{"authorizationUrl":"https://id.example.com/a","refreshUrl":"https://id.example.com/r","scopes":{"read":"Read","run":"Run"},"tokenUrl":"https://id.example.com/t"}},"oauth2MetadataUrl":"https://id.example.com/m","type":"oauth2"},"h":{"bearerFormat":"JWT","scheme":"Bearer","type":"http"},"m":{"type":"mutualTLS"},"k":{"in":"header","name":"X-Key","type":"apiKey"},"i":{"openIdConnectUrl":"https://id.example.com/w","type":"openIdConnect"}},"skills":[{"description":"d","id":"s","inputModes":["text/plain"],"name":"S","security":[{"h":["x"]}],"tags":["t"]},{"description":"d","id":"p","name":"S","outputModes":["image/png"],"tags":["t"]}],"supportsAuthenticatedExtendedCard":true,"url":"https://a.example/v03","version":"1"}"#;

/// The same card as its server with 0.3 compatibility serves it: both shapes merged, member by member.
const SHAPE_MERGED: &str = r#"{"name": "A", "description": "d", "supportedInterfaces": [{"url": "https://a.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}, {"url": "https://a.example/v03", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"}, {"url": "https://a.example/r", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"}], "provider": {"url": "https://o.example", "organization": "o"}, "version": "1", "documentationUrl": "https://o.example/doc", "capabilities": {"streaming": true, "extendedAgentCard": true}, "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": {"authorizationCode": {"authorizationUrl": "https://id.example.com/a", "tokenUrl": "https://id.example.com/t", "refreshUrl": "https://id.example.com/r", "scopes": {"read": "Read", "run": "Run"}, "pkceRequired": true}}, "oauth2MetadataUrl": "https://id.example.com/m"}, "flows": {"authorizationCode": {"authorizationUrl": "https://id.example.com/a", "refreshUrl": "https://id.example.com/r", "scopes": {"read": "Read", "run": "Run"}, "tokenUrl": "https://id.example.com/t"}}, "oauth2MetadataUrl": "https://id.example.com/m", "type": "oauth2"}, "h": {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}, "bearerFormat": "JWT", "scheme": "Bearer", "type": "http"}, "m": {"mtlsSecurityScheme": {}, "type": "mutualTLS"}, "k": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}, "in": "header", "name": "X-Key", "type": "apiKey"}, "i": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example.com/w"}, "openIdConnectUrl": "https://id.example.com/w", "type": "openIdConnect"}}, "securityRequirements": [{"schemes": {"o": {"list": ["run"]}, "k": {}}}, {"schemes": {"m": {}}}], "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": [{"id": "s", "name": "S", "description": "d", "tags": ["t"], "inputModes": ["text/plain"], "securityRequirements": [{"schemes": {"h": {"list": ["x"]}}}], "security": [{"h": ["x"]}]}, {"id": "p", "name": "S", "description": "d", "tags": ["t"], "outputModes": ["image/png"]}], "iconUrl": "https://o.example/i.png", "additionalInterfaces": [{"transport": "HTTP+JSON", "url": "https://a.example/r"}], "preferredTransport": "JSONRPC", "protocolVersion": "0.3", "security": [{"o": ["run"], "k": []}, {"m": []}], "supportsAuthenticatedExtendedCard": true, "url": "https://a.example/v03"}"#;

fn shape_1_0() -> Value {
    serde_json::from_str(SHAPE_1_0).unwrap()
}

/// The 1.0 shape with the empty members that the JavaScript SDK writes and the Python SDK leaves out.
fn shape_1_0_with_empty_members() -> Value {
    let mut card = shape_1_0();
    for (pointer, member, value) in [
        ("", "signatures", json!([])),
        ("/supportedInterfaces/0", "tenant", json!("")),
        ("/capabilities", "extensions", json!([])),
        ("/capabilities", "pushNotifications", json!(false)),
        ("/skills/0", "examples", json!([])),
        ("/skills/0", "outputModes", json!([])),
        ("/skills/1", "inputModes", json!([])),
        ("/skills/1", "securityRequirements", json!([])),
        ("/securitySchemes/h/httpAuthSecurityScheme", "description", json!("")),
        ("/securitySchemes/k/apiKeySecurityScheme", "description", json!("")),
        ("/securityRequirements/0/schemes/k", "list", json!([])),
        ("/securityRequirements/1/schemes/m", "list", json!([])),
    ] {
        card.pointer_mut(pointer).unwrap()[member] = value;
    }
    card
}

#[test]
fn all_shapes_of_one_agent_have_one_contract_one_security_and_one_description() {
    let shapes = [
        ("1.0", shape_1_0()),
        ("0.3", serde_json::from_str(SHAPE_0_3).unwrap()),
        ("0.3+1.0", serde_json::from_str(SHAPE_MERGED).unwrap()),
        ("1.0", shape_1_0_with_empty_members()),
    ];
    let expected = row_of(&shapes[0].1);
    for (dialect, card) in &shapes {
        assert!(is_card(card));
        let set = facts_of_card(card);
        let row = &set.cards[0].own;
        assert_eq!(row.dialect, *dialect);
        assert_eq!(row.contract_sha256, expected.contract_sha256, "{dialect}");
        assert_eq!(row.security_sha256, expected.security_sha256, "{dialect}");
        assert_eq!(row.descriptive_sha256, expected.descriptive_sha256, "{dialect}");
        assert_eq!(row.security_schemes, texts(&["h", "i", "k", "m", "o"]), "{dialect}");
        assert_eq!(row.security_required, texts(&["k and o(run)", "m"]), "{dialect}");
        assert_eq!((row.streaming, row.push_notifications), (Some(true), Some(false)), "{dialect}");
        let skills: Vec<_> = set.card_skills.iter().map(|row| &row.own).collect();
        let modes: Vec<_> = skills.iter().map(|own| (&own.input_modes, &own.output_modes)).collect();
        let (plain, png) = (texts(&["text/plain"]), texts(&["image/png"]));
        assert_eq!(modes, [(&plain, &png), (&plain, &plain)], "{dialect}");
        let nothing_asked = card_security::requirements_sha256(&card_security::Requirements::default());
        assert_eq!([0, 1].map(|i| skills[i].security_sha256 == nothing_asked), [true, false], "{dialect}");
        assert_eq!([0, 1].map(|i| skills[i].security_required.clone()), [texts(&[]), texts(&["h(x)"])], "{dialect}");
    }
    let merged = facts_of_card(&shapes[2].1);
    let preferred: Vec<_> = merged.card_endpoints.iter().filter(|row| row.own.preferred == Some(true)).collect();
    assert_eq!((preferred.len(), preferred[0].own.url.as_str()), (1, "https://a.example/a2a"));
    assert_eq!(merged.cards[0].own.protocol_versions, texts(&["0.3", "1.0"]));
}

#[test]
fn a_card_of_0_1_that_goes_over_from_words_to_types_keeps_its_contract() {
    let card = |defaults: Value| json!({"name": "A", "url": "http://a/", "version": "1", "capabilities": {}, "skills": [{"id": "s"}], "defaultInputModes": defaults, "defaultOutputModes": defaults});
    let (absent, words, types) = (card(Value::Null), card(json!(["text"])), card(json!(["text/plain"])));
    let rows = [&absent, &words, &types].map(row_of);
    assert_eq!(rows.each_ref().map(|row| row.dialect.as_str()), ["0.1", "0.1", "0.3"]);
    assert_eq!(rows[0].contract_sha256, rows[1].contract_sha256);
    assert_eq!(rows[1].contract_sha256, rows[2].contract_sha256);
    // The rules that compare part kinds need the word.
    assert_eq!(facts_of_card(&absent).card_skills[0].own.output_modes, texts(&["text"]));
    assert_eq!(facts_of_card(&types).card_skills[0].own.output_modes, texts(&["text/plain"]));
    assert_ne!(rows[1].contract_sha256, row_of(&card(json!(["file"]))).contract_sha256);
}

/// Changes a card in place.
type Change = fn(&mut Value);

#[test]
fn what_does_not_touch_the_contract_leaves_it_alone() {
    fn reverse(value: &mut Value) {
        value.as_array_mut().unwrap().reverse();
    }
    let changes: [(&str, Change); 13] = [
        ("order of skills", |card| reverse(&mut card["skills"])),
        ("order of requirements", |card| reverse(&mut card["securityRequirements"])),
        ("order of interfaces", |card| reverse(&mut card["supportedInterfaces"])),
        ("repeated modes", |card| {
            card["defaultInputModes"] = json!(["TEXT/plain; charset=utf-8", "text/plain", " text/plain "]);
        }),
        ("defaults spelled out", |card| card["skills"][0]["outputModes"] = json!(["text/plain"])),
        ("a repeated skill", |card| {
            let again = card["skills"][0].clone();
            card["skills"].as_array_mut().unwrap().push(again);
        }),
        ("empty modes", |card| card["skills"][0]["outputModes"] = json!([])),
        ("null modes", |card| card["skills"][0]["outputModes"] = Value::Null),
        ("false capability", |card| card["capabilities"]["pushNotifications"] = json!(false)),
        ("description", |card| card["description"] = json!("other words")),
        ("signatures", |card| card["signatures"] = json!([{"protected": "", "signature": "x"}])),
        ("url", |card| card["supportedInterfaces"][0]["url"] = json!("https://gateway.example/a2a")),
        ("repeated requirement", |card| {
            let again = card["securityRequirements"][0].clone();
            card["securityRequirements"].as_array_mut().unwrap().push(again);
        }),
    ];
    let before = row_of(&shape_1_0());
    for (what, change) in changes {
        let mut card = shape_1_0();
        change(&mut card);
        let after = row_of(&card);
        assert_eq!(after.contract_sha256, before.contract_sha256, "{what}");
        assert_eq!(after.security_sha256, before.security_sha256, "{what}");
        assert_eq!(after.descriptive_sha256 == before.descriptive_sha256, what != "description", "{what}");
    }
}

#[test]
fn each_change_shows_in_its_own_hash() {
    let changes: [(&str, Change); 17] = [
        ("contract", |card| card["skills"][0]["inputModes"] = json!(["application/json"])),
        ("contract", |card| card["skills"][1]["outputModes"] = json!(["image/png", "image/gif"])),
        ("contract", |card| card["defaultOutputModes"] = json!(["text/html"])),
        ("contract", |card| card["capabilities"]["pushNotifications"] = json!(true)),
        ("contract", |card| card["capabilities"]["streaming"] = json!(false)),
        ("contract", |card| card["skills"].as_array_mut().unwrap().push(json!({"id": ""}))),
        ("security", |card| card["skills"][0]["securityRequirements"] = json!([])),
        ("security", |card| card["skills"][0]["securityRequirements"][0]["schemes"]["h"]["list"] = json!(["y"])),
        ("security", |card| card["securityRequirements"] = json!([])),
        ("security", |card| card["securityRequirements"][0]["schemes"] = json!({})),
        ("security", |card| card["securitySchemes"]["k"]["apiKeySecurityScheme"]["location"] = json!("query")),
        ("security", |card| card["securitySchemes"]["m"] = json!({"httpAuthSecurityScheme": {"scheme": "basic"}})),
        ("security", |card| {
            card["securitySchemes"]["o"]["oauth2SecurityScheme"]["flows"]["authorizationCode"]["scopes"] =
                json!({"run": ""});
        }),
        ("words", |card| card["name"] = json!("B")),
        ("words", |card| card["skills"][0]["tags"] = json!(["u"])),
        ("words", |card| card["provider"]["organization"] = json!("p")),
        ("words", |card| card["skills"][0]["examples"] = json!(["try this"])),
    ];
    let before = row_of(&shape_1_0());
    for (index, (what, change)) in changes.into_iter().enumerate() {
        let mut card = shape_1_0();
        change(&mut card);
        let after = row_of(&card);
        assert_eq!(after.contract_sha256 != before.contract_sha256, what == "contract", "{index}");
        assert_eq!(after.security_sha256 != before.security_sha256, what == "security", "{index}");
        // A further skill without words is a further entry, words or not.
        assert_eq!(after.descriptive_sha256 != before.descriptive_sha256, what == "words" || index == 5, "{index}");
    }
}

#[test]
fn duplicate_skills_are_one_and_skills_without_id_are_none() {
    let card = json!({"url": "http://a/", "capabilities": {}, "defaultInputModes": ["text/plain"], "skills": [
        {"id": "a", "inputModes": ["image/png"], "outputModes": ["text/csv"]}, {"id": "a", "outputModes": ["b/c", "text/csv"]},
        {"name": "nameless", "inputModes": ["x/y"]}, {"id": 7}, {"id": null}, {"id": ["x"]}, "skill", null
    ]});
    let set = facts_of_card(&card);
    let skills: Vec<_> = set.card_skills.iter().map(|row| &row.own).collect();
    assert_eq!(skills.iter().map(|own| own.skill_id.as_str()).collect::<Vec<_>>(), ["7", "a"]);
    assert_eq!(skills[1].input_modes, texts(&["image/png", "text/plain"]));
    assert_eq!(skills[1].output_modes, texts(&["b/c", "text/csv"]));
}

#[test]
fn secrets_of_a_card_reach_no_fact() {
    let card = json!({
        "name": "A", "url": "https://user:s3cret@a.example/x?key=s3cret#s3cret", "version": "1", "capabilities": {},
        "authentication": {"schemes": ["Bearer", "bearer", ""], "credentials": "s3cret"}, "skills": []
    });
    let set = facts_of(&Captured {
        card: Value::Null,
        url: "https://user:s3cret@a.example/.well-known/agent.json?token=s3cret".to_owned(),
        status: 200,
        headers: Headers::default(),
        body: Some(card.clone()),
    });
    assert!(!format!("{set:?}").contains("s3cret"));
    let own = &set.cards[0].own;
    assert_eq!((own.dialect.as_str(), own.url.as_str()), ("0.1", "https://a.example/.well-known/agent.json"));
    assert_eq!((&own.security_schemes, &own.endpoints), (&texts(&["bearer"]), &texts(&["https://a.example/x"])));
    assert_eq!(own.security_required, texts(&["bearer"]));
    let mut other = card;
    other["authentication"]["credentials"] = json!("another");
    assert_eq!(row_of(&other).security_sha256, own.security_sha256);
}

#[test]
fn asking_for_nothing_is_one_value() {
    let with =
        |member: &str, value: Value| row_of(&json!({"url": "http://a/", "skills": [], member: value})).security_sha256;
    let nothing = with("name", json!("A"));
    assert_eq!(nothing.len(), 64);
    for (member, value) in [
        ("security", json!([])),
        ("security", json!([{}])),
        ("securityRequirements", json!([{"schemes": {}}])),
        ("securitySchemes", json!({})),
        ("authentication", json!({"schemes": []})),
        ("security", json!("odd")),
    ] {
        assert_eq!(with(member, value), nothing, "{member}");
    }
    assert_ne!(with("security", json!([{"a": []}, {}])), with("security", json!([{"a": []}])));
    assert_eq!(with("security", json!([{"schemes": ["x"]}])), with("security", json!([{"schemes": ["x", "x"]}])));
}

#[test]
fn key_ids_come_from_the_protected_header_else_the_open_one() {
    let encode = |text: &str| BASE64URL.encode(text);
    let kids = row_of(&json!({"url": "http://a/", "skills": [], "signatures": [
        {"protected": encode(r#"{"alg":"ES256","kid":"a"}"#), "header": {"kid": "ignored"}},
        {"protected": encode(r#"{"alg":"ES256","kid":"a"}"#)},
        {"protected": encode(r#"{"alg":"ES256"}"#), "header": {"kid": "b"}},
        // base64 of {"kid":"c"} with the padding that RFC 7515 forbids.
        {"protected": "eyJraWQiOiJjIn0="},
        {"protected": "!!"}, {"protected": 5, "header": {"kid": 6}}, {"header": {"kid": "d"}}, {"header": {"kid": ""}}, null, 1
    ]}))
    .signature_kids;
    assert_eq!(kids, texts(&["a", "b", "c", "d"]));
}

#[test]
fn cards_are_told_from_other_documents() {
    for (file, line, ..) in CARDS {
        assert!(is_card(&captured(file, line).card), "{file} {line}");
    }
    for other in [
        json!({}),
        json!(null),
        json!([{"skills": []}]),
        json!({"jsonrpc": "2.0", "id": 1, "result": {"url": "x", "skills": []}}),
        json!({"id": "t", "contextId": "c", "status": {"state": "completed"}, "kind": "task"}),
        json!({"url": "https://hook.example", "token": "x"}),
        json!({"name": "a resume", "skills": ["typing"]}),
        json!({"capabilities": {"tools": {}}, "serverInfo": {"name": "mcp"}}),
        json!({"keys": [{"kty": "EC"}]}),
    ] {
        assert!(!is_card(&other), "{other}");
    }
    assert!(is_card(&json!({"name": "zero skills", "url": "http://a/", "skills": []})));
    assert!(is_card(&json!({"name": "proto JSON leaves empty lists out", "url": "http://a/", "capabilities": {}})));
}

#[test]
fn card_paths_are_known_under_any_base() {
    for path in [
        "/.well-known/agent.json",
        "/.well-known/agent-card.json",
        "/base/path/.well-known/agent-card.json",
        "https://agent.example/x/.well-known/agent-card.json?A2A-Version=1.0",
        "/.well-known/agent-card.json/",
    ] {
        assert!(is_card_path(path) && !is_extended_card_path(path), "{path}");
    }
    for path in [
        "/v1/card",
        "/tenant/v1/card",
        "/rest/extendedAgentCard",
        "/tenant/extendedAgentCard",
        "/agent/authenticatedExtendedCard",
    ] {
        assert!(is_card_path(path) && is_extended_card_path(path), "{path}");
    }
    for path in ["/", "", "/v1/cards", "/agent.json", "/v1/message:send", "/.well-known/jwks.json", "/x?next=/v1/card"]
    {
        assert!(!is_card_path(path), "{path}");
    }
}

/// Every place of a value, as JSON pointers.
fn places(value: &Value, at: String, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, item)| (name.clone(), item)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        _ => Vec::new(),
    };
    for (name, child) in children {
        places(child, format!("{at}/{name}"), out);
    }
    out.push(at);
}

#[test]
fn a_wrong_type_in_any_place_is_survived() {
    let odd = [
        json!(null),
        json!(true),
        json!(-1.5e300),
        json!(""),
        json!("x;y"),
        json!([]),
        json!({}),
        json!([null, [[]], 1, "a", {"id": {}}]),
        json!({"list": 1, "schemes": [[]], "url": {}}),
    ];
    for text in [SHAPE_MERGED, SHAPE_0_3] {
        let card: Value = serde_json::from_str(text).unwrap();
        let mut all = Vec::new();
        places(&card, String::new(), &mut all);
        for place in all {
            for value in &odd {
                let mut broken = card.clone();
                *broken.pointer_mut(&place).unwrap() = value.clone();
                let set = facts_of_card(&broken);
                assert_eq!(set.cards.len(), 1, "{place}");
                is_card(&broken);
            }
        }
    }
}

#[test]
fn a_small_hostile_card_cannot_ask_for_much() {
    let modes: Vec<String> = (0..20_000).map(|i| format!("a/{i}")).collect();
    let skills: Vec<Value> = (0..3 * MAX_SKILLS)
        .map(|i| if i % 2 == 0 { json!({ "id": i / 2 }) } else { json!({ "id": i / 2, "inputModes": ["b/c"] }) })
        .collect();
    let interfaces: Vec<Value> = (0..5_000).map(|i| json!({ "url": format!("http://h{i}/") })).collect();
    let signatures: Vec<Value> = (0..5_000).map(|i| json!({"header": {"kid": format!("k{i}")}})).collect();
    let set = facts_of_card(&json!({
        "name": "x", "defaultInputModes": modes, "defaultOutputModes": modes, "skills": skills, "supportedInterfaces": interfaces, "signatures": signatures
    }));
    let bytes: usize = set
        .card_skills
        .iter()
        .flat_map(|row| [&row.own.input_modes, &row.own.output_modes])
        .flatten()
        .flatten()
        .map(String::len)
        .sum();
    assert!(bytes <= MAX_MODE_BYTES, "{bytes}");
    assert_eq!(
        (set.card_skills.len(), set.card_endpoints.len(), set.signing_keys.len()),
        (MAX_SKILLS, 64, MAX_SIGNATURES)
    );
    let deep = (0..500).fold(Value::Null, |inner, _| json!([inner]));
    assert_eq!(row_of(&json!({"url": "http://a/", "skills": [], "x": deep})).body_sha256, "");
}
