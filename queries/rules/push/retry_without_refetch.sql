-- title    = "Refused calls are repeated without a new look at the task or the card"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["url"]
-- entity   = ["agent", "url"]
-- needs    = ["exchanges.outcome or push_deliveries.task_id", "exchanges.operation or push_deliveries.task_id"]
-- summary  = "{what} {url} went on for {count|refusal|refusals} with no read of the task or look at the card between"
-- suspect  = "webhook-sender"
-- because  = "{why}"
-- next     = "{advice}"
--
-- ## What it finds
-- Deliveries of one task that are refused with 401 or 403 and repeated at least 30 seconds later, while nobody read the task, its push config or the agent's card
-- (the task may have ended, or its push config may be another by now: read it before a webhook 401 is retried). Also a client's own sends after a refusal.
-- ## Why it matters
-- A 401 at a webhook is the first sign that the contract changed. A retry with the same credential cannot succeed, and hides it.
-- ## First checks
-- 1. Read the task: is it still there, in which state, under which push config?
-- 2. Look at the card: did its version, contract or security change since the task was made?
-- 3. Make a new push config with a fresh credential.
-- ## When it is wrong
-- When the reads go past the taps: the party that reads is not recorded.
-- ## What it cannot see
-- Retries where no task is named; a storm of refusals says it already.

WITH pushes AS (
    SELECT
        p.agent,
        p.url,
        '' AS client,
        'deliveries of one task to' AS what,
        'webhook-sender' AS suspect,
        p.task_id,
        p.first_at,
        p.retried_at,
        p.last_at,
        p.refusals,
        p.first_fact_id,
        p.retry_fact_id
    FROM push_retries AS p
    WHERE
        NOT EXISTS (
            SELECT 1 FROM unauthorized_storm AS s
            WHERE s.url = p.url AND s.severity = 'critical' AND s.first_seen <= p.retried_at AND s.last_seen >= p.first_at
        )
),

repeated AS (
    SELECT
        p.agent,
        p.url,
        p.client,
        p.what,
        p.suspect,
        p.task_id,
        p.first_at,
        p.retried_at,
        p.last_at,
        p.refusals,
        p.first_fact_id,
        p.retry_fact_id
    FROM pushes AS p
    UNION ALL
    SELECT
        s.agent,
        s.url,
        s.client,
        'sends to' AS what,
        'client' AS suspect,
        '' AS task_id,
        s.first_at,
        s.retried_at,
        s.last_at,
        s.refusals,
        s.first_fact_id,
        s.retry_fact_id
    FROM send_retries AS s
),

ranked AS (
    SELECT
        b.agent,
        b.url,
        b.client,
        b.what,
        b.suspect,
        b.task_id,
        b.retried_at,
        b.first_fact_id,
        b.retry_fact_id,
        min(b.first_at) OVER (PARTITION BY b.agent, b.url) AS first_seen,
        max(b.last_at) OVER (PARTITION BY b.agent, b.url) AS last_seen,
        sum(b.refusals) OVER (PARTITION BY b.agent, b.url) AS count,
        row_number() OVER (PARTITION BY b.agent, b.url ORDER BY b.retried_at, b.retry_fact_id) AS nth
    FROM repeated AS b
)

SELECT
    r.agent,
    r.url,
    r.client,
    r.what,
    r.suspect,
    r.task_id,
    r.count,
    CASE WHEN r.agent = '' OR (r.suspect = 'client' AND r.client = '') THEN 'likely' ELSE 'confirmed' END AS confidence,
    CASE r.suspect
        WHEN 'client' THEN 'the client repeats a refused send with the credential and the card that it has'
        ELSE 'the sender repeats a refused delivery with the credential that was refused'
    END AS why,
    CASE r.suspect
        WHEN 'client' THEN 'Make the client fetch the card of the agent and a new credential after a 401, before it sends again'
        ELSE concat('Read task ', r.task_id, ' and the card of the agent, then make a new push config; let the sender give up after a 401')
    END AS advice,
    r.retried_at AS observed_at,
    r.first_seen,
    r.last_seen,
    r.first_fact_id AS refused_fact_id,
    r.retry_fact_id
FROM ranked AS r
WHERE r.nth = 1
