-- title = "Webhook registrations of each task"
-- by    = ["agent", "task_id"]
--
-- A registration comes with a message, with a config call or in the answer to one; a refused call makes none. One row for each url, scheme and
-- token: a registration that leaves the choice between schemes has a row for each; `scheme` is `''` where no authentication is asked for.
-- `removed_at`: the first deletion that may mean it.

WITH told AS (
    SELECT
        x.agent,
        x.task_id,
        x.push_url AS url,
        unnest(x.push_schemes) AS scheme,
        x.push_token AS has_token,
        x.push_config_id AS config_id,
        x.observed_at,
        x.fact_id
    FROM exchanges AS x
    WHERE x.task_id <> '' AND x.push_url <> '' AND x.outcome = 'ok' AND x.operation <> 'DeleteTaskPushNotificationConfig'
    UNION ALL
    SELECT
        x.agent,
        x.task_id,
        x.push_url AS url,
        '' AS scheme,
        x.push_token AS has_token,
        x.push_config_id AS config_id,
        x.observed_at,
        x.fact_id
    FROM exchanges AS x
    WHERE
        x.task_id <> '' AND x.push_url <> '' AND x.push_scheme = '' AND x.outcome = 'ok'
        AND x.operation <> 'DeleteTaskPushNotificationConfig'
),

registered AS (
    SELECT
        t.agent,
        t.task_id,
        t.url,
        t.scheme,
        coalesce(t.has_token, FALSE) AS has_token,
        max(t.config_id) AS config_id,
        min(t.observed_at) AS registered_at,
        min(t.fact_id) AS fact_id
    FROM told AS t
    GROUP BY t.agent, t.task_id, t.url, t.scheme, coalesce(t.has_token, FALSE)
),

removed AS (
    SELECT
        x.agent,
        x.task_id,
        x.push_config_id AS config_id,
        min(x.observed_at) AS removed_at
    FROM exchanges AS x
    WHERE x.task_id <> '' AND x.outcome = 'ok' AND x.operation = 'DeleteTaskPushNotificationConfig'
    GROUP BY x.agent, x.task_id, x.push_config_id
)

SELECT
    r.agent,
    r.task_id,
    r.url,
    r.scheme,
    r.has_token,
    r.config_id,
    r.registered_at,
    min(d.removed_at) AS removed_at,
    r.fact_id
FROM registered AS r
LEFT JOIN removed AS d
    ON
        r.agent = d.agent AND r.task_id = d.task_id
        AND (r.config_id = d.config_id OR r.config_id = '' OR d.config_id = '')
GROUP BY r.agent, r.task_id, r.url, r.scheme, r.has_token, r.config_id, r.registered_at, r.fact_id
