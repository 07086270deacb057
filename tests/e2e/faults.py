"""From planted faults to alerts in a real Alertmanager, and their end.

Real agents and a real caller -> OTel exporters -> a real Collector, and a recording proxy -> `serve` -> a real Prometheus with
our rules -> a real Alertmanager. First nothing is wrong and nothing may fire. Then every agent but one drifts in its own way.
Then the faults end, and so do the alerts.
"""

import dataclasses
import os
import re
import time

import boards
from stack import Alertmanager, Collector, Failure, Fleet, Prometheus, Serve, free_ports, say, wait


@dataclasses.dataclass(frozen=True)
class Alert:
    """An alert that a fault must lead to. `agent` is the name that the configuration gives."""

    rule: str
    severity: str
    agent: str
    suspect: str

    @property
    def name(self):
        return "A2ADrift" + "".join(word.capitalize() for word in self.rule.split("_"))


# What must be told, each by the text of its rule. `planner` is left alone: nothing may ever be told of it.
EXPECTED = [
    # The skill is replaced, the version stays; the caller goes on with the card it has, five times.
    Alert("unknown_skill", "critical", "summaries", "client-cache"),
    Alert("skills_changed_same_version", "critical", "summaries", "card-publisher"),
    Alert("stale_card_retry", "critical", "summaries", "client-cache"),
    # The card promises Markdown, plain text comes.
    Alert("mode_mismatch", "critical", "reports", "remote-runtime"),
    # The caller logs that the task failed; the agent completes it.
    Alert("split_brain", "critical", "bookings", "client"),
    # The webhook refuses what five tasks deliver, for longer than the (compressed) window; seen in the agent's spans.
    Alert("unauthorized_storm", "critical", "payments", "webhook-receiver"),
    # The agent refuses a skill that its card lists, before and after.
    Alert("runtime_contradicts_card", "critical", "catalogue", "remote-runtime"),
    # A working task is gone after a restart without its store.
    Alert("lost_after_rotation", "critical", "archive", "remote-runtime"),
    # The connection of a stream breaks off.
    Alert("stream_cut", "warning", "streams", "remote-runtime"),
    # A task that had ended is working again.
    Alert("terminal_reopened", "critical", "ledger", "remote-runtime"),
    # The caller speaks a version that the agent does not.
    Alert("version_mismatch", "warning", "legacy", "client"),
    # A task that had ended is sent another message, and taken up again.
    Alert("task_id_reused", "critical", "billing", "remote-runtime"),
    # The agent signs with a new key; the webhook knows the old one only.
    Alert("signing_key_rotated", "critical", "invoices", "webhook-receiver"),
    # A task stays where it is for longer than (compressed) patience.
    Alert("orphaned", "warning", "crawler", "remote-runtime"),
]
# Agents whose deliveries are signed.
SIGNERS = ["invoices"]
AGENTS = ["planner", *dict.fromkeys(alert.agent for alert in EXPECTED)]

SETTINGS = """
# Minutes of the rules' patience are seconds here.
[params.unauthorized_storm]
window = "10 seconds"
[params.orphaned]
silence = "20 seconds"

[serve]
settle = "5s"
# So that `query` can look into what a failed run leaves behind.
lake_every = "10s"
# Nothing is said to have ended: what was not seen again for as long is over.
active = "{active}s"

[agents]
{agents}
"""


