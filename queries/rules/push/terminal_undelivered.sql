-- title    = "A task ended and its webhook was not told"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["exchanges.push_url", "exchanges.outcome", "exchanges.task_id", "push_deliveries.task_id", "task_events.state"]
-- summary  = "{task_id} ended {state}, and no delivery of it succeeded at {webhook_url} in time"
-- suspect  = "webhook-sender"
-- because  = "{why}"
-- next     = "Read {task_id} from {agent} with GetTask and hand its result to whoever waits for the webhook"
-- params   = { within = "10 minutes", skew = "5 seconds" }
-- marks    = { push_senders = { on = ["agent"] }, push_receivers = { on = ["url"] } }
--
-- ## What it finds
-- A task with a push config that reached a terminal state, and no successful delivery of that state within `within` (10 minutes). Judged only where deliveries
-- of that agent or at that url are seen at all, and the config was made before the end and not deleted meanwhile. A delivery that the agent
-- did not record is late by the clock of another: it counts as late where that clock fits, which the other deliveries of the task show.
-- ## Why it matters
-- Whoever relies on the webhook waits for ever: for it the task is still running.
-- ## First checks
-- 1. Were deliveries refused? See unauthorized_storm and signing_key_rotated of the same url.
-- 2. None tried: look at the sender's log and its queue; SDKs give up silently.
-- 3. Read the task and deliver its result by hand.
-- ## When it is wrong
-- When the terminal delivery goes to a url that is not taped, while others of the agent are.
-- ## What it cannot see
-- Push configs made before the recording began; tasks of agents whose deliveries are never taped.

WITH ended AS (
    SELECT
        e.agent,
        e.task_id,
        e.state,
        e.ended_at,
        CASE WHEN e.first_seen_at > e.ended_at THEN e.first_seen_at ELSE e.ended_at END AS told_at,
        e.fact_id
    FROM task_ends AS e
    WHERE e.speaker = 'server'
),

waiting AS (
    SELECT
        e.agent,
        e.task_id,
        e.state,
        e.ended_at,
        e.fact_id AS end_fact_id,
        c.registered_at,
        c.url AS webhook_url,
        c.fact_id AS config_fact_id,
        row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY c.registered_at, c.fact_id) AS nth
    FROM ended AS e
    INNER JOIN push_configs AS c ON e.agent = c.agent AND e.task_id = c.task_id
    WHERE c.registered_at <= e.told_at AND (c.removed_at IS NULL OR c.removed_at > e.ended_at + CAST($within AS INTERVAL))
),

-- Deliveries of the task. What the agent itself did not see is by a clock of somebody else.
sent AS (
    SELECT
        w.agent,
        w.task_id,
        w.registered_at,
        w.ended_at,
        d.payload,
        d.failure_class = '' AS is_taken,
        d.state IN ('completed', 'failed', 'canceled', 'rejected') AS is_end,
        NOT d.is_seen_by_agent AS is_by_others,
        d.observed_at,
        d.last_at,
        d.fact_id
    FROM waiting AS w
    INNER JOIN deliveries AS d ON w.agent = d.agent AND w.task_id = d.task_id
    WHERE w.nth = 1
),

tried AS (
    SELECT
        t.agent,
        t.task_id,
        bool_or(
            t.is_taken AND t.observed_at <= t.ended_at + CAST($within AS INTERVAL)
            AND (t.is_end OR (t.payload = '' AND t.last_at >= t.ended_at - CAST($skew AS INTERVAL)))
        ) AS is_delivered,
        -- Taken at a time that says nothing, where that clock is not the agent's.
        bool_or(t.is_taken AND t.is_by_others AND (t.is_end OR t.payload = '')) AS is_taken,
        bool_or(
            t.is_by_others AND t.last_at >= t.registered_at - CAST($within AS INTERVAL)
            AND t.observed_at <= t.ended_at + CAST($within AS INTERVAL)
        ) AS is_clock_right,
        count(CASE WHEN NOT t.is_taken THEN 1 END) AS failures,
        max(CASE WHEN NOT t.is_taken THEN t.fact_id ELSE '' END) AS failed_fact_id,
        max(CASE WHEN t.is_taken AND t.is_end THEN t.fact_id ELSE '' END) AS late_fact_id
    FROM sent AS t
    GROUP BY t.agent, t.task_id
),

visible AS (
    SELECT
        w.agent,
        w.task_id,
        max(CASE WHEN u.url IS NULL THEN 0 ELSE 1 END) AS is_url_seen,
        max(CASE WHEN s.agent IS NULL THEN 0 ELSE 1 END) AS is_agent_seen,
        max(CASE WHEN coalesce(s.is_seen_by_sender, FALSE) THEN 1 ELSE 0 END) AS is_sender_seen
    FROM waiting AS w
    LEFT JOIN push_receivers AS u ON w.webhook_url = u.url
    LEFT JOIN push_senders AS s ON w.agent = s.agent AND s.agent <> ''
    WHERE w.nth = 1
    GROUP BY w.agent, w.task_id
)

SELECT
    w.agent,
    w.task_id,
    w.state,
    w.webhook_url,
    coalesce(t.failures, 0) AS failures,
    CASE WHEN coalesce(t.failures, 0) > 0 THEN 'webhook-receiver' ELSE 'webhook-sender' END AS suspect,
    CASE WHEN v.is_url_seen = 1 OR v.is_sender_seen = 1 THEN 'confirmed' ELSE 'likely' END AS confidence,
    CASE
        WHEN coalesce(t.late_fact_id, '') <> '' THEN 'its end was delivered, but too late'
        WHEN coalesce(t.failures, 0) > 0 THEN 'the deliveries of the task failed'
        ELSE 'no delivery of the end was seen, though others of the agent or at the url are'
    END AS why,
    w.ended_at AS observed_at,
    w.ended_at + CAST($within AS INTERVAL) AS due_at,
    w.end_fact_id,
    w.config_fact_id,
    coalesce(t.failed_fact_id, '') AS failed_fact_id,
    coalesce(t.late_fact_id, '') AS late_fact_id
FROM waiting AS w
INNER JOIN visible AS v ON w.agent = v.agent AND w.task_id = v.task_id
LEFT JOIN tried AS t ON w.agent = t.agent AND w.task_id = t.task_id
LEFT JOIN strange_clocks AS s ON w.agent = s.agent AND w.task_id = s.task_id
WHERE
    w.nth = 1 AND NOT coalesce(t.is_delivered, FALSE)
    AND NOT (coalesce(t.is_taken, FALSE) AND (s.task_id IS NOT NULL OR NOT t.is_clock_right)) AND (v.is_url_seen = 1 OR v.is_agent_seen = 1)
