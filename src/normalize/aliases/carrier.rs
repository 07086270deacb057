//! Where names are looked up.
//!
//! In: a span or log record with its resource. Out: the values of its attributes by name. Knows no name.

use serde_json::Value;

use crate::decode::record::Attributes;

/// Where names are looked up: a span or log record, seen as attributes.
#[derive(Debug, Clone, Copy)]
pub struct Carrier<'a> {
    /// Own attributes.
    pub attributes: &'a Attributes,
    /// A log's body as attributes with dotted names, where it is an object.
    pub body: Option<&'a Attributes>,
    /// Attributes of the resource.
    pub resource: &'a Attributes,
    /// Instrumentation scope, or logger.
    pub scope: &'a str,
    /// Whether something says that this is about A2A.
    pub evidence: bool,
}

impl Carrier<'_> {
    pub(super) fn attribute(&self, name: &str) -> Option<&Value> {
        self.attributes
            .get(name)
            .or_else(|| self.body.and_then(|body| body.get(name)))
            .or_else(|| self.resource.get(name))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let body = self.body.map(|body| body.0.as_slice()).unwrap_or_default();
        self.attributes.0.iter().chain(body).map(|(name, _)| name.as_str())
    }
}
