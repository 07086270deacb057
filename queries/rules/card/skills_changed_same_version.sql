-- title    = "The skills of a card changed and its version did not"
-- severity = "critical"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["agent"]
-- entity   = ["agent", "principal", "extended", "contract_sha256", "changed_at"]
-- needs    = ["cards.contract_sha256"]
-- summary  = "{agent} changed its skills under version {version}: {gone} gone, {new} new"
-- suspect  = "card-publisher"
-- because  = "skills, modes or capabilities changed while version stayed {version}"
-- next     = "Have the publisher of {agent} raise the version with every change of skills, and clients compare a fingerprint"
--
-- ## What it finds
-- Two looks at one card identity between which skills, effective modes, streaming or push changed and the version did not (record 000). Critical
-- while tasks for a removed skill fail for it.
-- ## Why it matters
-- Clients that key their cache by version go on with a contract that no longer holds.
-- ## First checks
-- 1. Read the difference below: which skills and modes are gone or new.
-- 2. Look for unknown_skill and mode_mismatch of the same agent after the change.
-- 3. Ask the publisher for a version with each contract.
-- ## When it is wrong
-- When one agent serves different callers different cards and the caller is not visible: split_view tells that apart.
-- ## What it cannot see
-- A change of meaning under the same ids and modes.

WITH changed AS (
    SELECT
        g.agent,
        g.principal,
        g.extended,
        g.version,
        g.contract_sha256,
        g.body_sha256,
        g.body_before,
        g.valid_from,
        g.fact_id,
        g.fact_before
    FROM card_generations AS g
    WHERE g.contract_before IS NOT NULL AND g.contract_before <> g.contract_sha256 AND g.version_before = g.version
),

gone AS (
    SELECT
        c.agent,
        c.fact_id,
        string_agg(DISTINCT o.skill_id, ', ' ORDER BY o.skill_id) AS skills
    FROM changed AS c
    INNER JOIN card_skills AS o ON c.body_before = o.body_sha256
    WHERE NOT EXISTS (SELECT 1 FROM card_skills AS n WHERE n.body_sha256 = c.body_sha256 AND n.skill_id = o.skill_id)
    GROUP BY c.agent, c.fact_id
),

new AS (
    SELECT
        c.agent,
        c.fact_id,
        string_agg(DISTINCT n.skill_id, ', ' ORDER BY n.skill_id) AS skills
    FROM changed AS c
    INNER JOIN card_skills AS n ON c.body_sha256 = n.body_sha256
    WHERE NOT EXISTS (SELECT 1 FROM card_skills AS o WHERE o.body_sha256 = c.body_before AND o.skill_id = n.skill_id)
    GROUP BY c.agent, c.fact_id
)

SELECT
    c.agent,
    c.principal,
    CAST(c.extended AS VARCHAR) AS extended,
    c.version,
    c.contract_sha256,
    CAST(c.valid_from AS VARCHAR) AS changed_at,
    coalesce(g.skills, 'none') AS gone,
    coalesce(n.skills, 'none') AS new,
    'warning' AS severity,
    'confirmed' AS confidence,
    c.valid_from AS observed_at,
    c.fact_before AS before_fact_id,
    c.fact_id AS after_fact_id
FROM changed AS c
LEFT JOIN gone AS g ON c.agent = g.agent AND c.fact_id = g.fact_id
LEFT JOIN new AS n ON c.agent = n.agent AND c.fact_id = n.fact_id
