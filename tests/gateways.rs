//! Gateways and JSON loggers: what their lines give.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a test")]

mod support;

use std::path::Path;

use a2a_drift::tables::Facts;
use support::judge::{self, Files};

fn fixture(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats").join(path)).unwrap()
}

fn files(paths: &[&str]) -> Files {
    paths.iter().map(|path| ((*path).to_owned(), fixture(path))).collect()
}

#[test]
fn look() {
    for path in std::env::var("LOOK").unwrap().split(',') {
        let (facts, rejects): (Facts, _) = judge::facts(&files(&[path]));
        println!("== {path} {} facts, rejects {rejects:?}", facts.len());
        for row in &facts.exchanges {
            let (c, o) = (&row.common, &row.own);
            println!(
                "X {} {} {}|{}|{} op={} raw={} b={} d={} v={} task={} ctx={} msg={} skill={} st={:?} code={:?} reason={} class={} out={} reply={}/{} srv={} call={} tr={}",
                c.observed_at.to_rfc3339(),
                c.observer,
                c.agent_ref,
                c.client_ref,
                c.observer_name,
                o.operation,
                o.operation_raw,
                o.binding,
                o.dialect,
                o.declared_version,
                o.task_id,
                o.context_id,
                o.message_id,
                o.skill_id,
                o.http_status,
                o.error_code,
                o.error_reason,
                o.error_text_class,
                o.outcome,
                o.reply_kind,
                o.reply_state,
                o.server_address,
                c.call_id,
                c.trace_id
            );
        }
        for row in &facts.task_events {
            let (c, o) = (&row.common, &row.own);
            println!(
                "T {} {} {} {} {} {} {} {}",
                c.observed_at.to_rfc3339(),
                c.observer,
                c.agent_ref,
                o.task_id,
                o.state,
                o.origin,
                o.reason_class,
                o.skill_id
            );
        }
        for row in &facts.cards {
            println!(
                "C {} {} {} {:?} {} {} {}",
                row.common.observer,
                row.common.agent_ref,
                row.own.url,
                row.own.http_status,
                row.own.origin,
                row.own.name,
                row.own.body_sha256
            );
        }
        for row in &facts.artifact_parts {
            println!(
                "A {} {} {} {} {} {:?}",
                row.common.agent_ref,
                row.own.task_id,
                row.own.artifact_id,
                row.own.media_type,
                row.own.part_kind,
                row.own.size
            );
        }
        for row in &facts.push_deliveries {
            println!(
                "P {} {} {} {:?} {}",
                row.common.observer, row.common.agent_ref, row.own.url, row.own.http_status, row.own.task_id
            );
        }
        println!("skills {} endpoints {}", facts.card_skills.len(), facts.card_endpoints.len());
        let verdict = judge::judge(&files(&[path]), None).unwrap();
        for f in &verdict.findings {
            println!("F {} {:?} {} {:?} {}", f.rule, f.severity, f.summary, f.confidence, f.id);
        }
    }
}
