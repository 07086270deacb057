-- title    = "A task failed inside its lifecycle because the agent does not know the skill or mode"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.reason_class"]
-- summary  = "{task_id} ended {state}: the agent does not honour {asked_for}"
-- suspect  = "client-cache"
-- because  = "{why}"
-- marks    = { unread_looks = { on = ["agent"] } }
-- next     = "{advice}"
--
-- ## What it finds
-- A task that the agent accepted and then ended as failed or rejected, with a status message that refuses the skill or the mode. The call itself
-- succeeded, so nothing shows at the level of HTTP or JSON-RPC. Critical if the card that the caller held lists the skill, else a warning.
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
        coalesce(c.basis, 'none') AS basis,
        coalesce(c.held_lists, FALSE) AS held_lists,
        coalesce(c.held_fact_id, '') AS held_fact_id,
        coalesce(c.basis, 'none') = 'none' AND t.skill_id <> '' AND l.agent IS NOT NULL AS is_unread,
        CASE WHEN t.client = '' THEN 1 ELSE 0 END + CASE WHEN c.basis = 'anyone' THEN 1 ELSE 0 END AS steps_down
    FROM refused AS r
    INNER JOIN tasks AS t ON r.agent = t.agent AND r.task_id = t.task_id
    LEFT JOIN send_cards AS c ON t.agent = c.agent AND t.task_id = c.task_id AND t.skill_call_key = c.call_key
    LEFT JOIN unread_looks AS l ON t.agent = l.agent AND t.created_at >= l.first_at
)

SELECT
    j.agent,
    j.task_id,
    j.client,
    j.skill_id,
    j.reason_class,
    j.state,
    CASE
        WHEN j.reason_class = 'unknown-skill' AND j.skill_id <> '' THEN concat('skill ', j.skill_id)
        WHEN j.reason_class = 'unknown-skill' THEN 'the skill that was asked for'
        WHEN j.skill_id <> '' THEN concat('the mode that was asked of skill ', j.skill_id)
        ELSE 'the mode that was asked for'
    END AS asked_for,
    -- With neither the caller nor its own card known, only the failure is sure.
    CASE WHEN j.held_lists AND j.steps_down < 2 THEN 'critical' ELSE 'warning' END AS severity,
    CASE WHEN j.steps_down = 0 AND NOT j.is_unread THEN 'confirmed' ELSE 'likely' END AS confidence,
    CASE WHEN j.held_lists OR j.basis = 'none' OR j.skill_id = '' THEN 'client-cache' ELSE 'client' END AS suspect,
    CASE
        WHEN j.skill_id = '' THEN 'the request names no skill, so what the caller believed cannot be told'
        WHEN j.is_unread THEN 'a card was fetched before the call, but its body was not recorded'
        WHEN j.basis = 'none' THEN 'no card was seen before the call'
        WHEN
            j.held_lists AND j.basis = 'anyone'
            THEN 'the last card that anyone saw lists the skill; the caller itself was not seen looking'
        WHEN j.held_lists THEN 'the card that the caller held lists the skill'
        ELSE 'the card that the caller held does not list the skill it asked for'
    END AS why,
    CASE
        WHEN j.held_lists OR j.basis = 'none' OR j.skill_id = ''
            THEN concat(
                'Make ', CASE j.client WHEN '' THEN 'the caller' ELSE j.client END, ' fetch the card of ', j.agent,
                ' again before it retries; compare the skills of the two generations'
            )
        ELSE concat(
            'Find out where ', CASE j.client WHEN '' THEN 'the caller' ELSE j.client END, ' has skill ', j.skill_id,
            ' from, and have it ask for one that the card of ', j.agent, ' lists'
        )
    END AS advice,
    j.refused_at AS observed_at,
    j.refusal_fact_id,
    j.created_fact_id,
    j.held_fact_id
FROM judged AS j
