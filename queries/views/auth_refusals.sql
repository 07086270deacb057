-- title = "Refusals of a caller's credentials past the gateway, with what went before"
-- by    = ["agent", "client", "principal"]
-- marks = { tasks_refused_access = { on = ["agent", "task_id"] } }
--
-- Past the gateway is what the agent itself says: an error or a failed task of class `auth` under HTTP 200 (or a gRPC status), or a 401 or 403 that
-- the agent's own tap saw or that carries an A2A or JSON-RPC error. Only callers that were refused at all are looked at. `ok_before`: successes
-- before the refusal; `last_ok_at`: the last of them. `is_isolated`: the only refusal between two successes.

WITH answered AS (
    SELECT
        c.agent,
        c.client,
        c.principal,
        c.call_key,
        c.operation,
        c.observed_at,
        c.fact_id,
        f.task_id IS NOT NULL AS is_failed,
        c.outcome = 'auth' AS is_refused,
        c.outcome = 'auth' AND (
            coalesce(c.http_status, 200) < 300 OR c.server_saw OR c.error_code IS NOT NULL
            OR c.error_reason IN ('AUTHENTICATION_REQUIRED', 'AUTHORIZATION_FAILED', 'UNAUTHENTICATED', 'PERMISSION_DENIED')
        ) AS is_past_gateway
    FROM calls AS c
    LEFT JOIN tasks_refused_access AS f ON c.agent = f.agent AND c.task_id = f.task_id
    WHERE c.outcome IN ('ok', 'auth')
),

callers AS (
    SELECT
        a.agent,
        a.client,
        a.principal
    FROM answered AS a
    GROUP BY a.agent, a.client, a.principal
    HAVING bool_or(a.is_past_gateway) OR bool_or(a.is_failed)
),

judged AS (
    SELECT
        a.agent,
        a.client,
        a.principal,
        a.call_key,
        a.observed_at,
        a.fact_id,
        CASE
            WHEN a.is_past_gateway OR (a.is_failed AND a.operation IN ('SendMessage', 'SendStreamingMessage')) THEN 0
            WHEN a.is_refused OR a.is_failed THEN NULL
            ELSE 1
        END AS is_ok
    FROM answered AS a
    INNER JOIN callers AS c ON a.agent = c.agent AND a.client = c.client AND a.principal = c.principal
),

counted AS (
    SELECT
        j.agent,
        j.client,
        j.principal,
        j.call_key,
        j.observed_at,
        j.fact_id,
        j.is_ok,
        sum(j.is_ok) OVER (
            PARTITION BY j.agent, j.client, j.principal ORDER BY j.observed_at, j.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS ok_before,
        max(CASE WHEN j.is_ok = 1 THEN j.observed_at END) OVER (
            PARTITION BY j.agent, j.client, j.principal ORDER BY j.observed_at, j.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS last_ok_at,
        sum(j.is_ok) OVER (PARTITION BY j.agent, j.client, j.principal) AS ok_ever
    FROM judged AS j
    WHERE j.is_ok IS NOT NULL
),

refused AS (
    SELECT
        c.agent,
        c.client,
        c.principal,
        c.call_key,
        c.ok_before,
        c.ok_ever,
        c.last_ok_at,
        c.observed_at,
        c.fact_id,
        count(*) OVER (PARTITION BY c.agent, c.client, c.principal, c.ok_before) AS in_a_row
    FROM counted AS c
    WHERE c.is_ok = 0
)

SELECT
    r.agent,
    r.client,
    r.principal,
    r.call_key,
    r.ok_before,
    r.last_ok_at,
    r.in_a_row = 1 AND r.ok_before > 0 AND r.ok_ever > r.ok_before AS is_isolated,
    r.observed_at,
    r.fact_id
FROM refused AS r
