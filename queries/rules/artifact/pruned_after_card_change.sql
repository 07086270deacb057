-- title    = "An artifact of an ended task is gone after the card changed"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent", "task_id"]
-- entity   = ["agent", "task_id", "artifact_id"]
-- needs    = ["artifact_parts.artifact_id", "task_events.artifact_count"]
-- summary  = "{artifact_id} of {task_id} is gone: {told}"
-- suspect  = "remote-runtime"
-- because  = "{why}"
-- next     = "Ask the owners of {agent} to keep the artifacts of ended tasks across changes of the card; take {artifact_id} from a consumer that still has it"
-- marks    = { card_generations = { on = ["agent"] } }
--
-- ## What it finds
-- An artifact that an ended task had, and that reads of the task after a change of the agent's card lack, up to the last one; or the agent's own event
-- that it pruned one (what a card says governs new tasks, not the results of old ones).
-- ## Why it matters
-- A result that was delivered and perhaps paid for cannot be read again, and audits of it fail.
-- ## First checks
-- 1. Read the task once more. Still gone?
-- 2. Compare the two generations of the card: is the skill that made the artifact gone?
-- 3. Look in the agent's log for a retention job that ran then.
-- ## When it is wrong
-- When a retention period ended by chance after a change of the card.
-- ## What it cannot see
-- ListTasks, which leaves artifacts out; tasks that nobody reads again.

WITH ends AS (
    SELECT
        t.agent,
        t.task_id,
        t.first_seen_at
    FROM task_ends AS t
    WHERE t.speaker = 'server'
),

-- A read that lacks an artifact counts fewer than there ever were.
ever AS (
    SELECT
        p.agent,
        p.task_id,
        count(DISTINCT p.artifact_id) AS artifacts
    FROM artifact_parts AS p
    INNER JOIN ends AS d ON p.agent = d.agent AND p.task_id = d.task_id
    WHERE p.action = 'received' AND p.origin <> 'local'
    GROUP BY p.agent, p.task_id
),

pressed AS (
    SELECT
        e.agent,
        e.task_id
    FROM task_events AS e
    INNER JOIN ever AS v ON e.agent = v.agent AND e.task_id = v.task_id
    WHERE e.snapshot AND e.origin IN ('poll', 'reply')
    GROUP BY e.agent, e.task_id, v.artifacts
    HAVING min(e.artifact_count) < v.artifacts
),

reads AS (
    SELECT
        e.agent,
        e.task_id,
        e.record_id,
        e.artifact_count,
        e.observed_at,
        e.fact_id,
        row_number() OVER (PARTITION BY e.agent, e.task_id ORDER BY e.observed_at DESC NULLS LAST, e.fact_id) AS nth_last
    FROM task_events AS e
    INNER JOIN pressed AS d ON e.agent = d.agent AND e.task_id = d.task_id
    WHERE
        e.snapshot AND e.artifact_count IS NOT NULL AND e.origin IN ('poll', 'reply')
        AND e.state IN ('completed', 'failed', 'canceled', 'rejected')
),

last_reads AS (
    SELECT
        r.agent,
        r.task_id,
        r.record_id,
        r.observed_at,
        r.fact_id
    FROM reads AS r
    WHERE r.nth_last = 1
),

delivered AS (
    SELECT
        p.agent,
        p.task_id,
        p.artifact_id,
        max(p.observed_at) AS last_at,
        bool_or(p.snapshot) AS was_in_a_read
    FROM artifact_parts AS p
    INNER JOIN last_reads AS l ON p.agent = l.agent AND p.task_id = l.task_id
    WHERE p.action = 'received' AND p.origin <> 'local'
    GROUP BY p.agent, p.task_id, p.artifact_id
),

gone AS (
    SELECT
        d.agent,
        d.task_id,
        d.artifact_id,
        d.last_at,
        d.was_in_a_read,
        l.observed_at AS read_at,
        l.fact_id AS read_fact_id
    FROM delivered AS d
    INNER JOIN last_reads AS l ON d.agent = l.agent AND d.task_id = l.task_id
    WHERE
        d.last_at < l.observed_at
        -- A task that is open again, or had a second life, is another rule's business.
        AND NOT EXISTS (
            SELECT 1 FROM task_events AS e
            WHERE
                e.agent = d.agent AND e.task_id = d.task_id AND e.origin <> 'local' AND e.observed_at > d.last_at
                AND e.state IN ('submitted', 'working', 'input-required', 'auth-required')
        )
        AND NOT EXISTS (
            SELECT 1 FROM artifact_parts AS p
            WHERE p.agent = d.agent AND p.task_id = d.task_id AND p.artifact_id = d.artifact_id AND p.record_id = l.record_id
        )
),