class Run:
    """The programs of one run, and what they said."""

    def __init__(self, context):
        self.context = context
        # Agents and tasks whose end nobody sees.
        self.unseen = []
        folder = context.folder("faults")
        ports = free_ports(2 * len(AGENTS) + 2)
        self.ports = {name: {"front": ports.pop(), "back": ports.pop()} for name in AGENTS}
        hook = {"front": ports.pop(), "back": ports.pop()}
        agents = "\n".join(f'{name} = ["http://127.0.0.1:{at["front"]}"]' for name, at in self.ports.items())
        settings = SETTINGS.format(agents=agents, active=context.active)
        # One hears of findings by Prometheus, one by the service itself.
        routes = context.read("examples/alertmanager/alertmanager.yml")
        self.alertmanager = context.own(Alertmanager(context.tools, folder, routes))
        self.direct = context.own(Alertmanager(context.tools, folder, routes, "alertmanager-direct"))
        more = ("--alertmanager", self.direct.url)
        self.serve = context.own(Serve(context.binary, folder, settings, more=more))
        to = {"otlp_grpc": {"endpoint": self.serve.grpc, "tls": {"insecure": True}}}
        self.collector = context.own(
            Collector(context.tools, folder, to, {"traces": ["otlp_grpc"], "logs": ["otlp_grpc"]})
        )
        self.prometheus = context.own(Prometheus(context.tools, folder, self.scraping(folder)))
        plan = {
            "exchanges": self.serve.http + "/v1/a2a/exchanges",
            "collector_grpc": "http://" + self.collector.grpc,
            "collector_http": self.collector.http,
            "agents": self.ports,
            "webhook": hook,
            "signers": SIGNERS,
        }
        for program in (self.collector, self.serve, self.alertmanager, self.direct, self.prometheus):
            program.wait()
        self.fleet = context.own(Fleet(context.python, context.here, folder, plan))
        self.order = self.fleet.order

    def scraping(self, folder):
        """The example's configuration and the shipped rules, in a hurry."""
        rules = os.path.join(folder, "alerts.yaml")
        findings, service = self.context.read("dashboards/prometheus/alerts.yaml").split("  - name: a2a-drift-service")
        findings = re.sub(r"(\bfor: )\S+", r"\g<1>2s", findings)
        findings = re.sub(r"(keep_firing_for: )\S+", r"\g<1>5s", findings)
        with open(rules, "w", encoding="utf-8") as file:
            file.write(findings + "  - name: a2a-drift-service" + service)
        text = self.context.read("examples/prometheus/prometheus.yml")
        for old, new in (
            ("scrape_interval: 15s", "scrape_interval: 1s"),
            ("evaluation_interval: 15s", "evaluation_interval: 1s"),
            ("../../dashboards/prometheus/alerts.yaml", rules),
            ("localhost:9093", self.alertmanager.url.removeprefix("http://")),
            ("localhost:9464", self.serve.admin),
        ):
            if old not in text:
                raise Failure(f"examples/prometheus/prometheus.yml no longer has {old}")
            text = text.replace(old, new)
        return text

    def told(self, alertmanager=None):
        """Alerts on findings that an Alertmanager lists."""
        alerts = (alertmanager or self.alertmanager).alerts()
        labels = [alert["labels"] for alert in alerts if "rule" in alert["labels"]]
        return {(a["alertname"], a["rule"], a["severity"], a.get("agent", ""), a.get("suspect", "")) for a in labels}

    # What the fleet does.

    def works(self, agent):
        """An agent's ordinary day; everything must end well."""
        self.order("look", agent=agent)
        task = self.order("send", agent=agent)
        if task["state"] != "TASK_STATE_COMPLETED":
            raise Failure(f"{agent} does not work: {task}")
        self.order("send", agent=agent, streaming=True)
        self.order("read", agent=agent, task=task["task"])
        hook = "direct" if agent == "payments" else "front"
        task = self.order("send", agent=agent, hook=hook, blocking=False)["task"]
        if hook == "direct":
            self.unseen.append((agent, task))

    def drifts(self):
        """Every agent but the first drifts."""
        order = self.order
        order("plant", agent="crawler", word="held")
        self.held = order("send", agent="crawler", blocking=False)["task"]

        order("plant", agent="summaries", word="skill-replaced")
        for _ in range(5):
            order("send", agent="summaries")
        order("look", agent="summaries")

        order("plant", agent="reports", word="other-mode")
        order("send", agent="reports")

        order("plant", agent="bookings", word="held")
        task = order("send", agent="bookings", blocking=False)["task"]
        order("verdict", agent="bookings", task=task, state="TASK_STATE_FAILED")
        order("plant", agent="bookings", release=True)
        self.until("bookings", task, "TASK_STATE_COMPLETED")

        order("plant", agent="catalogue", word="skill-refused")
        order("look", agent="catalogue")
        order("send", agent="catalogue")
        order("look", agent="catalogue")

        order("plant", agent="archive", word="held")
        task = order("send", agent="archive", blocking=False)["task"]
        self.until("archive", task, "TASK_STATE_WORKING")
        order("plant", agent="archive", forget=True)
        # Some time apart: a rate needs to see a counter twice.
        for _ in range(3):
            order("read", agent="archive", task=task)
            time.sleep(1.5)

        order("plant", agent="streams", word="stream-cut")
        self.unseen.append(("streams", order("send", agent="streams", streaming=True)["task"]))

        task = order("send", agent="ledger")["task"]
        order("read", agent="ledger", task=task)
        order("plant", agent="ledger", reopen=task)
        order("read", agent="ledger", task=task)

        task = order("send", agent="billing")["task"]
        order("read", agent="billing", task=task)
        order("plant", agent="billing", reopen=task)
        order("send", agent="billing", task=task)

        order("plant", agent="invoices", key="key-2")
        order("keys", agent="invoices")
        for _ in range(2):
            order("send", agent="invoices", hook="front", blocking=False)

        order("send", agent="legacy", version="2.0")
        # The storm last, as it takes its time.
        order("refuse", refuses=True)
        for _ in range(5):
            self.unseen.append(("payments", order("send", agent="payments", hook="direct", blocking=False)["task"]))
            time.sleep(3)
        order("flush")

    def mends(self):
        """The faults end."""
        for agent in AGENTS:
            self.order("plant", agent=agent, word="", forget=False)
        self.order("refuse", refuses=False)
        self.order("plant", agent="crawler", release=True)
        # A task of which nobody saw the end is open until somebody does, however well it goes.
        for agent, task in self.unseen:
            self.until(agent, task, "TASK_STATE_COMPLETED")

    def until(self, agent, task, state):
        wait(f"{task} of {agent} to be {state}", lambda: self.order("read", agent=agent, task=task)["state"] == state)


