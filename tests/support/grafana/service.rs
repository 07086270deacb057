//! The dashboard Service: whether a2a-drift itself can be relied on.

use super::Placed;
use super::dashboard::{Dashboard, JOB};
use super::expr::{counted, counting, first, quantile, rate, shown_rate, watched};
use super::panel::Panel;

const CHOSEN: &str = r#"job=~"$job", instance=~"$instance""#;

pub(super) fn service() -> Dashboard {
    let description = "Whether a2a-drift can be relied on: what it takes in, what it cannot understand, how far \
        behind it is, what it cannot see.";
    Dashboard::new("a2a-drift-service", "A2A drift service", description)
        .labels("instance", "Instance", &format!("label_values(a2a_drift_build_info{{{JOB}}}, instance)"), true)
        .addresses()
        .row("Now", 4, now())
        .row("What comes in", 8, incoming())
        .row("What is turned away", 6, turned_away())
        .row("How far behind", 8, behind())
        .row("What judges", 8, judging())
        .row("What it cannot see", 10, vec![(24, blind())])
        .row("What is kept, and the process", 8, keeping())
}

fn now() -> Vec<Placed> {
    let reached = Panel::stat("Reached", "Whether Prometheus reaches every instance. If not, nothing is judged.")
        .query(&format!("min(up{{{CHOSEN}}})"), "up")
        .colours(&[])
        .words(&[("0", "DOWN", "red"), ("1", "up", "green")]);
    let version = Panel::stat("Version", "What runs; several during a rollout.")
        .query(&format!("max by (version) (a2a_drift_build_info{{{CHOSEN}}})"), "{{version}}")
        .names("version")
        .plain();
    let configuration = Panel::stat("Configuration", "Whether the rules and settings loaded last are in force.")
        .query(&format!("min(a2a_drift_config_last_reload_successful{{{CHOSEN}}})"), "reload")
        .colours(&[])
        .words(&[("0", "reload refused", "orange"), ("1", "in force", "green")]);
    let behind = Panel::stat("Behind", "Age of the oldest delivery that is not judged yet. Normal is below 10 s.")
        .query(&format!("max(a2a_drift_lag_seconds{{{CHOSEN}}})"), "lag")
        .unit("s")
        .colours(&[(10.0, "orange"), (60.0, "red")]);
    let (rejected, received) = (rate("a2a_drift_rejected_total", CHOSEN), rate("a2a_drift_received_total", CHOSEN));
    let rejected = Panel::stat("Not understood", "Share of what came in that was rejected, and is lost. Normal is 0.")
        .query(&format!("sum({rejected}) / (sum({received}) + sum({rejected}) > 0)"), "share")
        .unit("percentunit")
        .without_value("nothing comes in")
        .colours(&[(0.01, "orange"), (0.05, "red")]);
    let description = "Rules that no instance can judge: a field is missing in all that comes in. Normal for \
        what your fleet does not do or record. \"Blind rules\" below names them.";
    let blind = format!("min by (rule) (a2a_drift_rule_blind{{{CHOSEN}}}) == 1");
    let blind = Panel::stat("Blind rules", description)
        .query(&format!("count({blind}) or {}", watched(CHOSEN)), "rules")
        .unit("short")
        .colours(&[(1.0, "blue")]);
    [reached, version, configuration, behind, rejected, blind].map(|panel| (4, panel)).into()
}

fn incoming() -> Vec<Placed> {
    let description = "Spans, log records and exchanges a second; what holds no A2A is counted and not kept. Normal follows \
        the work of the fleet: nothing at all while it works is A2ADriftSilent.";
    let received = Panel::lines("Received", description)
        .query(&counting("receiver, signal", "a2a_drift_received_total", CHOSEN), "{{receiver}}: {{signal}}")
        .query(&counting("signal", "a2a_drift_ignored_total", CHOSEN), "no A2A: {{signal}}")
        .without_value("nothing comes in")
        .unit("cps");
    let connections = Panel::lines(
        "Connections",
        "Connections of senders that are open. Normal is a level line, one or a few a sender.",
    )
    .query(&format!("max by (instance) (a2a_drift_connections{{{CHOSEN}}})"), "{{instance}}")
    .counts();
    let description = "Connections in each step that were not let in (too-many, handshake, accept-failed) or whose \
        headers took too long (slow-headers). Normal is none.";
    let lost = counted("a2a_drift_connections_lost_total", CHOSEN);
    let lost = Panel::lines("Connections lost", description)
        .query(&format!("sum by (reason) ({lost}) > 0"), "{{reason}}")
        .without_value("none lost")
        .spikes()
        .counts();
    vec![(12, received), (6, connections), (6, lost)]
}

fn turned_away() -> Vec<Placed> {
    let description = "Pieces of input a second that were not understood, by reason; senders do not send them again. Normal \
        is none; the log names the place of the first of each.";
    let rejected = Panel::areas("Rejected", description)
        .query(&counting("reason", "a2a_drift_rejected_total", CHOSEN), "{{reason}}")
        .without_value("nothing rejected")
        .unit("cps");
    let description = "Deliveries a second that were not taken, by reason; senders keep them and send them again. Normal is \
        none: for minutes, their queues fill and they lose.";
    let refused = Panel::areas("Refused", description)
        .query(&counting("receiver, reason", "a2a_drift_refused_total", CHOSEN), "{{receiver}} {{reason}}")
        .without_value("nothing refused")
        .unit("cps");
    let description = "Requests a second that are wrong as such, by reason: no or another token (unauthenticated), a \
        path that is none (not-found), too large. Senders give them up. Normal is none.";
    let denied = Panel::areas("Denied", description)
        .query(&counting("receiver, reason", "a2a_drift_denied_total", CHOSEN), "{{receiver}} {{reason}}")
        .without_value("nothing denied")
        .unit("reqps");
    vec![(8, rejected), (8, refused), (8, denied)]
}

