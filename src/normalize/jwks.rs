//! Placeholder until the card branch is merged.

use serde_json::Value;

use crate::tables::{Common, Facts, SigningKeyColumns, SigningKeyRow};

/// Adds the facts of a key set.
pub fn facts(common: Common, url: &str, body: &Value, facts: &mut Facts) {
    for key in body.get("keys").and_then(Value::as_array).into_iter().flatten() {
        let own = SigningKeyColumns {
            url: url.to_owned(),
            kid: key.get("kid").and_then(Value::as_str).unwrap_or_default().to_owned(),
            origin: "jwks".to_owned(),
            ..SigningKeyColumns::default()
        };
        facts.push_signing_key(SigningKeyRow { common: common.clone(), own });
    }
}

/// Whether it is a key set.
pub fn is_jwks(value: &Value) -> bool {
    value.get("keys").and_then(Value::as_array).is_some_and(|keys| keys.iter().all(|key| key.get("kty").is_some()))
}