def healthy(run):
    """Two rounds of ordinary work: all of it is seen, and nothing fires."""
    for _ in range(2):
        for agent in AGENTS:
            run.works(agent)
    run.order("flush")
    run.known_agents = wait("all agents to be known", lambda: known(run))
    # Whatever is going to fire has fired by then.
    time.sleep(4)
    fires = run.serve.findings()["findings"]
    if fires:
        raise Failure(f"{len(fires)} findings while all was well: {[(f['rule'], f['summary']) for f in fires]}")
    if alerts := run.told() | {alert["labels"]["alertname"] for alert in run.prometheus.alerts()}:
        raise Failure(f"alerts while all was well: {alerts}")
    received = run.serve.total("a2a_drift_received_total")
    say(f"   {len(AGENTS)} agents at work, {received:.0f} records received, nothing fires")


def known(run):
    """The agents that Prometheus has calls of, once they are all there."""
    series = run.prometheus.query("sum by (agent) (a2a_exchanges_total)")
    agents = {one["metric"].get("agent", "") for one in series}
    return agents if agents >= set(AGENTS) else None


def told(run):
    """Every fault leads to its alert, with the right labels; and nothing is told of who is well."""
    started = time.monotonic()
    run.drifts()
    drifted = time.monotonic()
    wanted = {(a.name, a.rule, a.severity, a.agent, a.suspect) for a in EXPECTED}
    seen, first = set(), {}

    def all_there():
        seen.update(now := run.told())
        for alert in now & wanted:
            first.setdefault(alert, time.monotonic() - drifted)
        return wanted <= seen

    try:
        wait("all alerts to be there", all_there)
    except Failure as failure:
        missing, others = wanted - seen, seen - wanted
        raise Failure(f"{failure}\nmissing:\n{lines(missing)}there were also:\n{lines(others)}") from failure
    say(f"   faults planted in {drifted - started:.0f} s; the last alert came {max(first.values()):.0f} s later")
    say("   " + "\n   ".join(f"{a[2]:9}{a[1]:30}{a[3]:12}{a[4]}" for a in sorted(wanted)))
    if others := seen - wanted:
        say("   told besides, of the same faults:\n" + lines(others))
    if any(alert[3] == "planner" for alert in seen):
        raise Failure("an alert on the agent that is well")
    check_annotations(run)
    check_api(run)
    # At the latest with the next of the retries.
    wait("the same by the service itself", lambda: wanted <= run.told(run.direct))
    say(f"   {len(run.told(run.direct))} alerts pushed directly, the same among them")


