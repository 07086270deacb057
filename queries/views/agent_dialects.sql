-- title = "Which dialects an agent answers and which its cards are written in"
-- by    = ["agent"]
--
-- `answers_*`: it answered a call in that vocabulary well; `declares_*`: a card in that shape was seen. `0.3` is also 0.2. `dialect` is what it
-- answers, else what it declares; `''` when that is more than one. Facts are the first of each kind.

WITH told AS (
    SELECT
        v.agent,
        v.dialect,
        TRUE AS is_answer,
        v.observed_at,
        v.fact_id
    FROM vocabularies AS v
    UNION ALL
    SELECT
        l.agent,
        l.dialect,
        FALSE AS is_answer,
        l.observed_at,
        l.fact_id
    FROM card_looks AS l
),

numbered AS (
    SELECT
        t.agent,
        t.dialect,
        t.is_answer,
        t.fact_id,
        row_number() OVER (PARTITION BY t.agent, t.is_answer ORDER BY t.observed_at, t.fact_id) AS nth
    FROM told AS t
),

summed AS (
    SELECT
        n.agent,
        bool_or(n.is_answer AND n.dialect = '0.1') AS answers_01,
        bool_or(n.is_answer AND n.dialect = '0.3') AS answers_03,
        bool_or(n.is_answer AND n.dialect = '1.0') AS answers_10,
        bool_or(NOT n.is_answer AND n.dialect = '0.1') AS declares_01,
        bool_or(NOT n.is_answer AND n.dialect IN ('0.3', '0.3+1.0')) AS declares_03,
        bool_or(NOT n.is_answer AND n.dialect IN ('1.0', '0.3+1.0')) AS declares_10,
        count(DISTINCT CASE WHEN n.is_answer THEN n.dialect END) AS answered,
        min(CASE WHEN n.is_answer THEN n.dialect END) AS one_answered,
        count(DISTINCT CASE WHEN NOT n.is_answer THEN n.dialect END) AS declared,
        min(CASE WHEN NOT n.is_answer THEN n.dialect END) AS one_declared,
        max(CASE WHEN n.is_answer AND n.nth = 1 THEN n.fact_id END) AS answer_fact_id,
        max(CASE WHEN NOT n.is_answer AND n.nth = 1 THEN n.fact_id END) AS card_fact_id
    FROM numbered AS n
    GROUP BY n.agent
)

SELECT
    s.agent,
    s.answers_01,
    s.answers_03,
    s.answers_10,
    s.declares_01,
    s.declares_03,
    s.declares_10,
    CASE WHEN s.answered = 1 THEN s.one_answered WHEN s.answered = 0 AND s.declared = 1 THEN s.one_declared ELSE '' END AS dialect,
    s.answered,
    coalesce(s.answer_fact_id, '') AS answer_fact_id,
    coalesce(s.card_fact_id, '') AS card_fact_id
FROM summed AS s
