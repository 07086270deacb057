-- title    = "The security that a card asks for changed"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent"]
-- needs    = ["cards.security_sha256"]
-- summary  = "{agent} changed the security of {what}; {in_flight}"
-- suspect  = "operator"
-- because  = "schemes or requirements differ between two looks at one card ({version_words})"
-- next     = "{advice}"
-- params   = { named = 5 }
--
-- ## What it finds
-- Two looks at one card identity between which the security schemes or requirements of the card or of a skill changed. Context; a warning when tasks were open at
-- that time, which are named. One finding an agent: the change with open tasks is shown, `count` says how many there were.
-- ## Why it matters
-- Calls that were allowed may now be refused, and the other way round. A task that waits for input was admitted under the old rules and will be resumed under the new ones.
-- ## First checks
-- 1. Was the change meant? Ask who runs the agent.
-- 2. Follow the named tasks: see resumed_after_policy_change, and auth_audience_drift for refusals since.
-- 3. Read the card again: do its clients have credentials for the new scheme?
-- ## When it is wrong
-- When a tool writes the same schemes in a form that the neutral model does not know.
-- ## What it cannot see
-- A policy that changed behind an unchanged card; send `a2a.policy.changed` for those.

WITH changed AS (
    SELECT
        g.agent,
        g.version_before,
        g.version,
        g.valid_from,
        g.last_body_before,
        g.body_sha256,
        g.last_before_fact_id,
        g.fact_id
    FROM card_generations AS g
    WHERE g.security_before <> g.security_sha256
),

of_skills AS (
    SELECT
        c.agent,
        c.fact_id,
        n.skill_id,
        row_number() OVER (PARTITION BY c.agent, c.fact_id ORDER BY n.skill_id, c.fact_id) AS nth
    FROM changed AS c
    INNER JOIN card_skills AS o ON c.last_body_before = o.body_sha256
    INNER JOIN card_skills AS n ON c.body_sha256 = n.body_sha256 AND o.skill_id = n.skill_id
    WHERE o.security_sha256 <> n.security_sha256
),

of_cards AS (
    SELECT
        s.agent,
        s.fact_id,
        concat(
            string_agg(CASE WHEN s.nth <= $named THEN s.skill_id END, ', ' ORDER BY s.nth, s.fact_id),
            CASE WHEN count(*) > $named THEN concat(' and ', CAST(count(*) - $named AS VARCHAR), ' more') ELSE '' END
        ) AS skills
    FROM of_skills AS s
    GROUP BY s.agent, s.fact_id
),

waiting AS (
    SELECT
        x.agent,
        x.after_fact_id,
        x.task_id,
        x.state_fact_id,
        row_number() OVER (PARTITION BY x.agent, x.after_fact_id ORDER BY x.created_at, x.created_fact_id) AS nth
    FROM task_crossings AS x
    WHERE x.security_before <> x.security_sha256
),

in_flight AS (
    SELECT
        w.agent,
        w.after_fact_id,
        count(*) AS tasks,
        concat(
            string_agg(CASE WHEN w.nth <= $named THEN w.task_id END, ', ' ORDER BY w.nth, w.state_fact_id),
            CASE WHEN count(*) > $named THEN concat(' and ', CAST(count(*) - $named AS VARCHAR), ' more') ELSE '' END
        ) AS names,
        array_agg(w.task_id ORDER BY w.nth, w.state_fact_id) AS task_ids,
        array_agg(w.state_fact_id ORDER BY w.nth, w.state_fact_id) FILTER (WHERE w.nth <= $named) AS open_task_fact_ids
    FROM waiting AS w
    GROUP BY w.agent, w.after_fact_id
),

judged AS (
    SELECT
        c.agent,
        c.version_before,
        c.version,
        c.valid_from,
        c.last_before_fact_id,
        c.fact_id,
        k.skills,
        coalesce(f.tasks, 0) AS tasks,
        f.names,
        f.task_ids,
        f.open_task_fact_ids,
        row_number() OVER (
            PARTITION BY c.agent ORDER BY CASE WHEN f.tasks > 0 THEN 0 ELSE 1 END, c.valid_from, c.fact_id
        ) AS rank,
        count(*) OVER (PARTITION BY c.agent) AS changes,
        min(c.valid_from) OVER (PARTITION BY c.agent) AS first_seen,
        max(c.valid_from) OVER (PARTITION BY c.agent) AS last_seen
    FROM changed AS c
    LEFT JOIN of_cards AS k ON c.agent = k.agent AND c.fact_id = k.fact_id
    LEFT JOIN in_flight AS f ON c.agent = f.agent AND c.fact_id = f.after_fact_id
)

SELECT
    j.agent,
    coalesce(j.skills, 'its card') AS what,
    CASE
        WHEN j.tasks = 0 THEN 'no open task was seen'
        WHEN j.tasks = 1 THEN concat('1 task was open: ', j.names)
        ELSE concat(CAST(j.tasks AS VARCHAR), ' tasks were open: ', j.names)
    END AS in_flight,
    CASE
        WHEN j.version = j.version_before THEN concat('version ', coalesce(nullif(j.version, ''), 'none'), ' both times')
        ELSE concat('version ', coalesce(nullif(j.version_before, ''), 'none'), ', then ', coalesce(nullif(j.version, ''), 'none'))
    END AS version_words,
    CASE
        WHEN j.tasks = 0 THEN 'Make sure that the callers have credentials for what the card now asks for'
        ELSE 'Decide for each open task whether it may go on under the new rules, before somebody resumes it'
    END AS advice,
    j.tasks,
    j.task_ids,
    CASE WHEN j.tasks > 0 THEN 'warning' ELSE 'info' END AS severity,
    'confirmed' AS confidence,
    j.changes AS count,
    j.valid_from AS observed_at,
    j.first_seen,
    j.last_seen,
    j.last_before_fact_id AS before_fact_id,
    j.fact_id AS after_fact_id,
    j.open_task_fact_ids
FROM judged AS j
WHERE j.rank = 1
