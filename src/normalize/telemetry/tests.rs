//! What real captures give. Expected numbers were counted in the files with other tools.

use std::path::Path;
use std::sync::Arc;

use crate::decode::otlp;
use crate::decode::record::{Origin, Position, Record, Reject, Sink};
use crate::normalize::aliases::Aliases;
use crate::normalize::patterns::Patterns;
use crate::tables::Facts;

use super::{Context, Telemetry};

/// Records of a capture's file.
#[derive(Default)]
struct Records(Vec<Record>);

impl Sink for Records {
    fn record(&mut self, record: Record) {
        self.0.push(record);
    }
    fn reject(&mut self, reject: Reject) {
        panic!("{reject:?}");
    }
    fn recognised(&mut self, _source: &Arc<str>, _format: &'static str) {}
}

/// Records of files under `tests/captures`.
fn records(files: &[&str]) -> Vec<Record> {
    let mut sink = Records::default();
    for file in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(file);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (number, line) in text.lines().enumerate() {
            let origin = Origin { source: (*file).into(), position: Position::Line(number as u64 + 1) };
            otlp::json::decode(serde_json::from_str(line).unwrap(), &origin, &mut sink);
        }
    }
    sink.0
}

/// Facts of records, added to those of taped exchanges.
fn facts_with(records: &[Record], mut facts: Facts) -> Facts {
    let (aliases, patterns) = (Aliases::embedded(), Patterns::embedded());
    let context = Context { aliases: &aliases, patterns: &patterns };
    let mut telemetry = Telemetry::default();
    for record in records {
        match record {
            Record::Span(span) => drop(telemetry.span(span, &context)),
            Record::Log(log) => drop(telemetry.log(log, &context, &mut facts)),
            Record::Exchange(_) | Record::Document(_) => {}
        }
    }
    telemetry.finish(&context, &mut facts);
    facts.make_set();
    facts
}

fn facts(files: &[&str]) -> Facts {
    facts_with(&records(files), Facts::default())
}

#[test]
fn explore() {
    let all = std::env::var("FILES").unwrap();
    let files: Vec<&str> = all.split(',').collect();
    let facts = facts(&files);
    for row in &facts.exchanges {
        let (c, o) = (&row.common, &row.own);
        println!(
            "X {} {} {} call={} agent={} client={} op={} raw={} {} {} v={} rpc={} task={} rt={} ctx={} msg={} st={:?} code={:?} reason={} class={} out={} kind={} state={} stream={:?} left={:?} srv={}",
            &c.trace_id.get(..6).unwrap_or(""),
            c.span_id,
            c.observer,
            c.call_id,
            c.agent_ref,
            c.client_ref,
            o.operation,
            o.operation_raw,
            o.binding,
            o.dialect,
            o.declared_version,
            o.rpc_id,
            o.task_id,
            o.request_task_id,
            o.context_id,
            o.message_id,
            o.http_status,
            o.error_code,
            o.error_reason,
            o.error_text_class,
            o.outcome,
            o.reply_kind,
            o.reply_state,
            o.streaming,
            o.client_left,
            o.server_address
        );
    }
    for row in &facts.task_events {
        let (c, o) = (&row.common, &row.own);
        println!(
            "T {} {} call={} agent={} client={} {} {} {} {} reason={} op={}",
            &c.trace_id.get(..6).unwrap_or(""),
            c.observer,
            c.call_id,
            c.agent_ref,
            c.client_ref,
            o.task_id,
            o.state,
            o.state_raw,
            o.origin,
            o.reason_class,
            o.operation
        );
    }
    for row in &facts.push_deliveries {
        let (c, o) = (&row.common, &row.own);
        println!(
            "P {} {} {} call={} agent={} task={} {} {:?} {} kid={} sig={}",
            &c.trace_id.get(..6).unwrap_or(""),
            c.span_id,
            c.observer,
            c.call_id,
            c.agent_ref,
            o.task_id,
            o.url,
            o.http_status,
            o.failure_class,
            o.kid,
            o.signature
        );
    }
    for row in &facts.cards {
        let (c, o) = (&row.common, &row.own);
        println!(
            "C {} {} call={} agent={} client={} {} {} {:?} etag={} name={} v={} ext={:?} sha={}",
            &c.trace_id.get(..6).unwrap_or(""),
            c.observer,
            c.call_id,
            c.agent_ref,
            c.client_ref,
            o.url,
            o.origin,
            o.http_status,
            o.etag,
            o.name,
            o.version,
            o.extended,
            o.body_sha256.get(..6).unwrap_or("")
        );
    }
    for row in &facts.card_skills {
        println!("S {} {} {:?}", row.own.body_sha256.get(..6).unwrap_or(""), row.own.skill_id, row.own.output_modes);
    }
    println!("N {} artifacts {} policy", facts.artifact_parts.len(), facts.policy_changes.len());
}

#[test]
fn whole() {
    use crate::normalize::{Normalizer, identity};
    struct All(Normalizer);
    impl Sink for All {
        fn record(&mut self, record: Record) {
            self.0.record(record);
        }
        fn reject(&mut self, _: Reject) {}
        fn recognised(&mut self, _: &Arc<str>, _: &'static str) {}
    }
    let mut all = All(Normalizer::default());
    for file in std::env::var("FILES").unwrap().split(',') {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(file);
        crate::decode::decode(
            &file.into(),
            Box::new(std::fs::File::open(path).unwrap()),
            &crate::decode::Limits::default(),
            &mut all,
        );
    }
    let mut facts = all.0.finish().facts;
    identity::resolve(&mut facts, &identity::IdentitySettings::default());
    facts.make_set();
    let mut agents = std::collections::BTreeMap::new();
    for c in facts.commons() {
        *agents.entry((c.agent.clone(), c.client.clone(), c.observer.clone())).or_insert(0) += 1;
    }
    for (k, n) in agents {
        println!("A {n} {k:?}");
    }
    let mut calls: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for r in &facts.exchanges {
        calls
            .entry(r.common.call_id.clone())
            .or_default()
            .push(format!("{}:{}:{}", r.common.observer, r.own.operation, r.own.outcome));
    }
    let mut shapes = std::collections::BTreeMap::new();
    for (k, v) in &calls {
        *shapes
            .entry((
                k.split(':').next().unwrap_or("").to_owned(),
                v.len(),
                v.iter().map(|x| x.rsplit(':').next().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>(),
            ))
            .or_insert(0) += 1;
    }
    for (k, n) in shapes {
        println!("K {n} {k:?}");
    }
    let mut calls: std::collections::BTreeMap<String, usize> = Default::default();
    for r in &facts.push_deliveries {
        *calls.entry(r.common.call_id.clone()).or_default() += 1;
    }
    println!("D {} rows {} calls", facts.push_deliveries.len(), calls.len());
}
