-- title    = "A task failed inside its lifecycle because the agent does not know the skill or mode"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.reason_class"]
-- summary  = "{task_id} ended {state}: the agent does not honour skill {skill_id}"
-- suspect  = "client-cache"
-- because  = "{why}"
-- next     = "Make {client} fetch the card of {agent} again before it retries; compare the skills of the two generations"
--
-- ## What it finds
-- A task that the agent accepted and then ended as failed or rejected, with a status message that refuses the skill or the mode. The call itself
-- succeeded, so nothing shows at the level of HTTP or JSON-RPC (record 000).
-- ## Why it matters
-- The caller negotiates from a card that is no longer true. Retries repeat the failure, and it is filed as a fault of the remote agent.
-- ## First checks
-- 1. Compare the skills in the card that the caller held with those of the last look by anyone: gone means a stale cache.
-- 2. If the skill is still listed, the runtime is ahead of or behind its card: look at the agent's last deployment within the hour before.
-- 3. If no card ever listed it, correct the caller's configuration.
-- ## When it is wrong
-- When an agent's text refuses something else in the words of a refused skill. Add the text to `patterns.toml` and a quiet case.
-- ## What it cannot see
-- Agents that fail without a status message, and sources without bodies.

WITH refused AS (
    SELECT
        e.agent,
        e.task_id,
        max(e.reason_class) AS reason_class,
        max(e.state) AS state,
        min(e.observed_at) AS refused_at,
        min(e.fact_id) AS refusal_fact_id
    FROM task_events AS e
    WHERE
        e.task_id <> '' AND e.origin <> 'local' AND e.state IN ('failed', 'rejected')
        AND e.reason_class IN ('unknown-skill', 'unsupported-mode')
    GROUP BY e.agent, e.task_id
),

judged AS (
    SELECT
        r.agent,
        r.task_id,
        r.reason_class,
        r.state,
        r.refused_at,
        r.refusal_fact_id,
        t.client,
        t.skill_id,
        t.created_fact_id,
        c.basis,
        c.held_lists,
        c.held_fact_id
    FROM refused AS r
    INNER JOIN tasks AS t ON r.agent = t.agent AND r.task_id = t.task_id
    LEFT JOIN send_cards AS c ON t.agent = c.agent AND t.task_id = c.task_id AND t.skill_call_key = c.call_key
)

SELECT
    j.agent,
    j.task_id,
    j.client,
    j.skill_id,
    j.reason_class,
    j.state,
    CASE WHEN coalesce(j.held_lists, FALSE) THEN 'critical' ELSE 'warning' END AS severity,
    CASE
        WHEN coalesce(j.basis, 'none') = 'client' AND j.client <> '' THEN 'confirmed'
        WHEN coalesce(j.basis, 'none') = 'none' AND j.client <> '' THEN 'confirmed'
        ELSE 'likely'
    END AS confidence,
    CASE WHEN coalesce(j.held_lists, TRUE) THEN 'client-cache' ELSE 'client' END AS suspect,
    CASE
        WHEN j.held_lists THEN 'the card it acted on lists the skill that the agent refuses'
        WHEN NOT j.held_lists THEN 'the card it held does not list the skill it asked for'
        ELSE 'no card was seen before the call'
    END AS why,
    j.refused_at AS observed_at,
    j.refusal_fact_id,
    j.created_fact_id,
    j.held_fact_id
FROM judged AS j
