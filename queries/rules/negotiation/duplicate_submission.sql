-- title    = "A message is submitted again while its first submission still runs"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["client", "agent"]
-- entity   = ["client", "agent", "message"]
-- needs    = ["exchanges.content_hash", "exchanges.operation"]
-- summary  = "{client} sent message {message} to {agent} {count|time|times} while the first still ran; {answer}"
-- suspect  = "client"
-- because  = "{why}"
-- next     = "{todo}"
-- params   = { within = "15 minutes", shown = 10 }
-- marks    = { task_ends = { on = ["agent", "task_id"] } }
--
-- ## What it finds
-- The same message id, or after a caller's time-out the same content under another id, sent again while the first submission runs: its call is not answered
-- yet, its task has not ended, or the caller gave up on it less than `within` ago and nobody saw what became of it. Information only if the agent noticed.
-- ## Why it matters
-- No version of A2A makes sending safe to repeat. The agent does the work twice, and charges twice; the caller takes up one of two tasks, the other goes on alone.
-- ## First checks
-- 1. Who repeats: the caller's own code, its HTTP library, or a gateway with retries on time-out?
-- 2. Compare the caller's time-out with how long the agent's tasks take.
-- 3. Cancel the task that nobody follows.
-- ## When it is wrong
-- When a caller asks the same question again on purpose right after a time-out, without naming a context.
-- ## What it cannot see
-- Copies that reach the agent by a way that is not captured, and contents without a message id that differ in a word.

WITH sends AS (
    SELECT
        c.client,
        c.agent,
        c.call_key,
        c.message_id,
        c.rpc_id,
        c.dialect,
        c.content_hash,
        c.task_id,
        c.request_task_id,
        c.context_id,
        c.request_context_id,
        c.outcome,
        c.reply_kind,
        c.stream_end,
        c.reply_waits,
        c.client_left OR c.error_text_class = 'timeout' OR coalesce(c.http_status, 0) IN (408, 499, 504) AS timed_out,
        c.observed_at,
        c.ended_at,
        c.fact_id
    FROM calls AS c
    WHERE c.operation IN ('SendMessage', 'SendStreamingMessage') AND (c.message_id <> '' OR c.content_hash <> '')
),

series AS (
    SELECT
        s.client,
        s.agent,
        'message' AS kind,
        s.message_id AS series_key
    FROM sends AS s
    WHERE s.message_id <> ''
    GROUP BY s.client, s.agent, s.message_id
    HAVING count(*) > 1
    UNION ALL
    SELECT
        s.client,
        s.agent,
        'content' AS kind,
        s.content_hash AS series_key
    FROM sends AS s
    WHERE s.content_hash <> ''
    GROUP BY s.client, s.agent, s.content_hash
    HAVING count(*) > 1 AND bool_or(s.timed_out)
),

ranked AS (
    SELECT
        r.client,
        r.agent,
        r.kind,
        r.series_key,
        s.call_key,
        s.message_id,
        s.rpc_id,
        s.dialect,
        s.content_hash,
        s.task_id,
        s.request_task_id,
        s.context_id,
        s.request_context_id,
        s.outcome,
        s.reply_kind,
        s.stream_end,
        s.reply_waits,
        s.timed_out,
        s.observed_at,
        s.ended_at,
        s.fact_id,
        row_number() OVER (PARTITION BY r.client, r.agent, r.kind, r.series_key ORDER BY s.observed_at, s.fact_id) AS nth
    FROM series AS r
    INNER JOIN sends AS s
        ON
            r.client = s.client AND r.agent = s.agent
            AND r.series_key = CASE r.kind WHEN 'message' THEN s.message_id ELSE s.content_hash END
),

pairs AS (
    SELECT
        a.client,
        a.agent,
        a.kind,
        a.series_key,
        a.message_id,
        a.content_hash,
        a.task_id AS first_task_id,
        a.call_key AS first_call_key,
        a.outcome AS first_outcome,
        a.timed_out,
        a.observed_at AS first_at,
        a.ended_at AS first_answered_at,
        a.fact_id AS first_fact_id,
        b.call_key AS again_call_key,
        b.task_id AS again_task_id,
        b.outcome AS again_outcome,
        b.observed_at AS again_at,
        b.fact_id AS again_fact_id,
        -- Answered with all that there was to say.
        coalesce(a.ended_at, a.observed_at) <= b.observed_at
        AND (a.reply_kind = 'message' OR a.stream_end IN ('terminal', 'interrupted', 'message', 'error') OR a.reply_waits) AS is_done
    FROM ranked AS a
    INNER JOIN ranked AS b
        ON a.client = b.client AND a.agent = b.agent AND a.kind = b.kind AND a.series_key = b.series_key AND a.nth + 1 = b.nth
    WHERE
        (b.request_context_id = '' OR b.request_context_id IN (a.request_context_id, a.context_id))
        -- Both legs of a gateway show one message twice, the inner within the outer.
        AND NOT (
            a.message_id = b.message_id AND a.rpc_id = b.rpc_id
            AND coalesce(b.ended_at, b.observed_at) <= coalesce(a.ended_at, a.observed_at)
        )
        AND (
            a.kind = 'message'
            OR (
                a.timed_out AND (a.message_id <> b.message_id OR a.message_id = '')
                -- In 0.1 the caller names every new task itself.
                AND (a.request_task_id = b.request_task_id OR b.dialect = '0.1')
            )
        )
),

