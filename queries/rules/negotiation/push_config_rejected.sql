-- title    = "The agent refuses push notifications that its card advertises"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["client", "agent"]
-- entity   = ["client", "agent"]
-- needs    = ["exchanges.outcome", "cards.push_notifications"]
-- summary  = "{agent} refused {count|push registration|push registrations} of {client}, while the card it holds advertises push notifications"
-- suspect  = "card-publisher"
-- because  = "the card held says pushNotifications: true, the agent says that it does not support them"
-- next     = "Have {client} poll the tasks that it meant to be told of, and the publisher of {agent} take push notifications from the card or the agent serve them"
-- params   = { shown = 10 }
--
-- ## What it finds
-- A call that registers or reads a push configuration, or a message that carries one, refused as PUSH_NOTIFICATION_NOT_SUPPORTED (-32003), though the
-- card that the caller held advertises push notifications.
-- ## Why it matters
-- The caller relies on being told. If it takes the refusal for a passing error, nobody waits for the result.
-- ## First checks
-- 1. Compare the held card with the latest look by anyone: was push withdrawn, and is the card old?
-- 2. Is a store for push configurations configured in the agent? Official SDKs refuse without one, whatever the card says.
-- 3. Find the tasks of the refused calls, and who waits for them.
-- ## When it is wrong
-- When a proxy refuses in the agent's name.
-- ## What it cannot see
-- Agents that accept the registration and never deliver: see terminal_undelivered.

WITH refused AS (
    SELECT
        c.client,
        c.agent,
        c.call_key,
        c.observed_at,
        c.fact_id
    FROM calls AS c
    WHERE
        c.error_reason = 'PUSH_NOTIFICATION_NOT_SUPPORTED'
        AND (c.push_url <> '' OR c.operation ~ 'PushNotificationConfigs?$')
),

own AS (
    SELECT
        r.client,
        r.agent,
        r.call_key,
        bool_or(k.push_notifications) AS advertised,
        max(CASE WHEN k.push_notifications THEN h.fact_id END) AS card_fact_id
    FROM refused AS r
    INNER JOIN card_held AS h
        ON
            r.client = h.client AND r.agent = h.agent
            AND r.observed_at >= h.valid_from AND (h.valid_to IS NULL OR r.observed_at < h.valid_to)
    INNER JOIN card_capabilities AS k ON h.body_sha256 = k.body_sha256
    GROUP BY r.client, r.agent, r.call_key
),

anyones AS (
    SELECT
        r.client,
        r.agent,
        r.call_key,
        bool_or(k.push_notifications) AS advertised,
        max(CASE WHEN k.push_notifications THEN h.fact_id END) AS card_fact_id
    FROM refused AS r
    INNER JOIN card_seen AS h
        ON
            r.agent = h.agent
            AND r.observed_at >= h.valid_from AND (h.valid_to IS NULL OR r.observed_at < h.valid_to)
    INNER JOIN card_capabilities AS k ON h.body_sha256 = k.body_sha256
    GROUP BY r.client, r.agent, r.call_key
),

judged AS (
    SELECT
        r.client,
        r.agent,
        r.observed_at,
        r.fact_id AS refusal_fact_id,
        coalesce(o.card_fact_id, a.card_fact_id) AS card_fact_id,
        CASE WHEN r.client = '' THEN 1 ELSE 0 END + CASE WHEN o.call_key IS NULL THEN 1 ELSE 0 END AS steps_down
    FROM refused AS r
    LEFT JOIN own AS o ON r.client = o.client AND r.agent = o.agent AND r.call_key = o.call_key
    LEFT JOIN anyones AS a ON r.client = a.client AND r.agent = a.agent AND r.call_key = a.call_key
    WHERE coalesce(o.advertised, a.advertised, FALSE)
),

ranked AS (
    SELECT
        j.client,
        j.agent,
        j.observed_at,
        j.refusal_fact_id,
        j.card_fact_id,
        j.steps_down,
        row_number() OVER (PARTITION BY j.client, j.agent ORDER BY j.steps_down, j.observed_at, j.refusal_fact_id) AS nth
    FROM judged AS j
)

SELECT
    r.client,
    r.agent,
    count(*) AS "count",
    CASE WHEN min(r.steps_down) < 2 THEN 'warning' ELSE 'info' END AS severity,
    CASE min(r.steps_down) WHEN 0 THEN 'confirmed' WHEN 1 THEN 'likely' ELSE 'possible' END AS confidence,
    min(r.observed_at) AS observed_at,
    min(r.observed_at) AS first_seen,
    max(r.observed_at) AS last_seen,
    array_agg(r.refusal_fact_id ORDER BY r.nth, r.refusal_fact_id) FILTER (WHERE r.nth <= $shown) AS refusal_fact_ids,
    max(CASE WHEN r.nth = 1 THEN r.card_fact_id END) AS held_card_fact_id
FROM ranked AS r
GROUP BY r.client, r.agent
