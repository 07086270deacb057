-- title    = "The agent refuses a skill that its card, looked at again, still lists"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent", "skill_id"]
-- needs    = ["exchanges.skill_id", "cards.contract_sha256"]
-- summary  = "{agent} refuses {skill_id} ({count|call|calls}), while its card, seen again {seconds} s later, is unchanged and lists it"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "{todo}"
-- params   = { window = "10 minutes", shown = 10, block = 64 }
--
-- ## What it finds
-- A call that failed for its skill or mode, followed within `window` by a look at the card, by anyone, that finds the same contract as before the failure,
-- with the skill still in it.
-- ## Why it matters
-- Fetching the card again, the right answer to a refusal, does not help any caller: the agent itself is of two minds. Every caller that negotiates runs into it.
-- ## First checks
-- 1. Compare the agent's last deployment with the time of the first failure: is the runtime ahead of its card, or behind?
-- 2. Ask the agent directly, past any CDN or gateway, for its card: is that one the same?
-- 3. If only some calls fail, look for replicas of two versions.
-- ## When it is wrong
-- When the refusal was about the particular request (a mode, an attachment) and the agent's words do not say so.
-- ## What it cannot see
-- Refusals of calls that name no skill, and cards that nobody looks at again within `window`.

WITH failures AS (
    SELECT
        f.agent,
        f.skill_id,
        f.client,
        f.sent_at,
        f.observed_at,
        f.fact_id,
        f.call_key
    FROM capability_failures AS f
    WHERE
        f.skill_id <> '' AND f.about IN ('skill', 'mode')
        AND NOT EXISTS (SELECT 1 FROM unoffered_modes AS u WHERE u.agent = f.agent AND u.call_key = f.call_key)
),

failing AS (
    SELECT
        f.agent,
        min(f.observed_at) AS first_at
    FROM failures AS f
    GROUP BY f.agent
),

looks AS (
    SELECT
        l.agent,
        l.body_sha256,
        l.contract_sha256,
        l.not_modified,
        l.observed_at,
        l.fact_id,
        lag(l.contract_sha256) OVER (
            PARTITION BY l.agent, l.principal, l.tenant, l.extended ORDER BY l.observed_at, l.fact_id
        ) AS contract_before,
        lag(l.fact_id) OVER (
            PARTITION BY l.agent, l.principal, l.tenant, l.extended ORDER BY l.observed_at, l.fact_id
        ) AS fact_before,
        floor((row_number() OVER (PARTITION BY l.agent ORDER BY l.observed_at, l.fact_id) - 1) / ($block * 1.0)) AS block
    FROM card_looks AS l
    INNER JOIN failing AS f ON l.agent = f.agent
),

-- Looks are found by blocks, so that those of all times are not held against every failure.
blocks AS (
    SELECT
        l.agent,
        l.block,
        min(l.observed_at) AS first_at,
        max(l.observed_at) AS last_at
    FROM looks AS l
    GROUP BY l.agent, l.block
),

-- The first look after a failure that has one before it to compare with.
after AS (
    SELECT
        f.agent,
        f.skill_id,
        f.client,
        f.observed_at AS failed_at,
        f.fact_id AS failure_fact_id,
        l.body_sha256,
        l.contract_sha256,
        l.contract_before,
        l.not_modified,
        l.observed_at AS looked_at,
        l.fact_id AS look_fact_id,
        l.fact_before AS before_fact_id,
        row_number() OVER (
            PARTITION BY f.agent, f.skill_id, f.fact_id ORDER BY l.observed_at, l.fact_id
        ) AS nth
    FROM failures AS f
    INNER JOIN blocks AS b
        ON f.agent = b.agent AND f.observed_at < b.last_at AND b.first_at <= f.observed_at + CAST($window AS INTERVAL)
    INNER JOIN looks AS l
        ON
            f.agent = l.agent AND b.block = l.block AND f.observed_at < l.observed_at
            AND l.observed_at <= f.observed_at + CAST($window AS INTERVAL)
    WHERE l.contract_before IS NOT NULL
),

contradicted AS (
    SELECT
        a.agent,
        a.skill_id,
        a.client,
        a.failed_at,
        a.failure_fact_id,
        a.not_modified,
        a.looked_at,
        a.look_fact_id,
        a.before_fact_id,
        row_number() OVER (PARTITION BY a.agent, a.skill_id ORDER BY a.failed_at, a.failure_fact_id) AS nth
    FROM after AS a
    INNER JOIN card_skills AS s ON a.body_sha256 = s.body_sha256 AND a.skill_id = s.skill_id
    WHERE a.nth = 1 AND a.contract_before = a.contract_sha256
),

found AS (
    SELECT
        c.agent,
        c.skill_id,
        count(*) AS failed,
        min(c.client) AS one_client,
        max(c.client) AS other_client,
        min(c.failed_at) AS first_seen,
        max(c.failed_at) AS last_seen,
        min(c.looked_at) AS looked_at,
        max(c.looked_at) AS last_look_at,
        min(CASE WHEN c.nth = 1 THEN c.failed_at END) AS failed_at,
        min(CASE WHEN c.nth = 1 THEN c.look_fact_id END) AS look_fact_id,
        min(CASE WHEN c.nth = 1 THEN c.before_fact_id END) AS card_before_fact_id,
        array_agg(c.failure_fact_id ORDER BY c.failed_at, c.failure_fact_id) FILTER (WHERE c.nth <= $shown) AS failure_fact_ids
    FROM contradicted AS c
    GROUP BY c.agent, c.skill_id
),

-- A card that drops the skill afterwards came late.
dropped AS (
    SELECT
        f.agent,
        f.skill_id,
        min(l.observed_at) AS dropped_at
    FROM found AS f
    INNER JOIN looks AS l ON f.agent = l.agent AND l.observed_at > f.last_look_at
    WHERE
        l.contract_before <> l.contract_sha256
        AND NOT EXISTS (SELECT 1 FROM card_skills AS s WHERE s.body_sha256 = l.body_sha256 AND s.skill_id = f.skill_id)
    GROUP BY f.agent, f.skill_id
)

SELECT
    f.agent,
    f.skill_id,
    f.failed AS "count",
    CAST(
        floor(extract(EPOCH FROM date_trunc('second', f.looked_at)) - extract(EPOCH FROM date_trunc('second', f.failed_at)))
        AS BIGINT
    ) AS seconds,
    'critical' AS severity,
    'confirmed' AS confidence,
    CASE WHEN d.dropped_at IS NULL THEN 'remote-runtime' ELSE 'card-publisher' END AS suspect,
    CASE
        WHEN d.dropped_at IS NULL THEN 'the contract did not change between the looks before and after the failure'
        ELSE 'the card dropped the skill only after the runtime had'
    END AS why,
    CASE
        WHEN d.dropped_at IS NULL THEN concat('Compare the deployed version of ', f.agent, ' with its card, and take the skill from the one or bring it back in the other')
        ELSE concat('Have the card of ', f.agent, ' published with the runtime, not after it, and its caches purged')
    END AS todo,
    f.looked_at AS observed_at,
    f.first_seen,
    f.last_seen,
    f.failure_fact_ids,
    f.card_before_fact_id,
    f.look_fact_id
FROM found AS f
LEFT JOIN dropped AS d ON f.agent = d.agent AND f.skill_id = d.skill_id