def lines(alerts):
    return "".join(f"     {' '.join(alert)}\n" for alert in sorted(alerts))


def check_annotations(run):
    """Alerts say in words what is wrong, and where to read on."""
    for alert in run.alertmanager.alerts():
        said = alert["annotations"]
        for part in ("summary", "description", "runbook_url"):
            if not said.get(part) or "<no value>" in said[part]:
                raise Failure(f"{alert['labels']['alertname']}: {part} is {said.get(part)!r}")


def check_api(run):
    """The findings API has the evidence of what was told."""
    found = run.serve.findings()["findings"]
    rules = {(f["rule"], f["agent"]) for f in found}
    missing = [alert for alert in EXPECTED if (alert.rule, alert.agent) not in rules]
    if missing:
        raise Failure(f"the findings API does not have {missing}")


def resolves(run):
    """The faults end, and the alerts with them."""
    started = time.monotonic()
    run.mends()
    # The held task ends: whoever reads it sees that the finding on it is no more.
    run.until("crawler", run.held, "TASK_STATE_COMPLETED")
    ended = {}

    def all_gone():
        now = {(alert[1], alert[3]) for alert in run.told()}
        for alert in EXPECTED:
            if (alert.rule, alert.agent) not in now:
                ended.setdefault(alert.agent, time.monotonic() - started)
        return not now

    try:
        wait("all alerts to be resolved", all_gone, pause=1)
    except Failure as failure:
        raise Failure(f"{failure}\nstill there:\n{lines(run.told())}") from failure
    wait("all alerts that were pushed to be resolved", lambda: not run.told(run.direct), pause=1)
    if ended["crawler"] > min(ended.values()):
        raise Failure(f"the alert on the task that went on did not resolve first: {ended}")
    say(f"   the alert on the task that went on resolved in {ended['crawler']:.0f} s, by what was seen")
    say(f"   all alerts resolved within {max(ended.values()):.0f} s of the faults' end, those pushed directly too")


def delays(run):
    """Time from when a finding could fire to its publication, by the service's own histogram."""
    for name, means in (
        ("a2a_drift_detection_lag_seconds", "from when it could fire, to /metrics"),
        ("a2a_drift_detection_delay_seconds", "from the arrival of its last evidence, to /metrics, patience included"),
    ):
        buckets = run.serve.metrics()
        said = [f"p{share * 100:.0f} {quantile(buckets, name, share)}" for share in (0.5, 0.99)]
        say(f"   {name}: {', '.join(said)} over {buckets[name + '_count']:.0f} findings ({means})")


def quantile(metrics, name, share):
    """Upper bound of the bucket that a quantile lies in."""
    bounds = []
    for key, value in metrics.items():
        if found := re.fullmatch(name + r'_bucket\{le="([^"]+)"\}', key):
            bounds.append((float(found[1].replace("+Inf", "inf")), value))
    rank = share * metrics[name + "_count"]
    return next(f"<= {bound:g} s" for bound, count in sorted(bounds) if count >= rank)


def run(context):
    """All of it."""
    running = Run(context)
    healthy(running)
    told(running)
    boards.check(context, running)
    resolves(running)
    delays(running)
    context.end(running.fleet, running.prometheus, running.alertmanager, running.direct, running.collector)
    code = running.serve.stop()
    if code != 0:
        raise Failure(f"serve ended with {code}\n{running.serve.tail()}")
