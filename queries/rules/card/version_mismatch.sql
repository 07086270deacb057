-- title    = "Caller and agent speak different versions of A2A"
-- severity = "warning"
-- status   = "stable"
-- since    = "0.1.0"
-- by       = ["client", "agent"]
-- entity   = ["client", "agent"]
-- needs    = ["exchanges.operation", "exchanges.outcome"]
-- summary  = "{caller} {spoken}; {agent} {speaks}"
-- suspect  = "client"
-- beside   = ["answer"]
-- because  = "{why}"
-- next     = "{advice}"
-- params   = { named = 5 }
--
-- ## What it finds
-- Calls refused for their version (-32009 and its like), for a method that is of A2A but of another vocabulary than the agent speaks or declares, or for
-- a word that another dialect spells so. Also an agent that refuses the very vocabulary that its card declares. `count` is the number of such calls.
-- ## Why it matters
-- Nothing that this caller asks is ever done, and the errors read like bugs of the protocol library.
-- ## First checks
-- 1. Was caller or agent upgraded just before? A2A 1.0 renamed methods, states and roles.
-- 2. Compare `protocolVersion` and the interfaces of the card with what the caller sends in `A2A-Version`.
-- 3. No header at all counts as 0.3.
-- ## When it is wrong
-- When somebody probes an agent for the versions it knows.
-- ## What it cannot see
-- Agents that answer two vocabularies or serve both shapes of their card are left out, and so is one that was upgraded in view: both vocabularies were answered. Calls
-- over gRPC that never reach a service of A2A.

WITH refused AS (
    SELECT
        r.client,
        r.agent,
        r.why,
        r.operation_raw,
        r.declared_version,
        r.observed_at,
        r.fact_id,
        d.dialect AS agent_dialect,
        coalesce(d.answered, 0) > 0 AS has_answered,
        coalesce(d.answered, 0) > 1 OR coalesce(d.declares_03 AND d.declares_10, FALSE) AS speaks_both,
        d.answer_fact_id,
        d.card_fact_id,
        coalesce(
            CASE r.dialect
                WHEN '1.0' THEN d.answers_01 OR d.answers_03 OR d.declares_01 OR d.declares_03
                WHEN '0.3' THEN d.answers_01 OR d.answers_10 OR d.declares_01 OR d.declares_10
                WHEN '0.1' THEN d.answers_03 OR d.answers_10 OR d.declares_03 OR d.declares_10
                ELSE d.answers_10 OR d.declares_10
            END, FALSE
        ) AS speaks_another,
        r.operation IN ('SendMessage', 'SendStreamingMessage', 'GetTask', 'CancelTask')
        AND coalesce(CASE r.dialect WHEN '1.0' THEN d.declares_10 WHEN '0.3' THEN d.declares_03 WHEN '0.1' THEN d.declares_01 END, FALSE)
            AS declares_it
    FROM version_refusals AS r
    LEFT JOIN agent_dialects AS d ON r.agent = d.agent
),

numbered AS (
    SELECT
        r.client,
        r.agent,
        CASE WHEN r.why = 'version' AND r.declared_version <> '' THEN concat('A2A ', r.declared_version) END AS version,
        r.why = 'version' AND r.declared_version = '' AS is_unstated,
        CASE WHEN r.why <> 'version' THEN r.operation_raw END AS method,
        r.why = 'method' AND NOT r.speaks_another AS is_own_card,
        r.why = 'version' AS is_version,
        r.agent_dialect,
        r.has_answered,
        r.answer_fact_id,
        r.card_fact_id,
        r.observed_at,
        r.fact_id,
        row_number() OVER (PARTITION BY r.client, r.agent ORDER BY r.observed_at, r.fact_id) AS nth
    FROM refused AS r
    WHERE NOT r.speaks_both AND (r.why <> 'method' OR r.speaks_another OR r.declares_it)
),

versions AS (
    SELECT
        n.client,
        n.agent,
        string_agg(DISTINCT n.version, ', ' ORDER BY n.version) AS versions
    FROM numbered AS n
    WHERE n.version IS NOT NULL
    GROUP BY n.client, n.agent
),

