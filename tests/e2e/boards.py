"""Every expression of the dashboards, asked of the Prometheus that watched the faults: none is empty, and the panels of the
faults show them."""

import json
import os
import re

from stack import Failure, say, wait

# What may be empty, and why.
MAY_BE_EMPTY = {
    "Cards": "the run is too short: a change is told from a card first seen by the five minutes before it",
    "Rejected": "nothing was sent that is not understood",
    "Refused": "nothing was refused",
    "Denied": "nothing was denied",
    "Connections lost": "no connection was lost",
    "Evaluations that fail": "no evaluation failed",
    "Writes that fail": "no Alertmanager is told directly",
}

# Panels of the Agent board on what only another agent's fault shows.
OF_ANOTHER = {
    "Calls that fail, by outcome": "archive",
    "Webhook deliveries by outcome": "payments",
    "Webhook deliveries that are refused": "payments",
}


def check(context, run):
    """All boards; those of one agent for the agent with most faults."""
    empty, asked = [], 0
    for board in ("fleet", "agent", "service"):
        with open(os.path.join(context.root, "dashboards/grafana", board + ".json"), encoding="utf-8") as file:
            dashboard = json.load(file)
        agent = "summaries" if board == "agent" else ".*"
        for title, expression in expressions(dashboard):
            asked += 1
            wanted = agent
            if board == "agent":
                wanted = OF_ANOTHER.get(title, agent)
            expression = substitute(expression, wanted)
            if not run.prometheus.query(expression) and title not in MAY_BE_EMPTY:
                empty.append(f"{board}: {title}: {expression}")
    if empty:
        raise Failure(f"{len(empty)} of {asked} expressions of the dashboards give nothing:\n" + "\n".join(empty))
    say(f"   {asked} expressions of the dashboards evaluated, none empty but where nothing failed")
    shows_faults(context, run)


def shows_faults(context, run):
    """The table of the Fleet board has a row for each fault, and the board of an agent its own."""
    from faults import EXPECTED

    with open(os.path.join(context.root, "dashboards/grafana/fleet.json"), encoding="utf-8") as file:
        table = next(e for title, e in expressions(json.load(file)) if title == "What drifts now")

    def rows():
        found = run.prometheus.query(substitute(table, ".*"))
        return {(row["metric"]["rule"], row["metric"]["agent"], row["metric"]["severity"]) for row in found}

    wanted = {(alert.rule, alert.agent, alert.severity) for alert in EXPECTED}
    wait("the Fleet board to show every fault", lambda: wanted <= rows(), patience=20)
    say(f"   'What drifts now' shows all {len(wanted)} faults")


def expressions(dashboard):
    """Title and expression of every query: panels, those in rows, annotations."""
    waiting = list(dashboard["panels"])
    while waiting:
        panel = waiting.pop(0)
        waiting.extend(panel.get("panels", []))
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for annotation in dashboard["annotations"]["list"]:
        if "target" in annotation:
            yield annotation["name"], annotation["target"]["expr"]


def substitute(expression, agent):
    """Variables as Grafana would fill them in."""
    values = {"__rate_interval": "2m", "__interval": "15s", "__range": "1h", "agent": agent}
    return re.sub(r"\$\{?(\w+)(?::\w+)?\}?", lambda found: values.get(found[1], ".*"), expression)
