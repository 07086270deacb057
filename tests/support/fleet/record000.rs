//! The fleet of record 000: forty agents, three days, three of which change their skills under one version.
//!
//! Callers cache a card for an hour and send by it. Two agents replace their skill set (variant A: tasks fail inside their
//! lifecycle, the caller retries twice on the stale card); one reuses a skill id for another output type (variant B:
//! tasks succeed with the wrong type). Agents speak 0.1 as in the record, 0.3 and 1.0.

use super::agent::{Agent, Dialect, Ending, Skill};
use super::tape::{HOUR, MINUTE, SECOND, Tape};

/// 2026-11-10T00:00:00Z.
pub const START: i64 = 1_794_268_800 * SECOND;

/// Agents of the fleet.
pub const AGENTS: usize = 40;

/// Hosts of the agents that drift: two of variant A (0.1, as in the record, and 1.0), one of variant B (1.0, whose parts have
/// types).
pub const DRIFTING: [&str; 3] = ["peer-03.fleet.example", "peer-17.fleet.example", "peer-29.fleet.example"];

const CALLER: &str = "10.2.0.9:51000";

/// Three days of the fleet as NDJSON.
pub fn capture() -> Vec<u8> {
    let mut tape = Tape::default();
    for number in 0..AGENTS {
        days(&mut tape, number);
    }
    tape.into_ndjson()
}

fn agent(number: usize) -> Agent {
    let dialect = match number {
        3 => Dialect::V01,
        17 | 29 => Dialect::V10,
        n => [Dialect::V01, Dialect::V03, Dialect::V10][n % 3],
    };
    Agent {
        host: format!("peer-{number:02}.fleet.example"),
        name: format!("Peer {number}"),
        dialect,
        version: "1.0".to_owned(),
        skills: vec![Skill::new("summarize-v2", &["text/markdown"])],
        description: "A worker of the fleet.".to_owned(),
    }
}

/// The card of a drifting agent, before or after its redeploy.
pub fn card(host: &str, redeployed: bool) -> serde_json::Value {
    let number = (0..AGENTS).find(|&number| agent(number).host == host).unwrap_or_default();
    let mut agent = agent(number);
    if redeployed {
        redeploy(&mut agent);
    }
    agent.card()
}

fn days(tape: &mut Tape, number: usize) {
    let mut agent = agent(number);
    let drifts = DRIFTING.contains(&agent.host.as_str());
    let redeploy_at = START + 30 * HOUR + number as i64 * MINUTE + 15 * MINUTE;
    let mut skill = "summarize-v2";
    let mut is_redeployed = false;
    for hour in 0..72 {
        // The cache of the caller lives an hour; it sends on the half hour after each look.
        let look_at = START + hour * HOUR + number as i64 * MINUTE;
        agent.look(tape, look_at, CALLER);
        if agent.skills.iter().all(|s| s.id != skill) {
            skill = "translate-v1";
        }
        if drifts && !is_redeployed && redeploy_at < look_at + 30 * MINUTE {
            redeploy(&mut agent);
            is_redeployed = true;
        }
        let served = agent.skills.iter().find(|s| s.id == skill);
        let Some(served) = served else {
            for retry in 0..3 {
                let at = look_at + 30 * MINUTE + retry * MINUTE;
                agent.work(tape, at, CALLER, Some(skill), &Ending::Fails("unknown skill"));
            }
            continue;
        };
        let mode = if served.output[0] == "text/markdown" { "text/markdown" } else { "text/plain" };
        agent.work(tape, look_at + 30 * MINUTE, CALLER, Some(skill), &Ending::Completes(mode));
    }
}

fn redeploy(agent: &mut Agent) {
    agent.skills = match agent.host.as_str() {
        "peer-29.fleet.example" => vec![Skill::new("summarize-v2", &["text/plain"])],
        _ => vec![Skill::new("translate-v1", &["text/plain"])],
    };
}