methods AS (
    SELECT
        n.client,
        n.agent,
        string_agg(DISTINCT n.method, ', ' ORDER BY n.method) AS methods
    FROM numbered AS n
    WHERE n.method IS NOT NULL
    GROUP BY n.client, n.agent
),

told AS (
    SELECT
        n.client,
        n.agent,
        bool_or(n.is_unstated) AS is_unstated,
        bool_or(n.is_own_card) AS is_own_card,
        bool_or(n.is_version) AS is_version,
        bool_or(n.has_answered) AS has_answered,
        max(CASE n.agent_dialect WHEN '0.3' THEN '0.2/0.3' ELSE n.agent_dialect END) AS agent_version,
        max(n.answer_fact_id) AS answer_fact_id,
        max(n.card_fact_id) AS card_fact_id,
        count(*) AS calls,
        min(n.observed_at) AS first_at,
        max(n.observed_at) AS last_at,
        array_agg(n.fact_id ORDER BY n.nth, n.fact_id) FILTER (WHERE n.nth <= $named) AS refusal_fact_ids
    FROM numbered AS n
    GROUP BY n.client, n.agent
),

-- What the caller does, in words: `speaks A2A 9.9; states no version; calls tasks/get and tasks/send`.
phrased AS (
    SELECT
        t.client,
        t.agent,
        concat(
            CASE WHEN v.versions IS NULL THEN '' ELSE concat('; speaks ', regexp_replace(v.versions, '^(.*), ', '\1 and ')) END,
            CASE WHEN t.is_unstated THEN '; states no version' ELSE '' END,
            CASE WHEN m.methods IS NULL THEN '' ELSE concat('; calls ', regexp_replace(m.methods, '^(.*), ', '\1 and ')) END
        ) AS phrases
    FROM told AS t
    LEFT JOIN versions AS v ON t.client = v.client AND t.agent = v.agent
    LEFT JOIN methods AS m ON t.client = m.client AND t.agent = m.agent
)

SELECT
    t.client,
    t.agent,
    CASE WHEN t.client = '' THEN 'A caller' ELSE t.client END AS caller,
    replace(regexp_replace(substr(p.phrases, 3), '^(.*); ', '\1 or '), '; ', ', ') AS spoken,
    CASE
        WHEN t.is_own_card THEN 'refuses what its own card declares'
        WHEN coalesce(t.agent_version, '') = '' THEN 'refuses that'
        WHEN t.has_answered THEN concat('answers to A2A ', t.agent_version)
        ELSE concat('declares A2A ', t.agent_version)
    END AS speaks,
    CASE
        WHEN t.is_own_card THEN 'the card declares this vocabulary and the runtime does not know its methods'
        WHEN t.is_version THEN 'the agent refuses the version that the caller states, or that it states none'
        ELSE 'the agent does not know the caller''s words and speaks another vocabulary'
    END AS why,
    CASE
        WHEN
            t.is_own_card
            THEN concat('Make the card of ', coalesce(nullif(t.agent, ''), 'the agent'), ' declare the version that its runtime speaks')
        WHEN
            coalesce(t.agent_version, '') = ''
            THEN
                concat(
                    'Read the card of ',
                    coalesce(nullif(t.agent, ''), 'the agent'),
                    ' and let the caller speak the version that it declares'
                )
        ELSE concat(
            'Let the caller speak A2A ',
            t.agent_version,
            ' to ',
            coalesce(nullif(t.agent, ''), 'the agent'),
            ' and say so in A2A-Version, or have the agent serve the caller''s version too'
        )
    END AS advice,
    CASE WHEN t.is_own_card THEN 'remote-runtime' ELSE 'client' END AS suspect,
    CASE WHEN t.client = '' THEN 'likely' ELSE 'confirmed' END AS confidence,
    t.calls AS count,
    t.first_at AS observed_at,
    t.first_at AS first_seen,
    t.last_at AS last_seen,
    t.refusal_fact_ids,
    t.answer_fact_id,
    t.card_fact_id
FROM told AS t
INNER JOIN phrased AS p ON t.client = p.client AND t.agent = p.agent
