-- title    = "A stream broke off before anything ended it"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id"]
-- needs    = ["exchanges.stream_end"]
-- summary  = "The stream of {task_id} broke off after {events|event|events}, closed by {closed_by}; {ending}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "{todo}"
-- params   = { shown = 10 }
--
-- ## What it finds
-- A stream that ends without a terminal or interrupted state, a Message or an error event, and after which no stream of the same task and caller ended
-- well. Information only if the end was seen later in another way, such as a poll or a push.
-- ## Why it matters
-- What the agent told after the cut never reached the caller. Tools that take the end of a stream for the end of the task report success on half of it.
-- ## First checks
-- 1. Who closed it: the caller by a time-out, or the agent's side? Of the latter, compare the length of the cut streams: a constant one is a proxy's limit.
-- 2. Poll the task: if it is still working, subscribe again; if it ended, fetch its artifacts.
-- 3. Several tasks cut at one instant: look for a restart or a deployment.
-- ## When it is wrong
-- When the tap stops recording before the stream ends and does not say so.
-- ## What it cannot see
-- Streams that are still open, and events lost within a stream.

WITH streams AS (
    SELECT
        c.agent,
        c.task_id,
        c.client,
        c.stream_end,
        c.stream_events,
        coalesce(c.ended_at, c.observed_at) AS ended_at,
        c.fact_id
    FROM calls AS c
    WHERE c.stream_end <> ''
),

cut AS (
    SELECT
        s.agent,
        s.task_id,
        s.client,
        s.stream_end,
        s.stream_events,
        s.ended_at,
        s.fact_id
    FROM streams AS s
    WHERE
        s.stream_end IN ('cut', 'client-closed')
        AND NOT EXISTS (
            SELECT 1 FROM streams AS w
            WHERE
                w.agent = s.agent AND w.task_id = s.task_id AND s.task_id <> '' AND w.client = s.client
                AND w.stream_end IN ('terminal', 'interrupted', 'message') AND w.ended_at >= s.ended_at
        )
),

-- States in which a stream may end well, as the agent told them in another way.
told AS (
    SELECT
        e.agent,
        e.task_id,
        e.state,
        e.observed_at,
        e.fact_id
    FROM task_events AS e
    INNER JOIN cut AS c ON e.agent = c.agent AND e.task_id = c.task_id
    WHERE
        e.task_id <> '' AND e.origin <> 'local' AND e.observed_at >= c.ended_at
        AND e.state IN ('completed', 'failed', 'canceled', 'rejected', 'input-required', 'auth-required')
),

ended AS (
    SELECT
        t.agent,
        t.task_id,
        t.state,
        t.fact_id,
        row_number() OVER (PARTITION BY t.agent, t.task_id ORDER BY t.observed_at, t.fact_id) AS nth
    FROM told AS t
),

ranked AS (
    SELECT
        c.agent,
        c.task_id,
        c.client,
        c.stream_end,
        c.stream_events,
        c.ended_at,
        c.fact_id,
        row_number() OVER (PARTITION BY c.agent, c.task_id ORDER BY c.ended_at, c.fact_id) AS nth,
        row_number() OVER (PARTITION BY c.agent, c.task_id ORDER BY c.ended_at DESC NULLS LAST, c.fact_id) AS nth_last
    FROM cut AS c
),

found AS (
    SELECT
        r.agent,
        r.task_id,
        count(*) AS streams,
        min(r.ended_at) AS first_seen,
        max(r.ended_at) AS last_seen,
        max(CASE WHEN r.nth_last = 1 THEN r.client END) AS client,
        max(CASE WHEN r.nth_last = 1 THEN r.stream_end END) AS stream_end,
        max(CASE WHEN r.nth_last = 1 THEN r.stream_events END) AS stream_events,
        array_agg(r.fact_id ORDER BY r.nth, r.fact_id) FILTER (WHERE r.nth <= $shown) AS cut_fact_ids
    FROM ranked AS r
    GROUP BY r.agent, r.task_id
)

SELECT
    f.agent,
    f.task_id,
    f.client,
    f.streams AS "count",
    coalesce(f.stream_events, 0) AS events,
    CASE f.stream_end WHEN 'client-closed' THEN 'the caller' ELSE 'the agent''s side' END AS closed_by,
    CASE
        WHEN f.task_id = '' THEN 'no task was named until then'
        WHEN e.state IS NULL THEN 'its end was not seen since'
        ELSE concat('seen ', e.state, ' later in another way')
    END AS ending,
    CASE WHEN e.state IS NULL THEN 'warning' ELSE 'info' END AS severity,
    'confirmed' AS confidence,
    CASE f.stream_end WHEN 'client-closed' THEN 'client' ELSE 'remote-runtime' END AS suspect,
    CASE f.stream_end
        WHEN 'client-closed' THEN 'the caller hung up while the task went on'
        ELSE 'the agent, or a proxy before it, closed the stream while the task went on'
    END AS why,
    CASE
        WHEN f.task_id = '' THEN concat('Look for a proxy before ', f.agent, ' that holds back or limits event streams')
        WHEN
            e.state IS NULL
            THEN concat('Ask ', f.agent, ' for ', f.task_id, ': subscribe again if it still works, fetch its artifacts if it ended')
        ELSE concat('Check that the caller took over what ', f.task_id, ' ended with, and what limits event streams before ', f.agent)
    END AS todo,
    f.first_seen AS observed_at,
    f.first_seen,
    f.last_seen,
    f.cut_fact_ids,
    e.fact_id AS end_fact_id
FROM found AS f
LEFT JOIN ended AS e ON f.agent = e.agent AND f.task_id = e.task_id AND e.nth = 1
