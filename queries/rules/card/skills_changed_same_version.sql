-- title    = "The skills of a card changed and its version did not"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["cards.contract_sha256"]
-- summary  = "{agent} changed its card under version {version_words}: {what}"
-- suspect  = "card-publisher"
-- because  = "{why}"
-- next     = "Have the publisher of {agent} raise the version with every change of skills, and let clients compare a fingerprint rather than the version"
-- params   = { named = 5 }
--
-- ## What it finds
-- Two looks at one card identity (agent, principal, basic or extended) between which skills, effective modes, streaming or push changed and the version did
-- not: who compares versions keeps the old card. Critical while tasks for a removed skill are open, or once one failed for it. One finding an agent: the worst change is shown, `count` says how many there were.
-- ## Why it matters
-- Clients that key their cache by version go on with a contract that no longer holds: they ask for skills that are gone and fail late, inside a task.
-- ## First checks
-- 1. Read what went, came or changed its modes, and compare the two cards in the evidence.
-- 2. Look at unknown_skill, stale_card_retry and mode_mismatch of the same agent after the change: those are the callers it hit.
-- 3. Ask the publisher for a version with each contract, and for an ETag, so that a revalidation shows the change.
-- ## When it is wrong
-- When one agent shows different callers different basic cards on purpose and nobody can see who asked (opaque tokens).
-- ## What it cannot see
-- A change of meaning under the same ids and modes; a change that was taken back between two looks.

WITH changed AS (
    SELECT
        g.agent,
        g.tenant,
        g.principal,
        g.extended,
        g.viewer,
        g.version,
        g.valid_from,
        g.last_body_before,
        g.body_sha256,
        g.last_before_at,
        g.last_before_fact_id,
        g.fact_id,
        CASE
            WHEN g.streaming_before AND NOT g.streaming THEN 'streaming switched off'
            WHEN g.streaming AND NOT g.streaming_before THEN 'streaming switched on'
        END AS streaming_words,
        CASE
            WHEN g.push_before AND NOT g.push_notifications THEN 'push switched off'
            WHEN g.push_notifications AND NOT g.push_before THEN 'push switched on'
        END AS push_words
    FROM card_generations AS g
    WHERE g.contract_before <> g.contract_sha256 AND g.version_before = g.version
),

gone AS (
    SELECT
        c.agent,
        c.fact_id,
        c.tenant,
        c.principal,
        c.extended,
        c.viewer,
        c.valid_from,
        c.last_before_at,
        o.skill_id
    FROM changed AS c
    INNER JOIN skill_modes AS o ON c.last_body_before = o.body_sha256
    WHERE NOT EXISTS (SELECT 1 FROM skill_modes AS n WHERE n.body_sha256 = c.body_sha256 AND n.skill_id = o.skill_id)
),

differences AS (
    SELECT
        g.agent,
        g.fact_id,
        'gone' AS kind,
        g.skill_id
    FROM gone AS g
    UNION ALL
    SELECT
        c.agent,
        c.fact_id,
        'new' AS kind,
        n.skill_id
    FROM changed AS c
    INNER JOIN skill_modes AS n ON c.body_sha256 = n.body_sha256
    WHERE NOT EXISTS (SELECT 1 FROM skill_modes AS o WHERE o.body_sha256 = c.last_body_before AND o.skill_id = n.skill_id)
    UNION ALL
    SELECT
        c.agent,
        c.fact_id,
        'modes' AS kind,
        n.skill_id
    FROM changed AS c
    INNER JOIN skill_modes AS o ON c.last_body_before = o.body_sha256
    INNER JOIN skill_modes AS n ON c.body_sha256 = n.body_sha256 AND o.skill_id = n.skill_id
    WHERE o.input_modes <> n.input_modes OR o.output_modes <> n.output_modes
),

numbered AS (
    SELECT
        d.agent,
        d.fact_id,
        d.kind,
        d.skill_id,
        row_number() OVER (PARTITION BY d.agent, d.fact_id, d.kind ORDER BY d.skill_id, d.fact_id) AS nth
    FROM differences AS d
),

worded AS (
    SELECT
        n.agent,
        n.fact_id,
        n.kind,
        concat(
            string_agg(CASE WHEN n.nth <= $named THEN n.skill_id END, ', ' ORDER BY n.nth, n.fact_id),
            CASE WHEN count(*) > $named THEN concat(' and ', CAST(count(*) - $named AS VARCHAR), ' more') ELSE '' END
        ) AS skills
    FROM numbered AS n
    GROUP BY n.agent, n.fact_id, n.kind
),

