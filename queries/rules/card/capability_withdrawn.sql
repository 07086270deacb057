-- title    = "A card took back streaming or push while tasks were using it"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["cards.streaming", "task_events.state"]
-- summary  = "{agent} withdrew {what} while {names} used it"
-- suspect  = "card-publisher"
-- because  = "the card said {what} before and does not now; what rests on it: {tasks|open task|open tasks}"
-- next     = "Poll {names} until they end: no stream or webhook may tell; then restore {what} on {agent}, or let its callers plan without it"
-- params   = { named = 5 }
--
-- ## What it finds
-- Two looks at one card identity between which streaming or push notifications went from offered to not offered, while a task that streams, or has a push
-- config or deliveries, was open. `count` is the number of such tasks.
-- ## Why it matters
-- Whoever waits for the stream or the webhook of an open task may wait for ever: a resubscription is refused, a delivery is never sent.
-- ## First checks
-- 1. Poll the named tasks.
-- 2. Was it meant, or did a deployment lose a setting? Compare the two cards.
-- 3. Look for stream_cut, terminal_undelivered and push_config_rejected since.
-- ## When it is wrong
-- When the runtime honours what it took back until the open tasks are done.
-- ## What it cannot see
-- Push configs made before the capture began, unless something is delivered; changes of the card that nobody looks at.

WITH hit AS (
    SELECT
        x.agent,
        x.task_id,
        x.created_at,
        x.created_fact_id,
        x.changed_at,
        x.before_fact_id,
        x.after_fact_id,
        x.streaming_before AND NOT x.streaming AND x.uses_streaming AS lost_streaming,
        x.push_before AND NOT x.push_notifications AND x.uses_push AS lost_push
    FROM task_crossings AS x
    WHERE
        (x.streaming_before AND NOT x.streaming AND x.uses_streaming)
        OR (x.push_before AND NOT x.push_notifications AND x.uses_push)
),

numbered AS (
    SELECT
        h.agent,
        h.task_id,
        h.created_fact_id,
        h.changed_at,
        h.before_fact_id,
        h.after_fact_id,
        h.lost_streaming,
        h.lost_push,
        row_number() OVER (PARTITION BY h.agent, h.after_fact_id ORDER BY h.created_at, h.created_fact_id) AS nth
    FROM hit AS h
),

withdrawn AS (
    SELECT
        n.agent,
        n.after_fact_id,
        n.before_fact_id,
        n.changed_at,
        bool_or(n.lost_streaming) AS lost_streaming,
        bool_or(n.lost_push) AS lost_push,
        count(*) AS tasks,
        concat(
            string_agg(CASE WHEN n.nth <= $named THEN n.task_id END, ', ' ORDER BY n.nth, n.created_fact_id),
            CASE WHEN count(*) > $named THEN concat(' and ', CAST(count(*) - $named AS VARCHAR), ' more') ELSE '' END
        ) AS names,
        array_agg(n.task_id ORDER BY n.nth, n.created_fact_id) AS task_ids,
        array_agg(n.created_fact_id ORDER BY n.nth, n.created_fact_id) FILTER (WHERE n.nth <= $named) AS open_task_fact_ids
    FROM numbered AS n
    GROUP BY n.agent, n.after_fact_id, n.before_fact_id, n.changed_at
),

ranked AS (
    SELECT
        w.agent,
        w.after_fact_id,
        w.before_fact_id,
        w.changed_at,
        w.lost_streaming,
        w.lost_push,
        w.tasks,
        w.names,
        w.task_ids,
        w.open_task_fact_ids,
        max(w.changed_at) OVER (PARTITION BY w.agent) AS last_seen,
        row_number() OVER (PARTITION BY w.agent ORDER BY w.tasks DESC NULLS LAST, w.changed_at, w.after_fact_id) AS rank
    FROM withdrawn AS w
)

SELECT
    r.agent,
    CASE
        WHEN r.lost_streaming AND r.lost_push THEN 'streaming and push'
        WHEN r.lost_streaming THEN 'streaming'
        ELSE 'push'
    END AS what,
    r.names,
    r.tasks,
    r.task_ids,
    'confirmed' AS confidence,
    r.tasks AS count,
    r.changed_at AS observed_at,
    r.changed_at AS first_seen,
    r.last_seen,
    r.before_fact_id,
    r.after_fact_id,
    r.open_task_fact_ids
FROM ranked AS r
WHERE r.rank = 1
