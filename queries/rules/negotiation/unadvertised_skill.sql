-- title    = "A skill is used that the card held by the caller does not list"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["client", "agent"]
-- entity   = ["client", "agent", "skill_id"]
-- needs    = ["exchanges.skill_id", "exchanges.operation", "cards.body_sha256"]
-- summary  = "{client} asked {agent} {count|time|times} for {skill_id}, which its card does not list; {outcome}"
-- suspect  = "client"
-- because  = "{why}"
-- next     = "Look where {client} takes {skill_id} from, and have the publisher of {agent} list it or the agent refuse it"
-- marks    = { task_ends = { on = ["agent", "task_id"] } }
--
-- ## What it finds
-- Messages that name a skill which neither the basic nor the extended card held by the caller lists. A warning if a task completes for it: then the agent
-- serves what it does not advertise, and no promise about its output holds.
-- ## Why it matters
-- What works without being advertised may stop without notice, and nobody can negotiate its modes or its security. Skills withdrawn from the card and still
-- served are how the wrong format gets into a store: the consumer parses what the card said, and gets something else.
-- ## First checks
-- 1. Was the skill in an earlier card? Then the caller acts on an old one, and the agent has not dropped what its card has.
-- 2. Was it never listed? Then the id is hard-wired in the caller: look for it in its configuration.
-- 3. Does the agent look at the id at all? Send one that cannot exist and see whether it completes, too.
-- ## When it is wrong
-- When the caller holds an extended card that it fetched before the capture began.
-- ## What it cannot see
-- Skills named in words only, and callers whose card looks were not seen by anyone.

WITH asked AS (
    SELECT
        s.client,
        s.agent,
        s.skill_id,
        s.call_key,
        s.observed_at,
        s.held_fact_id,
        s.negotiated_fact_id,
        c.fact_id AS request_fact_id,
        t.fact_id AS completed_fact_id,
        t.task_id,
        CASE WHEN s.client = '' THEN 1 ELSE 0 END + CASE WHEN s.basis = 'anyone' THEN 1 ELSE 0 END AS steps_down
    FROM send_cards AS s
    INNER JOIN calls AS c ON s.agent = c.agent AND s.client = c.client AND s.call_key = c.call_key
    LEFT JOIN task_ends AS t
        ON s.agent = t.agent AND s.task_id = t.task_id AND s.task_id <> '' AND t.speaker = 'server' AND t.state = 'completed'
    WHERE s.skill_id <> '' AND s.held_lists = FALSE
),

ranked AS (
    SELECT
        a.client,
        a.agent,
        a.skill_id,
        a.call_key,
        a.task_id,
        a.held_fact_id,
        a.negotiated_fact_id,
        a.request_fact_id,
        a.completed_fact_id,
        a.steps_down,
        min(a.observed_at) OVER (PARTITION BY a.client, a.agent, a.skill_id) AS first_seen,
        max(a.observed_at) OVER (PARTITION BY a.client, a.agent, a.skill_id) AS last_seen,
        count(*) OVER (PARTITION BY a.client, a.agent, a.skill_id) AS calls,
        count(a.completed_fact_id) OVER (PARTITION BY a.client, a.agent, a.skill_id) AS completed,
        row_number() OVER (
            PARTITION BY a.client, a.agent, a.skill_id
            ORDER BY CASE WHEN a.completed_fact_id IS NULL THEN 1 ELSE 0 END, a.steps_down, a.observed_at, a.request_fact_id
        ) AS nth
    FROM asked AS a
)

SELECT
    r.client,
    r.agent,
    r.skill_id,
    r.calls AS "count",
    r.completed,
    CASE WHEN r.completed > 0 THEN concat(CAST(r.completed AS VARCHAR), ' completed') ELSE 'none completed' END AS outcome,
    CASE WHEN r.completed > 0 AND r.steps_down < 2 THEN 'warning' ELSE 'info' END AS severity,
    CASE r.steps_down WHEN 0 THEN 'confirmed' WHEN 1 THEN 'likely' ELSE 'possible' END AS confidence,
    CASE WHEN r.negotiated_fact_id <> '' THEN 'client-cache' WHEN r.completed > 0 THEN 'card-publisher' ELSE 'client' END AS suspect,
    CASE
        WHEN r.negotiated_fact_id <> '' THEN 'an earlier card listed the skill, the one held now does not'
        WHEN r.completed > 0 THEN 'no card lists the skill, and the agent served it'
        ELSE 'no card lists the skill'
    END AS why,
    r.first_seen AS observed_at,
    r.first_seen,
    r.last_seen,
    r.request_fact_id,
    r.completed_fact_id,
    r.held_fact_id AS held_card_fact_id,
    r.negotiated_fact_id AS earlier_card_fact_id
FROM ranked AS r
WHERE r.nth = 1
