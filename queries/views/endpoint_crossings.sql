-- title  = "Tasks that were open at an endpoint when a look no longer listed it"
-- by     = ["agent", "task_id"]
-- params = { silence = "1 hour" }
-- marks  = { card_moves = { on = ["agent"] } }
--
-- `is_known`: the task's last call before the change went to that endpoint, or below it; else nobody saw where it went. A task without an end that nobody spoke
-- of for `silence` before the change, nor after it, is abandoned rather than open.

WITH crossed AS (
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
    FROM task_lives AS t
    INNER JOIN card_moves AS m
        ON
            t.agent = m.agent AND t.created_at < m.moved_at
            AND (t.principal = '' OR m.principal = '' OR t.principal = m.principal)
    WHERE
        (t.ended_at IS NULL OR t.ended_at > m.moved_at)
        AND (t.last_at >= m.moved_at - CAST($silence AS INTERVAL) OR t.ended_at IS NOT NULL)
),

called AS (
    SELECT
        c.agent,
        c.task_id,
        c.endpoint,
        c.after_fact_id,
        x.fact_id,
        regexp_replace(
            regexp_replace(regexp_replace(x.agent_ref, '^(http://[^/]*):80(/|$)', '\1\2'), '^(https://[^/]*):443(/|$)', '\1\2'), '/+$', ''
        ) AS called_at,
        row_number() OVER (
            PARTITION BY c.agent, c.task_id, c.endpoint, c.after_fact_id ORDER BY x.observed_at DESC NULLS LAST, x.fact_id
        ) AS nth_last
    FROM crossed AS c
    INNER JOIN exchanges AS x ON c.agent = x.agent AND c.task_id = x.task_id AND c.moved_at > x.observed_at
    WHERE starts_with(x.agent_ref, 'http://') OR starts_with(x.agent_ref, 'https://') OR starts_with(x.agent_ref, '//')
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
LEFT JOIN called AS k
    ON c.agent = k.agent AND c.task_id = k.task_id AND c.endpoint = k.endpoint AND c.after_fact_id = k.after_fact_id AND k.nth_last = 1
WHERE
    k.fact_id IS NULL OR k.called_at = c.endpoint
    OR (split_part(c.endpoint, '/', 4) <> '' AND starts_with(k.called_at, concat(c.endpoint, '/')))
    OR (starts_with(k.called_at, '//') AND k.called_at = regexp_replace(c.endpoint, '^([a-z]+:)?(//)?([^/]*).*$', '//\3'))