fn behind() -> Vec<Placed> {
    let description = "Age of the oldest delivery that was taken and is not judged. Normal is below 10 s, whatever the load; \
        over a minute is A2ADriftBehind.";
    let waiting = Panel::lines("Not judged yet", description)
        .query(&format!("max by (instance) (a2a_drift_lag_seconds{{{CHOSEN}}})"), "{{instance}}")
        .unit("s");
    let (lag, delay) = ("a2a_drift_detection_lag_seconds", "a2a_drift_detection_delay_seconds");
    let description = "From when a finding could first fire to its publication. From arrival: with the time \
        that the rule itself waits. Normal is some seconds, without the waiting. Points lead to traces.";
    let detection = Panel::lines("Time to a finding", description)
        .query(&quantile("0.5", lag, CHOSEN), "half")
        .query(&quantile("0.99", lag, CHOSEN), "99 in a hundred")
        .query(&quantile("0.99", delay, CHOSEN), "99 in a hundred, from arrival")
        .with_traces()
        .without_value("no findings, or not watched")
        .unit("s");
    let share = format!("a2a_drift_queue_bytes{{{CHOSEN}}} / a2a_drift_queue_limit_bytes{{{CHOSEN}}}");
    let description =
        "Share of the room for deliveries that wait. Normal is next to nothing; at 100 % senders are asked to wait.";
    let queue = Panel::lines("Queue", description)
        .query(&format!("max by (instance) ({share})"), "{{instance}}")
        .unit("percentunit")
        .max(1.0);
    vec![(8, waiting), (8, detection), (8, queue)]
}

fn judging() -> Vec<Placed> {
    let (spent, all) = ("a2a_drift_evaluation_seconds_sum", shown_rate("a2a_drift_evaluation_seconds_sum", CHOSEN));
    let spent = format!("sum by (rule) ({})", rate(spent, CHOSEN));
    let description = "Seconds of evaluation a second, the ten costliest rules: 1 s is one processor. Normal is far below; \
        one rule that takes most of it is the one to mend or leave out.";
    let spent = Panel::areas("Time spent by rule", description)
        .query(&first(10, &spent, &format!("sum by (rule) ({all})")), "{{rule}}")
        .unit("s");
    let failed = "a2a_drift_evaluation_failures_total";
    let (each, all) = (counted(failed, CHOSEN), shown_rate(failed, CHOSEN));
    let description = "Evaluations in each step that ended in an error or ran out of their budget, the five \
        worst rules. Normal is none; the log names the error.";
    let failed = Panel::lines("Evaluations that fail", description)
        .query(&first(5, &format!("sum by (rule) ({each})"), &format!("sum by (rule) ({all}) > 0")), "{{rule}}")
        .without_value("none fails")
        .spikes()
        .counts();
    vec![(14, spent), (10, failed)]
}

fn blind() -> Panel {
    let description = "Rules that cannot find anything, since when: no instance gets a field that they need. All the \
        time: your fleet does not do or record this. From some time on: what changed then? `a2a-drift rules show RULE` \
        names the fields.";
    Panel::bands("Blind rules", description, 16)
        .query(&format!("min by (rule) (a2a_drift_rule_blind{{{CHOSEN}}}) == 1"), "{{rule}}")
        .words(&[("1", "blind", "blue")])
        .without_value("every rule sees, or nothing is watched")
}

fn keeping() -> Vec<Placed> {
    let disk = Panel::areas(
        "On disk",
        "Size of the write-ahead log and of the Parquet lake. Normal: the log falls each hour as the lake grows.",
    )
    .query(&format!("sum(a2a_drift_wal_bytes{{{CHOSEN}}})"), "log")
    .query(&format!("sum(a2a_drift_lake_bytes{{{CHOSEN}}})"), "lake")
    .unit("bytes");
    let alerts = counted("a2a_drift_alerts_failed_total", CHOSEN);
    let description = "Writes to disk, and alerts that an Alertmanager did not take, in each step. Normal is none.";
    let failed = Panel::lines("Writes that fail", description)
        .query(&format!("sum({})", counted("a2a_drift_wal_failures_total", CHOSEN)), "log")
        .query(&format!("sum({})", counted("a2a_drift_lake_failures_total", CHOSEN)), "lake")
        .query(&format!("sum by (alertmanager) ({alerts})"), "alerts to {{alertmanager}}")
        .spikes()
        .counts();
    let memory =
        Panel::lines("Memory", "Resident memory of each instance. Normal levels off below the limit of its container.")
            .query(&format!("max by (instance) (process_resident_memory_bytes{{{CHOSEN}}})"), "{{instance}}")
            .unit("bytes");
    let time = rate("process_cpu_seconds_total", CHOSEN);
    let processor = Panel::lines(
        "Processor",
        "Processor time of each instance: 1 is one processor. Normal follows what is received.",
    )
    .query(&format!("sum by (instance) ({time})"), "{{instance}}")
    .unit("short");
    [disk, failed, memory, processor].map(|panel| (6, panel)).into()
}
