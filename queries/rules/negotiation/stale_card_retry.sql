-- title    = "A caller repeats what the agent refuses, without looking at the card again"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["client", "agent"]
-- entity   = ["client", "agent", "skill_id"]
-- needs    = ["exchanges.outcome or task_events.reason_class", "exchanges.operation or task_events.reason_class"]
-- summary  = "{client} failed {count|time|times} on {agent} for {asked_for} without looking at the card again"
-- suspect  = "client-cache"
-- because  = "no successful card fetch lies between the failures; {why}"
-- next     = "Stop {client} from retrying {asked_for}, and make it fetch the card of {agent} after the first refusal of this kind"
-- marks    = { unread_looks = { on = ["agent"] } }
-- params   = { calls = 2, critical_calls = 5, shown = 10 }
--
-- ## What it finds
-- More than one call of one caller that fails for lack of a capability (a task failed for its skill or mode, or a refusal), on one card held: no successful
-- look at the card, 200 or 304, lies between them. Critical from `critical_calls` on.
-- ## Why it matters
-- A retry on the same stale card cannot succeed; it only adds load, cost and failures that are filed against the remote agent.
-- ## First checks
-- 1. Compare the card held (below) with the one the agent serves now: is the skill gone, or does only the runtime refuse it?
-- 2. How long does the caller cache the card, and does it fetch again on a refusal?
-- 3. Is the retry the caller's own or its framework's?
-- ## When it is wrong
-- When the caller learns of the card by a way that is not captured, such as a registry.
-- ## What it cannot see
-- Callers behind one address that are several, unless their names are known. The same message sent again by a transport is one call.

WITH failures AS (
    SELECT
        f.client,
        f.agent,
        f.skill_id,
        f.sent_at,
        f.observed_at,
        f.fact_id,
        f.call_key,
        CASE WHEN c.message_id <> '' THEN c.message_id ELSE f.failure_key END AS message_key
    FROM capability_failures AS f
    LEFT JOIN calls AS c ON f.agent = c.agent AND f.client = c.client AND f.call_key = c.call_key
),

repeated AS (
    SELECT
        f.client,
        f.agent
    FROM failures AS f
    GROUP BY f.client, f.agent
    HAVING count(DISTINCT f.message_key) >= $calls
),

looks AS (
    SELECT
        k.client,
        k.agent,
        k.observed_at,
        k.fact_id
    FROM cards AS k
    INNER JOIN repeated AS r ON k.client = r.client AND k.agent = r.agent
    WHERE k.body_sha256 <> '' OR k.fingerprint <> '' OR coalesce(k.not_modified, FALSE) OR (k.http_status >= 200 AND k.http_status < 300)
),

timeline AS (
    SELECT
        l.client,
        l.agent,
        l.observed_at AS at,
        l.fact_id,
        1 AS looked
    FROM looks AS l
    UNION ALL
    SELECT
        f.client,
        f.agent,
        f.sent_at AS at,
        f.fact_id,
        0 AS looked
    FROM failures AS f
    INNER JOIN repeated AS r ON f.client = r.client AND f.agent = r.agent
),

