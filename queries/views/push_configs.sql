-- title = "Webhook registrations of each task"
-- by    = ["agent", "task_id"]
--
-- A registration comes with a message, with a config call or in the answer to one; a refused call makes none. One row for each url, scheme and
-- token; `scheme` is `''` where no authentication is asked for. `removed_at`: the first deletion that may mean it.

WITH registered AS (
    SELECT
        x.agent,
        x.task_id,
        x.push_url AS url,
        x.push_scheme AS scheme,
        coalesce(x.push_token, FALSE) AS has_token,
        max(x.push_config_id) AS config_id,
        min(x.observed_at) AS registered_at,
        min(x.fact_id) AS fact_id
    FROM exchanges AS x
    WHERE x.task_id <> '' AND x.push_url <> '' AND x.outcome = 'ok' AND x.operation <> 'DeleteTaskPushNotificationConfig'
    GROUP BY x.agent, x.task_id, x.push_url, x.push_scheme, coalesce(x.push_token, FALSE)
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
