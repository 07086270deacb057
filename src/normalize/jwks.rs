//! JSON web key sets (RFC 7517): which keys an agent published.
//!
//! In: a fetched document. Out: one `signing_keys` row a key, with its RFC 7638 thumbprint. Never reads a private or a
//! symmetric key's secret members, not even into a hash.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::host;
use crate::tables::{Common, Facts, SigningKeyColumns, SigningKeyRow};

/// Keys of one set that become facts; rotation needs a few, and a set of thousands is no key set.
const MAX_KEYS: usize = 256;

/// Whether a document is a key set: `keys` is a list of objects that each name their type. An empty set has no other
/// member.
pub fn is_jwks(body: &Value) -> bool {
    let Some(keys) = body.get("keys").and_then(Value::as_array) else { return false };
    if keys.is_empty() {
        return body.as_object().is_some_and(|members| members.len() == 1);
    }
    keys.iter().all(|key| key.get("kty").is_some_and(Value::is_string))
}

/// Adds a `signing_keys` row for each key of a set fetched at `url`.
pub fn facts(common: Common, url: &str, body: &Value, facts: &mut Facts) {
    let keys = body.get("keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for key in keys.iter().filter_map(Value::as_object).take(MAX_KEYS) {
        facts.push_signing_key(SigningKeyRow {
            common: common.clone(),
            own: SigningKeyColumns {
                url: host::without_secrets(url),
                kid: text(key, "kid").unwrap_or_default().to_owned(),
                thumbprint: thumbprint(key).unwrap_or_default(),
                origin: "jwks".to_owned(),
            },
        });
    }
}

/// Thumbprint of a public key (RFC 7638 section 3, RFC 8037 section 2): SHA-256 of the members its type requires, in
/// order of name, base64url. None for a symmetric key, whose required member is the secret, and for a key that lacks a
/// member.
fn thumbprint(key: &Map<String, Value>) -> Option<String> {
    let required: &[&str] = match text(key, "kty")? {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        "RSA" => &["e", "kty", "n"],
        _ => return None,
    };
    let members: Option<Vec<String>> =
        required.iter().map(|name| Some(format!("\"{name}\":{}", Value::from(text(key, name)?)))).collect();
    let material = format!("{{{}}}", members?.join(","));
    Some(BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(material)))
}

fn text<'a>(key: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    key.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn keys_of(body: &Value) -> Vec<(String, String)> {
        let mut set = Facts::default();
        facts(Common::default(), "https://agent.example/jwks.json?k=1", body, &mut set);
        assert!(set.signing_keys.iter().all(|row| row.own.origin == "jwks"));
        assert!(set.signing_keys.iter().all(|row| row.own.url == "https://agent.example/jwks.json"));
        set.signing_keys.into_iter().map(|row| (row.own.kid, row.own.thumbprint)).collect()
    }

    #[test]
    fn thumbprints_are_those_of_the_rfcs() {
        // RFC 7638 section 3.1.
        let rsa = json!({
            "kty": "RSA",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs\
                  tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbI\
                  SD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
            "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"
        });
        // RFC 8037 appendix A.2 and A.3; `d` is the private part of A.1 and must not matter.
        let okp = json!({
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "kid": 7
        });
        assert_eq!(
            keys_of(&json!({ "keys": [rsa, okp] })),
            [
                ("2011-04-29".to_owned(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs".to_owned()),
                (String::new(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k".to_owned()),
            ]
        );
    }

    #[test]
    fn a_key_on_a_curve_has_the_thumbprint_of_its_four_members() {
        // Key of the capture jsonrpc, line 84; expected value by `openssl dgst -sha256 -binary | basenc --base64url`
        // over the four members written out by hand.
        let body = json!({"keys":[{"kty":"EC","crv":"P-256","x":"BnMMgNCUXcRty4O96bxFWytTEUTvBLnWvq9JnmzaEsc",
            "y":"ZviXquExap8aXvkRX6h-zZHu_A85gD3WLC1YmHNau3g","kid":"key-1","use":"sig","alg":"ES256"}]});
        assert_eq!(keys_of(&body), [("key-1".to_owned(), "UslsWAyBE_PKKV22CCjnFTUaJqmDCpSvPw7hlNz74DU".to_owned())]);
    }

    #[test]
    fn secret_and_incomplete_keys_have_no_thumbprint() {
        let body = json!({"keys":[
            {"kty":"oct","k":"c2VjcmV0","kid":"shared"}, {"kty":"EC","crv":"P-256","x":"AA","kid":"half"},
            {"kty":"RSA","n":5,"e":"AQAB","kid":"odd"}, {"kid":"typeless"}, "no key", null
        ]});
        let names = ["shared", "half", "odd", "typeless"];
        assert_eq!(keys_of(&body), names.map(|kid| (kid.to_owned(), String::new())));
    }

    #[test]
    fn key_sets_are_told_from_other_documents() {
        assert!(is_jwks(&json!({"keys":[{"kty":"EC"}]})));
        assert!(is_jwks(&json!({"keys":[]})));
        for other in [
            json!({"keys":[], "items":[]}),
            json!({"keys":["a"]}),
            json!({"keys":[{"kty":"EC"}, {"id":1}]}),
            json!({"keys":{"kty":"EC"}}),
            json!([]),
            json!(null),
            json!({"name":"x","skills":[]}),
        ] {
            assert!(!is_jwks(&other), "{other}");
        }
    }
}
