//! Lines of access logs: the calls that a gateway passed on, most of them without bodies.
//!
//! In: a record that a gateway wrote at the end of a call. Out: the call it tells of, as the span that the gateway might have
//! exported, or as a taped exchange where it holds bodies. Of a line without a word of A2A's the path alone tells: a look at
//! a card, a call of the HTTP+JSON binding, a post to a webhook. Where a user says that webhooks are behind a gateway, every post is
//! one. Other lines are left alone.

use crate::decode::access_log::LEG;
use crate::decode::record::{Body, Exchange, Observer};
use crate::normalize::aliases::{Aliases, Carrier, Key};
use crate::normalize::card;
use crate::normalize::protocol::request;

use super::http::Http;
use super::log::Reader;
use super::node::Node;
use super::row::Seen;
use super::statement::Statement;
use super::{Context, Telemetry, body};

/// Reads a line.
pub(super) fn read(reader: &Reader<'_>, telemetry: &mut Telemetry) -> Option<Exchange> {
    let (carrier, context) = (&reader.carrier, reader.context);
    if carrier.attributes.text(LEG).as_deref() == Some("webhook") {
        return webhook(reader, telemetry);
    }
    let statement = Statement::read(context.aliases, carrier).filter(Statement::is_call).map(|said| Statement {
        gateway: true,
        // The address behind the gateway is not the one that was called.
        agent_url: if carrier.attributes.get("url.full").is_some() { String::new() } else { said.agent_url.clone() },
        ..said
    });
    let mut seen = reader.seen.clone();
    let parent = caller(&mut seen, &reader.text(Key::Traceparent));
    let node = Node::of_access_log(seen, parent, statement, carrier, context);
    if node.statement.is_none() && !node.http().is_some_and(|http| tells(http, context.aliases)) {
        return None;
    }
    match body::of_carrier(&node, carrier, context) {
        Some(taped) if is_cut(&taped, carrier, context.aliases) => {
            telemetry.nodes.push(with_request(node, &taped, context));
        }
        Some(taped) => return Some(taped),
        None => telemetry.nodes.push(node),
    }
    None
}

/// Reads a line of a gateway that has webhooks behind it.
fn webhook(reader: &Reader<'_>, telemetry: &mut Telemetry) -> Option<Exchange> {
    let (carrier, context) = (&reader.carrier, reader.context);
    let mut seen = reader.seen.clone();
    let parent = caller(&mut seen, &reader.text(Key::Traceparent));
    let mut node = Node::of_access_log(seen, parent, None, carrier, context);
    let http = node.wire.as_deref_mut().filter(|http| http.method == "POST")?;
    if http.url.is_empty() {
        // Which host it was is not told; the path still tells webhooks apart.
        http.url.clone_from(&http.path);
    } else if http.url.starts_with("//") {
        // As the readers of other access logs take it, so that a webhook has one url.
        http.url.insert_str(0, "http:");
    }
    node.webhook = true;
    if let Some(taped) = body::of_carrier(&node, carrier, context) {
        return Some(Exchange { leg: "webhook".to_owned(), observer: Some(Observer::Receiver), ..taped });
    }
    telemetry.nodes.push(node);
    None
}

/// Whether a body was logged in part: the gateway's own words then say more of it.
fn is_cut(taped: &Exchange, carrier: &Carrier<'_>, aliases: &Aliases) -> bool {
    let size = aliases.number(Key::ResponseSize, carrier).and_then(|size| usize::try_from(size).ok());
    let logged = taped.response_body.as_text().map(str::len);
    let is_short = size.zip(logged).is_some_and(|(size, logged)| logged < size);
    let is_stream = taped.response_body.as_text().is_some_and(|text| text.starts_with("data:"));
    let is_half_asked = taped.request_body != Body::Absent && taped.request_body.to_json().is_none();
    is_short || is_half_asked || (taped.truncated && !is_stream)
}

/// A call with what its request tells, where that was logged as a whole.
fn with_request(mut node: Node, taped: &Exchange, context: &Context<'_>) -> Node {
    let Some(statement) = node.statement.as_deref_mut() else { return node };
    let Some(request) = taped.request_body.to_json() else { return node };
    let params = request.get("params").unwrap_or(&request);
    let asked = request::read(params, statement.operation(), statement.dialect(false), context.patterns);
    let push_url = asked.push.map(|push| push.url).unwrap_or_default();
    let told = Statement {
        task_id: asked.task_id,
        message_id: asked.message_id,
        context_id: asked.context_id,
        skill_id: asked.skill.id,
        reference_task_ids: asked.reference_task_ids,
        tenant: asked.tenant,
        push_url,
        ..Statement::default()
    };
    statement.fill(&told);
    node
}

/// The caller's span by the header that it sent, which is of the trace that the line names, if it names one.
fn caller(seen: &mut Seen, traceparent: &str) -> String {
    let mut fields = traceparent.split('-').skip(1);
    let mut id = |digits: usize| {
        let text = fields.next().filter(|text| text.len() == digits)?;
        let is_id = text.bytes().all(|b| b.is_ascii_hexdigit()) && text.bytes().any(|b| b != b'0');
        is_id.then(|| text.to_ascii_lowercase())
    };
    let Some((trace, span)) = id(32).zip(id(16)) else { return String::new() };
    if seen.trace_id.is_empty() {
        seen.trace_id = trace;
    } else if seen.trace_id != trace {
        return String::new();
    }
    span
}

/// Whether a path says by itself what a call was about.
fn tells(http: &Http, aliases: &Aliases) -> bool {
    match http.method.as_str() {
        "GET" | "HEAD" if card::is_card_path(&http.path) => true,
        "POST" if aliases.is_call_path(&http.path) || aliases.is_webhook_path(&http.path) => true,
        _ => http.path_call(aliases).is_some(),
    }
}
