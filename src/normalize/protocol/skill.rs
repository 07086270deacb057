//! The skill that a request asks for, by the configured path list.
//!
//! In: parameters and message of a call, and `[skill]` of `queries/patterns.toml`. Out: the id and the path that gave it,
//! or nothing, which is normal: A2A has no field for it.

use serde_json::Value;

use crate::normalize::json;

/// Longest text part that is looked into for JSON.
const MAX_JSON_TEXT: usize = 64 * 1024;
/// Longest skill id; what is longer is a message, and message text is never kept.
const MAX_ID: usize = 256;

/// A skill id and the path that gave it; both empty when none did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Skill {
    /// Skill id.
    pub id: String,
    /// Path, as in the list.
    pub from: String,
}

/// One way to a skill id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillPath {
    name: String,
    start: Start,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Params,
    Message,
    Data,
    Json,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Member(String),
    AnyUri,
}

impl SkillPath {
    /// Reads a path; none if it does not start at `params` or `message`, or goes nowhere.
    pub fn parse(path: &str) -> Option<Self> {
        let mut names = path.split('.').peekable();
        let start = match (names.next()?, names.peek().copied()) {
            ("params", _) => Start::Params,
            ("message", Some("data")) => Start::Data,
            ("message", Some("json")) => Start::Json,
            ("message", _) => Start::Message,
            _ => return None,
        };
        if matches!(start, Start::Data | Start::Json) {
            names.next();
        }
        let steps: Vec<Step> =
            names.map(|name| if name == "*" { Step::AnyUri } else { Step::Member(name.to_owned()) }).collect();
        let named = steps.iter().all(|step| !matches!(step, Step::Member(name) if name.is_empty()));
        (named && !steps.is_empty()).then(|| Self { name: path.to_owned(), start, steps })
    }

    fn find(&self, places: &Places<'_>) -> Option<String> {
        let start = match self.start {
            Start::Params => places.params,
            Start::Message => places.message,
            Start::Data => places.data?,
            Start::Json => places.json.as_ref()?,
        };
        follow(start, &self.steps)
    }
}

fn follow(value: &Value, steps: &[Step]) -> Option<String> {
    let Some((step, rest)) = steps.split_first() else {
        return value.as_str().map(str::trim).filter(|id| !id.is_empty() && id.len() <= MAX_ID).map(str::to_owned);
    };
    match step {
        Step::Member(name) => follow(value.get(name)?, rest),
        Step::AnyUri => value
            .as_object()?
            .iter()
            .filter(|(name, _)| name.contains([':', '/']))
            .find_map(|(_, member)| follow(member, rest)),
    }
}

struct Places<'a> {
    params: &'a Value,
    message: &'a Value,
    data: Option<&'a Value>,
    json: Option<Value>,
}

/// The first skill id that the paths find.
pub fn find(paths: &[SkillPath], params: &Value, message: &Value) -> Skill {
    let parts = json::list(message, &["parts", "content"]).map(Vec::as_slice).unwrap_or_default();
    let places = Places { params, message, data: first_data(parts), json: first_json(parts) };
    paths.iter().find_map(|path| path.find(&places).map(|id| Skill { id, from: path.name.clone() })).unwrap_or_default()
}

/// The first data part's object; 0.3's HTTP+JSON wraps it once more.
fn first_data(parts: &[Value]) -> Option<&Value> {
    let data = parts.iter().find_map(|part| part.get("data"))?;
    match data.as_object() {
        Some(members) if members.len() == 1 => Some(members.get("data").unwrap_or(data)),
        _ => Some(data),
    }
}

fn first_json(parts: &[Value]) -> Option<Value> {
    let text = parts.iter().find_map(|part| part.get("text")?.as_str())?.trim();
    let is_object = text.starts_with('{') && text.len() <= MAX_JSON_TEXT;
    if is_object { serde_json::from_str(text).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::normalize::patterns::Patterns;

    fn found(params: Value) -> (String, String) {
        let skill = Patterns::embedded().skill(&params, &params["message"]);
        (skill.id, skill.from)
    }

    fn pair(id: &str, from: &str) -> (String, String) {
        (id.to_owned(), from.to_owned())
    }

    #[test]
    fn every_place_in_use_gives_the_skill_and_its_name() {
        for (params, from) in [
            (json!({"skillId": "s", "message": {}}), "params.skillId"),
            (json!({"metadata": {"skillId": "s"}}), "params.metadata.skillId"),
            (json!({"message": {"metadata": {"skillId": "s"}}}), "message.metadata.skillId"),
            (json!({"message": {"metadata": {"skill_id": "s"}}}), "message.metadata.skill_id"),
            (json!({"message": {"metadata": {"skill": "s"}}}), "message.metadata.skill"),
            (
                json!({"message": {"metadata": {"https://example.com/ext/v1": {"skill": "s"}}}}),
                "message.metadata.*.skill",
            ),
            (
                json!({"message": {"parts": [{"text": "x"}, {"data": {"skill": "s", "input": 1}}]}}),
                "message.data.skill",
            ),
            (json!({"message": {"parts": [{"kind": "data", "data": {"skillId": "s"}}]}}), "message.data.skillId"),
            (json!({"message": {"content": [{"data": {"data": {"skillId": "s"}}}]}}), "message.data.skillId"),
            (json!({"message": {"parts": [{"text": "{\"skillId\":\"s\",\"param\":{}}"}]}}), "message.json.skillId"),
        ] {
            assert_eq!(found(params.clone()), pair("s", from), "{params}");
        }
    }

    #[test]
    fn the_order_of_the_list_decides() {
        let params = json!({"skillId": "a", "metadata": {"skillId": "b"}, "message": {"metadata": {"skillId": "c"}}});
        assert_eq!(found(params), pair("a", "params.skillId"));
    }

    #[test]
    fn what_is_no_skill_id_is_not_taken_for_one() {
        for params in [
            json!({"message": {"parts": [{"text": "skill:summarize-v2 please"}]}}),
            json!({"message": {"metadata": {"skillId": ""}}}),
            json!({"message": {"metadata": {"skillId": 7}}}),
            json!({"message": {"metadata": {"notes": {"skill": "s"}}}}),
            json!({"message": {"metadata": {"skill": "x".repeat(300)}}}),
            Value::Null,
        ] {
            assert_eq!(found(params.clone()), pair("", ""), "{params}");
        }
    }
}