described AS (
    SELECT
        w.agent,
        w.fact_id,
        max(CASE WHEN w.kind = 'gone' THEN w.skills END) AS skills_gone,
        max(CASE WHEN w.kind = 'new' THEN w.skills END) AS skills_new,
        max(CASE WHEN w.kind = 'modes' THEN w.skills END) AS skills_redefined
    FROM worded AS w
    GROUP BY w.agent, w.fact_id
),

removable AS (
    SELECT
        g.agent,
        g.tenant,
        g.principal,
        g.extended,
        g.viewer,
        g.skill_id
    FROM gone AS g
    GROUP BY g.agent, g.tenant, g.principal, g.extended, g.viewer, g.skill_id
),

-- Removals of a skill, generations that list it, and failures for lack of it, one after the other. A removal counts from the last look before it.
moments AS (
    SELECT
        g.agent,
        g.tenant,
        g.principal,
        g.extended,
        g.viewer,
        g.skill_id,
        g.valid_from AS shown_at,
        g.last_before_at AS at,
        'gone' AS kind,
        '' AS failure_key,
        g.fact_id,
        row_number() OVER (
            PARTITION BY g.agent, g.tenant, g.principal, g.extended, g.viewer, g.skill_id
            ORDER BY g.valid_from, g.fact_id DESC NULLS LAST
        ) AS number
    FROM gone AS g
    UNION ALL
    SELECT
        l.agent,
        l.tenant,
        l.principal,
        l.extended,
        l.viewer,
        r.skill_id,
        l.valid_from AS shown_at,
        l.valid_from AS at,
        'listed' AS kind,
        '' AS failure_key,
        l.fact_id,
        0 AS number
    FROM card_generations AS l
    INNER JOIN removable AS r
        ON l.agent = r.agent AND l.tenant = r.tenant AND l.principal = r.principal AND l.extended = r.extended AND l.viewer = r.viewer
    INNER JOIN skill_modes AS m ON l.body_sha256 = m.body_sha256 AND r.skill_id = m.skill_id
    UNION ALL
    SELECT
        f.agent,
        r.tenant,
        r.principal,
        r.extended,
        r.viewer,
        f.skill_id,
        f.observed_at AS shown_at,
        f.observed_at AS at,
        'lacked' AS kind,
        f.failure_key,
        f.fact_id,
        0 AS number
    FROM capability_failures AS f
    INNER JOIN removable AS r ON f.agent = r.agent AND f.skill_id = r.skill_id
),

