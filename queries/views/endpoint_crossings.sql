-- title  = "Tasks that were open at an endpoint when a look no longer listed it"
-- by     = ["agent", "task_id"]
-- params = { silence = "1 hour", block = 64 }
-- marks  = { card_moves = { on = ["agent"] } }
--
-- `is_known`: the task's last call before the change went to that endpoint, or below it; else nobody saw where it went. A task without an end that nobody spoke
-- of for `silence` before the change, nor after it, is abandoned rather than open.
-- Moves are found by blocks of `block`, so that a card of many moves is not held against every task.

WITH moves AS (
    SELECT
        m.agent,
        m.principal,
        m.card_url,
        m.endpoint,
        m.endpoints,
        m.moved_at,
        m.before_fact_id,
        m.after_fact_id,
        floor((row_number() OVER (PARTITION BY m.agent ORDER BY m.moved_at, m.endpoint, m.after_fact_id) - 1) / ($block * 1.0)) AS block
    FROM card_moves AS m
),

blocks AS (
    SELECT
        m.agent,
        m.block,
        min(m.moved_at) AS first_at,
        max(m.moved_at) AS last_at
    FROM moves AS m
    GROUP BY m.agent, m.block
),

-- `until_at`: no later move can find the task open.
lives AS (
    SELECT
        t.agent,
        t.task_id,
        t.client,
        t.principal,
        t.created_at,
        t.created_fact_id,
        t.ended_at,
        coalesce(t.ended_at, t.last_at + CAST($silence AS INTERVAL)) AS until_at
    FROM task_lives AS t
),

crossed AS (
    SELECT
        t.agent,
        t.task_id,
        t.client,
        t.created_fact_id,
        m.card_url,
        m.endpoint,
        m.endpoints,
        m.moved_at,
        m.before_fact_id,
        m.after_fact_id
    FROM lives AS t
    INNER JOIN blocks AS b ON t.agent = b.agent AND t.created_at < b.last_at AND t.until_at >= b.first_at
    INNER JOIN moves AS m
        ON
            t.agent = m.agent AND b.agent = m.agent AND b.block = m.block
            AND t.created_at < m.moved_at AND t.until_at >= m.moved_at
            AND (t.principal = '' OR m.principal = '' OR t.principal = m.principal)
    WHERE t.ended_at IS NULL OR t.ended_at > m.moved_at
),

open AS (
    SELECT
        c.agent,
        c.task_id
    FROM crossed AS c
    GROUP BY c.agent, c.task_id
),

-- Calls of a task, numbered such that of any of them the last has the highest number.
called AS (
    SELECT
        x.agent,
        x.task_id,
        x.observed_at,
        x.fact_id,
        regexp_replace(
            regexp_replace(regexp_replace(x.agent_ref, '^(http://[^/]*):80(/|$)', '\1\2'), '^(https://[^/]*):443(/|$)', '\1\2'), '/+$', ''
        ) AS called_at,
        row_number() OVER (PARTITION BY x.agent, x.task_id ORDER BY x.observed_at, x.fact_id DESC NULLS LAST) AS number
    FROM exchanges AS x
    INNER JOIN open AS o ON x.agent = o.agent AND x.task_id = o.task_id
    WHERE starts_with(x.agent_ref, 'http://') OR starts_with(x.agent_ref, 'https://') OR starts_with(x.agent_ref, '//')
),

-- Calls and moves in one order; a move before the calls of its instant.
moments AS (
    SELECT
        k.agent,
        k.task_id,
        k.observed_at AS at,
        1 AS is_call,
        k.fact_id,
        '' AS endpoint,
        k.number
    FROM called AS k
    UNION ALL
    SELECT
        c.agent,
        c.task_id,
        c.moved_at AS at,
        0 AS is_call,
        c.after_fact_id AS fact_id,
        c.endpoint,
        0 AS number
    FROM crossed AS c
),

so_far AS (
    SELECT
        m.agent,
        m.task_id,
        m.endpoint,
        m.fact_id AS after_fact_id,
        m.is_call,
        max(m.number) OVER (
            PARTITION BY m.agent, m.task_id ORDER BY m.at, m.is_call, m.fact_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS number
    FROM moments AS m
),

-- A move that several principals saw is several rows of `crossed`.
last_calls AS (
    SELECT
        s.agent,
        s.task_id,
        s.endpoint,
        s.after_fact_id,
        max(s.number) AS number
    FROM so_far AS s
    WHERE s.is_call = 0
    GROUP BY s.agent, s.task_id, s.endpoint, s.after_fact_id
)

SELECT
    c.agent,
    c.task_id,
    c.client,
    c.card_url,
    c.endpoint,
    c.endpoints,
    c.moved_at,
    c.before_fact_id,
    c.after_fact_id,
    coalesce(k.fact_id, c.created_fact_id) AS call_fact_id,
    k.fact_id IS NOT NULL AS is_known
FROM crossed AS c
INNER JOIN last_calls AS l
    ON c.agent = l.agent AND c.task_id = l.task_id AND c.endpoint = l.endpoint AND c.after_fact_id = l.after_fact_id
LEFT JOIN called AS k ON l.agent = k.agent AND l.task_id = k.task_id AND l.number = k.number
WHERE
    k.fact_id IS NULL OR k.called_at = c.endpoint
    OR (split_part(c.endpoint, '/', 4) <> '' AND starts_with(k.called_at, concat(c.endpoint, '/')))
    OR (starts_with(k.called_at, '//') AND k.called_at = regexp_replace(c.endpoint, '^([a-z]+:)?(//)?([^/]*).*$', '//\3'))
