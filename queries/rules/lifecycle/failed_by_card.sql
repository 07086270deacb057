-- title    = "A caller gave up a running task because of what it saw, or did not see, in the card"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["task_events.state[origin=local]", "cards.http_status"]
-- summary  = "{who} gave up {task_id} as {state} {after} a look at the card of {agent}: {saw}"
-- suspect  = "client"
-- because  = "{why}"
-- next     = "Ask {agent} for {task_id} itself: a card says what is offered next, not how a running task goes"
-- params   = { after = "60 seconds" }
-- marks    = { cards = { on = ["client", "agent"] }, card_looks = { on = ["agent"] } }
--
-- ## What it finds
-- A terminal verdict of the caller's own within a minute after its look at the agent's card showed that the task's skill is gone, or failed, while the agent
-- had not ended the task.
-- ## Why it matters
-- A skill that leaves the card does not end tasks that run on it. The agent works on, completes and charges; the caller has already told its users
-- that it failed.
-- ## First checks
-- 1. Read the task from the agent: completed or working means split brain; see split_brain.
-- 2. Compare the card before and after the look; skills_changed_same_version tells whether others stumble over it.
-- 3. Look for other verdicts of the same caller in the minute after that look.
-- ## When it is wrong
-- When the caller had another reason, such as a cancel by its user in the same minute.
-- ## What it cannot see
-- Callers whose looks and verdicts bear different names, and verdicts that nobody records.

WITH verdicts AS (
    SELECT
        e.agent,
        e.task_id,
        e.client,
        e.state,
        e.observed_at,
        e.fact_id,
        row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at, e.fact_id) AS nth
    FROM task_events AS e
    WHERE
        e.task_id <> '' AND e.origin = 'local' AND e.observer <> 'server'
        AND e.state IN ('failed', 'canceled', 'rejected')
),

open AS (
    SELECT
        v.agent,
        v.task_id,
        v.client,
        v.state,
        v.observed_at,
        v.fact_id,
        t.skill_id
    FROM verdicts AS v
    INNER JOIN tasks AS t ON v.agent = t.agent AND v.task_id = t.task_id
    WHERE
        v.nth = 1
        AND NOT EXISTS (
            SELECT 1 FROM task_ends AS e
            WHERE
                e.agent = v.agent AND e.task_id = v.task_id AND e.speaker = 'server'
                AND (e.ended_at <= v.observed_at OR e.first_seen_at <= v.observed_at)
        )
),

-- Looks are found by the day, so that those of all times are not held against every verdict.
look_days AS (
    SELECT
        k.agent,
        k.client,
        date_trunc('day', k.observed_at) AS day,
        min(k.observed_at) AS first_at,
        max(k.observed_at) AS last_at
    FROM cards AS k
    GROUP BY k.agent, k.client, date_trunc('day', k.observed_at)
),

looked AS (
    SELECT
        o.agent,
        o.task_id,
        o.client,
        o.skill_id,
        o.state,
        o.observed_at AS verdict_at,
        o.fact_id AS verdict_fact_id,
        k.observed_at AS looked_at,
        k.fact_id AS look_fact_id,
        k.body_sha256 = '' AND NOT coalesce(k.not_modified, FALSE) AS is_failed,
        row_number() OVER (
            PARTITION BY o.agent, o.task_id ORDER BY k.observed_at DESC NULLS LAST, k.fact_id
        ) AS nth_last
    FROM open AS o
    INNER JOIN look_days AS h
        ON
            o.agent = h.agent AND o.client = h.client AND o.observed_at >= h.first_at
            AND h.last_at >= o.observed_at - CAST($after AS INTERVAL)
    INNER JOIN cards AS k
        ON
            o.agent = k.agent AND o.client = k.client AND h.day = date_trunc('day', k.observed_at)
            AND o.observed_at >= k.observed_at
            AND k.observed_at >= o.observed_at - CAST($after AS INTERVAL)
    WHERE k.body_sha256 <> '' OR NOT coalesce(k.extended, FALSE)
),