running AS (
    SELECT
        p.client,
        p.agent,
        p.kind,
        p.series_key,
        p.message_id,
        p.content_hash,
        p.first_task_id,
        p.first_at,
        p.first_fact_id,
        p.again_task_id,
        p.again_outcome,
        p.again_at,
        p.again_fact_id,
        p.timed_out,
        p.first_task_id = '' AND p.timed_out AS is_unseen,
        starts_with(p.again_call_key, p.first_call_key) AS is_same_request
    FROM pairs AS p
    LEFT JOIN task_ends AS e ON p.agent = e.agent AND p.first_task_id = e.task_id AND p.first_task_id <> '' AND e.speaker = 'server'
    WHERE
        NOT p.is_done
        AND (e.ended_at IS NULL OR (e.ended_at > p.again_at AND e.first_seen_at > p.again_at))
        AND (
            (p.first_outcome IN ('ok', '') AND p.first_task_id <> '')
            OR p.first_answered_at > p.again_at
            OR p.timed_out
        )
        -- What became of the first is not known for ever.
        AND (
            (p.kind = 'message' AND p.first_task_id <> '')
            OR p.again_at <= coalesce(p.first_answered_at, p.first_at) + CAST($within AS INTERVAL)
        )
),

numbered AS (
    SELECT
        r.client,
        r.agent,
        CASE WHEN r.message_id <> '' THEN r.message_id ELSE concat('content ', substr(r.content_hash, 1, 12)) END AS message,
        r.kind,
        r.first_task_id,
        r.first_at,
        r.first_fact_id,
        r.again_task_id,
        r.again_at,
        r.again_fact_id,
        r.is_unseen,
        r.is_same_request,
        r.again_outcome IN ('ok', 'transport', '') AND (r.again_task_id = '' OR r.again_task_id <> r.first_task_id) AS is_accepted,
        row_number() OVER (
            PARTITION BY
                r.client, r.agent, CASE WHEN r.message_id <> '' THEN r.message_id ELSE concat('content ', substr(r.content_hash, 1, 12)) END
            ORDER BY r.again_at, r.again_fact_id
        ) AS nth
    FROM running AS r
),

found AS (
    SELECT
        n.client,
        n.agent,
        n.message,
        count(*) + 1 AS submissions,
        min(n.first_at) AS first_seen,
        max(n.again_at) AS last_seen,
        min(n.again_at) AS again_at,
        bool_or(n.is_accepted) AS is_accepted,
        bool_or(n.kind = 'content') AS by_content,
        bool_or(n.is_unseen) AS is_unseen,
        bool_or(n.is_same_request) AS is_same_request,
        max(CASE WHEN n.nth = 1 THEN n.first_task_id END) AS first_task_id,
        max(CASE WHEN n.nth = 1 THEN n.again_task_id END) AS again_task_id,
        max(CASE WHEN n.nth = 1 THEN n.first_fact_id END) AS first_fact_id,
        array_agg(n.again_fact_id ORDER BY n.nth, n.again_fact_id) FILTER (WHERE n.nth <= $shown) AS again_fact_ids
    FROM numbered AS n
    GROUP BY n.client, n.agent, n.message
)

SELECT
    f.client,
    f.agent,
    f.message,
    f.submissions AS "count",
    f.first_task_id,
    f.again_task_id,
    CASE
        WHEN NOT f.is_accepted AND f.first_task_id <> '' AND f.first_task_id = f.again_task_id THEN 'the agent answered with the same task'
        WHEN NOT f.is_accepted THEN 'the agent refused the copy'
        WHEN
            f.first_task_id <> '' AND f.again_task_id <> ''
            THEN concat('tasks ', f.first_task_id, ' and ', f.again_task_id, ' do the same work')
        WHEN f.again_task_id <> '' THEN concat('task ', f.again_task_id, ' may not be the only one at work')
        ELSE 'what the agent made of it was not seen'
    END AS answer,
    CASE WHEN f.is_accepted AND NOT (f.client = '' AND f.by_content) THEN 'warning' ELSE 'info' END AS severity,
    CASE
        WHEN f.client = '' AND f.by_content THEN 'possible'
        WHEN f.client = '' OR f.by_content OR f.is_unseen THEN 'likely'
        ELSE 'confirmed'
    END AS confidence,
    CASE WHEN f.is_same_request THEN 'gateway' ELSE 'client' END AS suspect,
    CASE
        WHEN f.is_same_request THEN 'the very same request, with all its ids, was sent again'
        WHEN f.by_content THEN 'the same content was sent again after the caller gave up waiting, without naming another context'
        ELSE 'the same message id was sent again before the first submission was done'
    END AS why,
    CASE
        WHEN
            f.is_accepted AND f.first_task_id <> ''
            THEN
                concat(
                    'Cancel one of the two tasks if both still work, and make the caller ask for task ',
                    f.first_task_id,
                    ' instead of sending again'
                )
        WHEN
            f.is_accepted
            THEN
                concat(
                    'Ask ',
                    f.agent,
                    ' for the tasks of the context, cancel the one that nobody follows, and raise the time-out of whoever repeats'
                )
        ELSE concat('Make whoever repeats wait for the answer, or ask for the task, before it sends to ', f.agent, ' again')
    END AS todo,
    f.again_at AS observed_at,
    f.first_seen,
    f.last_seen,
    f.first_fact_id,
    f.again_fact_ids
FROM found AS f