followed AS (
    SELECT
        m.agent,
        m.tenant,
        m.principal,
        m.extended,
        m.viewer,
        m.skill_id,
        m.at,
        m.kind,
        m.failure_key,
        m.fact_id,
        m.number,
        max(m.number) OVER (
            PARTITION BY m.agent, m.tenant, m.principal, m.extended, m.viewer, m.skill_id
            ORDER BY m.at, m.kind, m.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS last_number,
        min(CASE WHEN m.kind = 'listed' THEN m.shown_at END) OVER (
            PARTITION BY m.agent, m.tenant, m.principal, m.extended, m.viewer, m.skill_id
            ORDER BY m.shown_at DESC NULLS LAST, m.kind, m.fact_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS listed_at
    FROM moments AS m
),

-- For each failure the last removal of its skill that it can come of.
suspected AS (
    SELECT
        f.agent,
        g.fact_id,
        g.listed_at,
        f.at AS failed_at,
        f.fact_id AS failure_fact_id,
        row_number() OVER (
            PARTITION BY f.agent, f.tenant, f.principal, f.extended, f.viewer, f.failure_key ORDER BY g.number DESC NULLS LAST, f.fact_id
        ) AS nth_last
    FROM followed AS f
    INNER JOIN followed AS g
        ON
            f.agent = g.agent AND f.tenant = g.tenant AND f.principal = g.principal AND f.extended = g.extended AND f.viewer = g.viewer
            AND f.skill_id = g.skill_id AND f.last_number = g.number
    WHERE f.kind = 'lacked' AND g.kind = 'gone'
),

failing AS (
    SELECT
        s.agent,
        s.fact_id,
        s.failure_fact_id,
        row_number() OVER (PARTITION BY s.agent, s.fact_id ORDER BY s.failed_at, s.failure_fact_id) AS nth
    FROM suspected AS s
    WHERE s.nth_last = 1 AND (s.listed_at IS NULL OR s.listed_at > s.failed_at)
),

failed AS (
    SELECT
        f.agent,
        f.fact_id,
        count(*) AS failures,
        array_agg(f.failure_fact_id ORDER BY f.nth, f.failure_fact_id) FILTER (WHERE f.nth <= $named) AS failure_fact_ids
    FROM failing AS f
    GROUP BY f.agent, f.fact_id
),

running AS (
    SELECT
        x.agent,
        x.after_fact_id,
        x.created_fact_id,
        row_number() OVER (PARTITION BY x.agent, x.after_fact_id ORDER BY x.created_at, x.created_fact_id) AS nth
    FROM task_crossings AS x
    INNER JOIN gone AS g ON x.agent = g.agent AND x.after_fact_id = g.fact_id AND x.skill_id = g.skill_id
    WHERE x.ended_at IS NULL
),

still_running AS (
    SELECT
        r.agent,
        r.after_fact_id,
        count(*) AS tasks,
        array_agg(r.created_fact_id ORDER BY r.nth, r.created_fact_id) FILTER (WHERE r.nth <= $named) AS open_task_fact_ids
    FROM running AS r
    GROUP BY r.agent, r.after_fact_id
),

judged AS (
    SELECT
        c.agent,
        c.version,
        c.valid_from,
        c.last_before_fact_id,
        c.fact_id,
        concat_ws(
            '; ',
            CASE WHEN d.skills_gone <> '' THEN concat(d.skills_gone, ' gone') END,
            CASE WHEN d.skills_new <> '' THEN concat(d.skills_new, ' new') END,
            CASE WHEN d.skills_redefined <> '' THEN concat('other modes for ', d.skills_redefined) END,
            c.streaming_words,
            c.push_words
        ) AS what,
        d.skills_gone,
        d.skills_new,
        d.skills_redefined,
        coalesce(f.failures, 0) AS failures,
        coalesce(o.tasks, 0) AS tasks,
        f.failure_fact_ids,
        o.open_task_fact_ids,
        row_number() OVER (
            PARTITION BY c.agent
            ORDER BY CASE WHEN coalesce(f.failures, 0) + coalesce(o.tasks, 0) > 0 THEN 0 ELSE 1 END, c.valid_from, c.fact_id
        ) AS rank,
        count(*) OVER (PARTITION BY c.agent) AS changes,
        min(c.valid_from) OVER (PARTITION BY c.agent) AS first_seen,
        max(c.valid_from) OVER (PARTITION BY c.agent) AS last_seen
    FROM changed AS c
    LEFT JOIN described AS d ON c.agent = d.agent AND c.fact_id = d.fact_id
    LEFT JOIN failed AS f ON c.agent = f.agent AND c.fact_id = f.fact_id
    LEFT JOIN still_running AS o ON c.agent = o.agent AND c.fact_id = o.after_fact_id
)

SELECT
    j.agent,
    j.version,
    CASE WHEN j.version = '' THEN 'none' ELSE j.version END AS version_words,
    CASE WHEN j.what = '' THEN 'skills, modes or capabilities' ELSE j.what END AS what,
    concat(
        'the contract changed between two looks and the version stayed the same',
        CASE
            WHEN j.failures = 1 THEN '; 1 call for a removed skill failed'
            WHEN j.failures > 1 THEN concat('; ', CAST(j.failures AS VARCHAR), ' calls for removed skills failed')
            ELSE ''
        END,
        CASE
            WHEN j.tasks = 1 THEN '; 1 task for a removed skill is open'
            WHEN j.tasks > 1 THEN concat('; ', CAST(j.tasks AS VARCHAR), ' tasks for removed skills are open')
            ELSE ''
        END
    ) AS why,
    coalesce(j.skills_gone, '') AS skills_gone,
    coalesce(j.skills_new, '') AS skills_new,
    coalesce(j.skills_redefined, '') AS skills_redefined,
    j.failures,
    j.tasks,
    CASE WHEN j.failures + j.tasks > 0 THEN 'critical' ELSE 'warning' END AS severity,
    'confirmed' AS confidence,
    j.changes AS count,
    j.valid_from AS observed_at,
    j.first_seen,
    j.last_seen,
    j.last_before_fact_id AS before_fact_id,
    j.fact_id AS after_fact_id,
    j.failure_fact_ids,
    j.open_task_fact_ids
FROM judged AS j
WHERE j.rank = 1
