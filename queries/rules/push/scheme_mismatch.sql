-- title    = "Webhook deliveries do not use the authentication that was asked for"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "url"]
-- entity   = ["agent", "url"]
-- needs    = ["exchanges.push_url", "exchanges.outcome", "exchanges.task_id", "push_deliveries.task_id"]
-- summary  = "{agent} delivers to {url} with {sent} where {asked} was asked for; {count|delivery|deliveries}, {refused} refused"
-- suspect  = "webhook-sender"
-- because  = "{why}"
-- next     = "Have {agent} send the authentication that the push config asks for; until then accept {sent} at {url} for its tasks only"
--
-- ## What it finds
-- Deliveries whose Authorization scheme is another than that of the task's push config, or is missing, though the config asks for one:
-- a webhook registered for JWT gets Bearer after a restart, say. A warning where the receiver refuses them, a note where it accepts.
-- ## Why it matters
-- The receiver answers 401 and each result is lost, or it accepts what nobody has proven to be the agent's. It looks like a wrong secret and is not one.
-- ## First checks
-- 1. Only a token header: some SDKs send the notification token and leave out `authentication`. Update the agent's SDK.
-- 2. Another scheme: compare the agent's card and deployment before and after the first such delivery.
-- 3. Refused: tell the receiver's owners that the sender changed, not the secret.
-- ## When it is wrong
-- When the credential is added by a proxy behind the tap.
-- ## What it cannot see
-- API keys in headers of their own; deliveries taped without headers; registrations made before the recording began.

WITH ranked AS (
    SELECT
        d.agent,
        d.url,
        d.task_id,
        d.asked,
        CASE
            WHEN d.scheme <> '' THEN d.scheme
            WHEN d.token_present THEN 'a notification token only'
            ELSE 'no authentication'
        END AS sent,
        d.failure_class = 'auth' AS is_refused,
        d.observed_at,
        d.fact_id,
        d.config_fact_id,
        row_number() OVER (
            PARTITION BY d.agent, d.url
            ORDER BY CASE WHEN d.failure_class = 'auth' THEN 0 ELSE 1 END, d.observed_at, d.fact_id
        ) AS nth
    FROM scheme_differences AS d
    WHERE d.url <> ''
),

counted AS (
    SELECT
        r.agent,
        r.url,
        count(*) AS count,
        count(CASE WHEN r.is_refused THEN 1 END) AS refused,
        count(DISTINCT r.task_id) AS tasks,
        min(r.observed_at) AS first_seen,
        max(r.observed_at) AS last_seen
    FROM ranked AS r
    GROUP BY r.agent, r.url
)

SELECT
    r.agent,
    r.url,
    r.asked,
    r.sent,
    c.count,
    c.refused,
    c.tasks,
    CASE WHEN r.is_refused THEN 'warning' ELSE 'info' END AS severity,
    'confirmed' AS confidence,
    concat(
        'the push config asks for ', r.asked, ' and the delivery carries ', r.sent,
        CASE WHEN r.is_refused THEN '; the receiver refuses it' ELSE '; the receiver accepts it all the same' END
    ) AS why,
    r.observed_at,
    c.first_seen,
    c.last_seen,
    r.fact_id AS delivery_fact_id,
    r.config_fact_id
FROM ranked AS r
INNER JOIN counted AS c ON r.agent = c.agent AND r.url = c.url
WHERE r.nth = 1
