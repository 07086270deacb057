-- title    = "A receiver refuses signatures of the agent's new key"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "url"]
-- entity   = ["agent", "url"]
-- needs    = ["push_deliveries.kid", "signing_keys.kid"]
-- summary  = "{url} refuses deliveries of {agent} signed with {kid} since {began_at}; {count} refused"
-- suspect  = "webhook-receiver"
-- because  = "{why}"
-- next     = "Make the receiver at {url} fetch the key set of {agent} again, and fetch it on every unknown kid; then ask {agent} for the tasks of {count|refused delivery|refused deliveries}"
-- beside   = ["accepted"]
--
-- ## What it finds
-- Deliveries that were accepted, and from a step on are refused for their signature, where the key that signs them is among the agent's current keys and
-- not among those that the receiver fetched last. Without sight of the receiver's fetches: likely.
-- ## Why it matters
-- The agent rotated its key in good order; the receiver keeps an old key set and drops every result until it is restarted.
-- ## First checks
-- 1. Does the key set of the agent list the kid now? Then the receiver's copy is stale.
-- 2. Restart or flush the receiver; let it look again on an unknown kid, at most once a minute.
-- 3. Read the results of the refused deliveries with GetTask.
-- ## When it is wrong
-- When the new key does not sign what the receiver verifies: the agent publishes one key and signs with another.
-- ## What it cannot see
-- Opaque credentials, which name no key, and key sets nobody fetched under a tap.

WITH refused AS (
    SELECT
        d.agent,
        d.url,
        d.kid,
        count(*) AS count,
        count(DISTINCT d.task_id) AS tasks,
        max(d.observed_at) AS last_seen
    FROM deliveries AS d
    INNER JOIN rotated_keys AS r ON d.agent = r.agent AND d.url = r.url AND d.kid = r.kid AND d.observed_at >= r.began_at
    WHERE d.failure_class = 'auth'
    GROUP BY d.agent, d.url, d.kid
),

worked AS (
    SELECT
        r.agent,
        r.url,
        r.kid,
        max(d.fact_id) AS accepted_fact_id
    FROM rotated_keys AS r
    INNER JOIN deliveries AS d ON r.agent = d.agent AND r.url = d.url AND r.worked_at = d.observed_at
    WHERE d.failure_class = '' AND d.kid <> ''
    GROUP BY r.agent, r.url, r.kid
),

ranked AS (
    SELECT
        r.agent,
        r.url,
        r.kid,
        r.is_new_kid,
        r.signature,
        r.receiver_basis,
        r.began_at,
        r.fact_id,
        r.key_fact_id,
        r.fetched_fact_id,
        row_number() OVER (PARTITION BY r.agent, r.url ORDER BY r.began_at DESC NULLS LAST, r.fact_id) AS nth
    FROM rotated_keys AS r
)

SELECT
    k.agent,
    k.url,
    k.kid,
    CAST(date_trunc('second', k.began_at) AS VARCHAR) AS began_at,
    f.count,
    f.tasks,
    'critical' AS severity,
    CASE WHEN k.receiver_basis = 'seen' AND k.signature = 'invalid' AND k.agent <> '' THEN 'confirmed' ELSE 'likely' END AS confidence,
    concat(
        CASE
            WHEN k.is_new_kid THEN 'the key is one of the agent''s current keys'
            ELSE 'the agent published another key under the same kid'
        END,
        CASE
            WHEN k.receiver_basis = 'seen' THEN ', and the receiver has not fetched it'
            ELSE ', older signatures were accepted, and no fetch of it by the receiver was seen'
        END
    ) AS why,
    k.began_at AS observed_at,
    k.began_at AS first_seen,
    f.last_seen,
    w.accepted_fact_id,
    k.fact_id AS refused_fact_id,
    k.key_fact_id,
    k.fetched_fact_id
FROM ranked AS k
INNER JOIN refused AS f ON k.agent = f.agent AND k.url = f.url AND k.kid = f.kid
INNER JOIN worked AS w ON k.agent = w.agent AND k.url = w.url AND k.kid = w.kid
WHERE k.nth = 1