counted AS (
    SELECT
        t.client,
        t.agent,
        t.fact_id,
        t.looked,
        sum(t.looked) OVER (
            PARTITION BY t.client, t.agent ORDER BY t.at, t.looked DESC NULLS LAST, t.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS nth_look
    FROM timeline AS t
),

-- The same message sent again is one call: its first failure stands.
messages AS (
    SELECT
        f.client,
        f.agent,
        f.skill_id,
        c.nth_look,
        f.message_key,
        f.call_key,
        f.observed_at,
        f.fact_id,
        row_number() OVER (
            PARTITION BY f.client, f.agent, f.skill_id, c.nth_look, f.message_key ORDER BY f.observed_at, f.fact_id
        ) AS nth_try
    FROM failures AS f
    INNER JOIN counted AS c ON f.client = c.client AND f.agent = c.agent AND f.fact_id = c.fact_id AND c.looked = 0
),

numbered AS (
    SELECT
        m.client,
        m.agent,
        m.skill_id,
        m.nth_look,
        m.call_key,
        m.observed_at,
        m.fact_id,
        row_number() OVER (PARTITION BY m.client, m.agent, m.skill_id, m.nth_look ORDER BY m.observed_at, m.fact_id) AS nth
    FROM messages AS m
    WHERE m.nth_try = 1
),

streaks AS (
    SELECT
        n.client,
        n.agent,
        n.skill_id,
        n.nth_look,
        count(*) AS failed,
        min(n.observed_at) AS first_seen,
        max(n.observed_at) AS last_seen,
        min(CASE WHEN n.nth = $calls THEN n.observed_at END) AS repeated_at,
        array_agg(n.fact_id ORDER BY n.observed_at, n.fact_id) FILTER (WHERE n.nth <= $shown) AS failure_fact_ids,
        min(CASE WHEN n.nth = 1 THEN n.call_key END) AS first_call_key,
        min(CASE WHEN n.nth = 1 THEN n.fact_id END) AS first_fact_id
    FROM numbered AS n
    GROUP BY n.client, n.agent, n.skill_id, n.nth_look
    HAVING count(*) >= $calls
),

worst AS (
    SELECT
        s.client,
        s.agent,
        s.skill_id,
        s.failed,
        s.first_seen,
        s.last_seen,
        s.repeated_at,
        s.failure_fact_ids,
        s.first_call_key,
        count(*) OVER (PARTITION BY s.client, s.agent, s.skill_id) AS cards,
        row_number() OVER (PARTITION BY s.client, s.agent, s.skill_id ORDER BY s.failed DESC NULLS LAST, s.first_fact_id) AS nth
    FROM streaks AS s
),

judged AS (
    SELECT
        w.client,
        w.agent,
        w.skill_id,
        w.failed,
        w.cards,
        w.first_seen,
        w.last_seen,
        w.repeated_at,
        w.failure_fact_ids,
        c.held_lists,
        coalesce(c.held_fact_id, '') AS held_card_fact_id,
        coalesce(c.basis, 'none') AS basis,
        l.agent IS NOT NULL AS is_unread,
        CASE WHEN w.client = '' THEN 1 ELSE 0 END + CASE WHEN w.skill_id = '' THEN 1 ELSE 0 END
        + CASE WHEN coalesce(c.basis, 'none') = 'client' THEN 0 ELSE 1 END AS steps_down
    FROM worst AS w
    LEFT JOIN send_cards AS c ON w.agent = c.agent AND w.client = c.client AND w.first_call_key = c.call_key
    LEFT JOIN unread_looks AS l ON w.agent = l.agent AND w.first_seen >= l.first_at
    WHERE w.nth = 1
)

SELECT
    j.client,
    j.agent,
    j.skill_id,
    j.failed AS "count",
    j.cards AS streaks,
    CASE WHEN j.skill_id = '' THEN 'a skill that the requests do not name' ELSE j.skill_id END AS asked_for,
    CASE WHEN j.steps_down >= 2 THEN 'info' WHEN j.failed >= $critical_calls THEN 'critical' ELSE 'warning' END AS severity,
    CASE j.steps_down WHEN 0 THEN 'confirmed' WHEN 1 THEN 'likely' ELSE 'possible' END AS confidence,
    CASE
        WHEN j.basis = 'none' AND j.is_unread THEN 'a card was fetched before them, but its body was not recorded'
        WHEN j.basis = 'none' THEN 'no look of any kind was seen before them'
        WHEN j.basis = 'anyone' THEN 'the caller itself was never seen looking'
        WHEN j.held_lists THEN 'the card that it holds still lists the skill'
        WHEN NOT j.held_lists THEN 'the card that it holds does not even list the skill'
        ELSE 'what it asked for cannot be compared with the card that it holds'
    END AS why,
    j.repeated_at AS observed_at,
    j.first_seen,
    j.last_seen,
    j.failure_fact_ids,
    j.held_card_fact_id
FROM judged AS j
