-- title    = "One card identity is shown in two generations in turn"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["cards.contract_sha256"]
-- summary  = "{agent} shows two cards in turn: {one_card} and {other_card}, {changes|change|changes}"
-- suspect  = "card-publisher"
-- because  = "{why}"
-- next     = "Fetch the card of {agent} several times, past every cache, and compare version and ETag; then purge the edge or end the rollout that still shows the wrong one"
-- params   = { rollout = "15 minutes", apart = "1 day", least = 2, named = 6 }
-- alert    = { keep = "30m" }
--
-- ## What it finds
-- Two generations (contract and version) of one card identity that alternate: at least two changes between them, back to a card that had been replaced, over
-- more than the time of a rolling deployment. Changes more than a day apart are releases and do not count together.
-- ## Why it matters
-- Which skills exist depends on the cache or replica that a caller meets. Each refresh may undo the last one, and a stale card looks like a bug of the caller.
-- ## First checks
-- 1. Compare `Age`, `ETag` and the address that answered in looks at either card: a CDN edge, or one of several replicas.
-- 2. Is a rollout stuck half way, or was it rolled back? After a rollback the card stays; such a finding is `likely` only.
-- 3. Count unknown_skill and stale_card_retry since the first change.
-- ## When it is wrong
-- When a release was taken back within a day. When the clock of one who looks is hours off. When one agent shows different callers different basic cards on purpose and nobody can see who asked.
-- ## What it cannot see
-- Two views that no tap sees both of.

WITH seen AS (
    SELECT
        l.agent,
        l.tenant,
        l.principal,
        l.extended,
        CASE WHEN l.extended AND l.principal = '' THEN l.client ELSE '' END AS viewer,
        concat('version ', CASE WHEN l.version = '' THEN 'none' ELSE l.version END, ' (contract ', substr(l.contract_sha256, 1, 8), ')')
            AS words,
        concat(l.version, ' ', l.contract_sha256) AS generation,
        l.observed_at,
        l.fact_id
    FROM card_looks AS l
),

followed AS (
    SELECT
        s.agent,
        s.tenant,
        s.principal,
        s.extended,
        s.viewer,
        s.words,
        s.generation,
        s.observed_at,
        s.fact_id,
        lag(s.words)
            OVER (PARTITION BY s.agent, s.tenant, s.principal, s.extended, s.viewer ORDER BY s.observed_at, s.fact_id)
            AS words_before,
        lag(s.fact_id)
            OVER (PARTITION BY s.agent, s.tenant, s.principal, s.extended, s.viewer ORDER BY s.observed_at, s.fact_id)
            AS fact_before,
        lag(s.generation) OVER (PARTITION BY s.agent, s.tenant, s.principal, s.extended, s.viewer ORDER BY s.observed_at, s.fact_id)
            AS generation_before
    FROM seen AS s
),

changed AS (
    SELECT
        f.agent,
        f.tenant,
        f.principal,
        f.extended,
        f.viewer,
        f.words_before,
        f.words,
        f.fact_before,
        f.fact_id,
        f.observed_at,
        CASE WHEN f.generation < f.generation_before THEN f.generation ELSE f.generation_before END AS one,
        CASE WHEN f.generation < f.generation_before THEN f.generation_before ELSE f.generation END AS other
    FROM followed AS f
    WHERE f.generation_before <> f.generation
),

spaced AS (
    SELECT
        c.agent,
        c.tenant,
        c.principal,
        c.extended,
        c.viewer,
        c.one,
        c.other,
        c.words_before,
        c.words,
        c.fact_before,
        c.fact_id,
        c.observed_at,
        lag(c.observed_at) OVER (
            PARTITION BY c.agent, c.tenant, c.principal, c.extended, c.viewer, c.one, c.other ORDER BY c.observed_at, c.fact_id
        ) AS before_at
    FROM changed AS c
),

-- A phase ends where the card rests for `apart`, a burst where it rests for `rollout`.
phased AS (
    SELECT
        s.agent,
        s.tenant,
        s.principal,
        s.extended,
        s.viewer,
        s.one,
        s.other,
        s.words_before,
        s.words,
        s.fact_before,
        s.fact_id,
        s.observed_at,
        sum(CASE WHEN s.observed_at > s.before_at + CAST($apart AS INTERVAL) THEN 1 ELSE 0 END) OVER (
            PARTITION BY s.agent, s.tenant, s.principal, s.extended, s.viewer, s.one, s.other
            ORDER BY s.observed_at, s.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS phase,
        CASE WHEN s.before_at IS NULL OR s.observed_at > s.before_at + CAST($rollout AS INTERVAL) THEN 1 ELSE 0 END AS begins_burst
    FROM spaced AS s
),

numbered AS (
    SELECT
        p.agent,
        p.tenant,
        p.principal,
        p.extended,
        p.viewer,
        p.one,
        p.other,
        p.phase,
        p.words_before,
        p.words,
        p.fact_before,
        p.fact_id,
        p.observed_at,
        p.begins_burst,
        row_number() OVER (
            PARTITION BY p.agent, p.tenant, p.principal, p.extended, p.viewer, p.one, p.other, p.phase ORDER BY p.observed_at, p.fact_id
        ) AS nth
    FROM phased AS p
),

alternated AS (
    SELECT
        n.agent,
        n.tenant,
        n.principal,
        n.extended,
        n.viewer,
        n.one,
        n.other,
        n.phase,
        max(CASE WHEN n.nth = 1 THEN n.words_before END) AS one_card,
        max(CASE WHEN n.nth = 1 THEN n.words END) AS other_card,
        max(CASE WHEN n.nth = 1 THEN n.fact_before END) AS before_fact_id,
        array_agg(n.fact_id ORDER BY n.nth, n.fact_id) FILTER (WHERE n.nth <= $named) AS change_fact_ids,
        count(*) AS changes,
        sum(n.begins_burst) AS bursts,
        min(n.observed_at) AS first_at,
        max(n.observed_at) AS last_at
    FROM numbered AS n
    GROUP BY n.agent, n.tenant, n.principal, n.extended, n.viewer, n.one, n.other, n.phase
    HAVING count(*) >= $least AND max(n.observed_at) > min(n.observed_at) + CAST($rollout AS INTERVAL)
),

judged AS (
    SELECT
        a.agent,
        a.one_card,
        a.other_card,
        a.before_fact_id,
        a.change_fact_ids,
        a.changes,
        a.first_at,
        a.last_at,
        -- Two short bursts are how a release and its withdrawal look.
        a.bursts = 2 AND a.changes <= 2 * $least AS may_be_rollback,
        row_number() OVER (PARTITION BY a.agent ORDER BY a.changes DESC NULLS LAST, a.first_at, a.before_fact_id) AS rank
    FROM alternated AS a
)

SELECT
    j.agent,
    j.one_card,
    j.other_card,
    j.changes,
    CASE
        WHEN
            j.may_be_rollback
            THEN 'a card came back that had been replaced, longer ago than a rollout takes; a release that was taken back looks the same'
        ELSE 'the same caller is shown a card, another, and the first again, for longer than a rollout takes'
    END AS why,
    CASE WHEN j.may_be_rollback THEN 'likely' ELSE 'confirmed' END AS confidence,
    j.changes AS count,
    j.last_at AS observed_at,
    j.first_at AS first_seen,
    j.last_at AS last_seen,
    j.before_fact_id,
    j.change_fact_ids
FROM judged AS j
WHERE j.rank = 1