first_missed AS (
    SELECT
        g.agent,
        g.task_id,
        g.artifact_id,
        min(r.observed_at) AS missed_at
    FROM gone AS g
    INNER JOIN reads AS r ON g.agent = r.agent AND g.task_id = r.task_id
    WHERE r.observed_at > g.last_at
    GROUP BY g.agent, g.task_id, g.artifact_id
),

changes AS (
    SELECT
        g.agent,
        g.task_id,
        g.artifact_id,
        c.fact_id AS after_card_fact_id,
        c.last_before_fact_id AS before_card_fact_id,
        c.valid_from AS changed_at,
        row_number() OVER (
            PARTITION BY g.agent, g.task_id, g.artifact_id ORDER BY c.valid_from DESC NULLS LAST, c.fact_id
        ) AS nth_last
    FROM gone AS g
    INNER JOIN first_missed AS m ON g.agent = m.agent AND g.task_id = m.task_id AND g.artifact_id = m.artifact_id
    INNER JOIN card_generations AS c ON g.agent = c.agent AND c.valid_from > g.last_at AND c.valid_from <= m.missed_at
    WHERE c.fact_before IS NOT NULL
),

had AS (
    SELECT
        g.agent,
        g.task_id,
        g.artifact_id,
        min(p.fact_id) AS artifact_fact_id
    FROM gone AS g
    INNER JOIN artifact_parts AS p
        ON g.agent = p.agent AND g.task_id = p.task_id AND g.artifact_id = p.artifact_id AND g.last_at = p.observed_at
    GROUP BY g.agent, g.task_id, g.artifact_id
),

told AS (
    SELECT
        p.agent,
        p.task_id,
        p.artifact_id,
        min(p.observed_at) AS pruned_at,
        min(p.fact_id) AS pruned_fact_id
    FROM artifact_parts AS p
    INNER JOIN ends AS d ON p.agent = d.agent AND p.task_id = d.task_id
    WHERE p.action = 'pruned'
    GROUP BY p.agent, p.task_id, p.artifact_id
)

SELECT
    g.agent,
    g.task_id,
    g.artifact_id,
    'it was there before the card changed, and is not in the reads after' AS told,
    'the card changed between the last time the artifact was seen and the first read without it' AS why,
    CASE WHEN g.was_in_a_read THEN 'confirmed' ELSE 'likely' END AS confidence,
    m.missed_at AS observed_at,
    m.missed_at AS first_seen,
    g.read_at AS last_seen,
    h.artifact_fact_id,
    g.read_fact_id,
    c.before_card_fact_id,
    c.after_card_fact_id,
    '' AS pruned_fact_id
FROM gone AS g
INNER JOIN first_missed AS m ON g.agent = m.agent AND g.task_id = m.task_id AND g.artifact_id = m.artifact_id
INNER JOIN changes AS c ON g.agent = c.agent AND g.task_id = c.task_id AND g.artifact_id = c.artifact_id AND c.nth_last = 1
INNER JOIN had AS h ON g.agent = h.agent AND g.task_id = h.task_id AND g.artifact_id = h.artifact_id
WHERE
    NOT EXISTS (
        SELECT 1 FROM told AS t
        WHERE t.agent = g.agent AND t.task_id = g.task_id AND t.artifact_id = g.artifact_id
    )
UNION ALL
SELECT
    t.agent,
    t.task_id,
    t.artifact_id,
    'the agent says that it pruned it' AS told,
    'the agent''s own event says that the artifact was pruned' AS why,
    'confirmed' AS confidence,
    t.pruned_at AS observed_at,
    t.pruned_at AS first_seen,
    t.pruned_at AS last_seen,
    '' AS artifact_fact_id,
    '' AS read_fact_id,
    '' AS before_card_fact_id,
    '' AS after_card_fact_id,
    t.pruned_fact_id
FROM told AS t