bodies AS (
    SELECT
        k.agent,
        k.task_id,
        k.client,
        k.skill_id,
        k.state,
        k.verdict_at,
        k.verdict_fact_id,
        k.looked_at,
        k.look_fact_id,
        k.is_failed,
        l.body_sha256,
        l.extended
    FROM looked AS k
    LEFT JOIN card_looks AS l ON k.agent = l.agent AND k.look_fact_id = l.fact_id
    WHERE k.nth_last = 1
),

lacking AS (
    SELECT
        b.agent,
        b.task_id,
        b.skill_id,
        b.extended,
        b.looked_at
    FROM bodies AS b
    WHERE
        b.skill_id <> '' AND NOT b.is_failed
        AND NOT EXISTS (SELECT 1 FROM card_skills AS s WHERE s.body_sha256 = b.body_sha256 AND s.skill_id = b.skill_id)
),

-- Days on which somebody saw a card that lists a skill, and the first such look.
days AS (
    SELECT
        h.agent,
        h.extended,
        s.skill_id,
        h.day,
        min(h.first_at) AS first_at
    FROM (
        SELECT
            l.agent,
            l.extended,
            l.body_sha256,
            date_trunc('day', l.observed_at) AS day,
            min(l.observed_at) AS first_at
        FROM card_looks AS l
        GROUP BY l.agent, l.extended, l.body_sha256, date_trunc('day', l.observed_at)
    ) AS h
    INNER JOIN card_skills AS s ON h.body_sha256 = s.body_sha256
    GROUP BY h.agent, h.extended, s.skill_id, h.day
),

last_days AS (
    SELECT
        k.agent,
        k.task_id,
        k.skill_id,
        k.extended,
        k.looked_at,
        max(h.day) AS day
    FROM lacking AS k
    INNER JOIN days AS h
        ON k.agent = h.agent AND k.extended = h.extended AND k.skill_id = h.skill_id AND k.looked_at > h.first_at
    GROUP BY k.agent, k.task_id, k.skill_id, k.extended, k.looked_at
),

listed AS (
    SELECT
        k.agent,
        k.task_id,
        l.fact_id,
        row_number() OVER (PARTITION BY k.agent, k.task_id ORDER BY l.observed_at DESC NULLS LAST, l.fact_id) AS nth_last
    FROM last_days AS k
    INNER JOIN card_looks AS l
        ON
            k.agent = l.agent AND k.extended = l.extended AND k.day = date_trunc('day', l.observed_at)
            AND k.looked_at > l.observed_at
    INNER JOIN card_skills AS s ON l.body_sha256 = s.body_sha256 AND k.skill_id = s.skill_id
)

SELECT
    b.agent,
    b.task_id,
    b.client,
    b.skill_id,
    b.state,
    CASE WHEN b.client = '' THEN 'A client' ELSE b.client END AS who,
    CASE
        WHEN date_trunc('second', b.verdict_at) = date_trunc('second', b.looked_at) THEN 'right after'
        ELSE concat(CAST(CAST(floor(
            extract(EPOCH FROM date_trunc('second', b.verdict_at)) - extract(EPOCH FROM date_trunc('second', b.looked_at))
        ) AS BIGINT) AS VARCHAR), ' s after')
    END AS after,
    CASE WHEN b.is_failed THEN 'it could not be had' ELSE concat(b.skill_id, ' is gone') END AS saw,
    CASE
        WHEN b.is_failed THEN 'its last look at the card before the verdict failed, and the agent had not ended the task'
        ELSE 'its last look at the card before the verdict no longer lists the skill, and the agent had not ended the task'
    END AS why,
    CASE WHEN b.client = '' THEN 'likely' ELSE 'confirmed' END AS confidence,
    b.verdict_at AS observed_at,
    b.verdict_fact_id,
    b.look_fact_id,
    coalesce(l.fact_id, '') AS look_before_fact_id
FROM bodies AS b
LEFT JOIN listed AS l ON b.agent = l.agent AND b.task_id = l.task_id AND l.nth_last = 1
WHERE b.is_failed OR l.fact_id IS NOT NULL
