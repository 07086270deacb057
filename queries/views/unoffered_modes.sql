-- title = "Messages refused for a mode that the card does not offer for their skill"
-- by    = ["agent", "call_key"]
--
-- What such a message accepts is outside the output modes of its skill in the card that the caller acted on: the refusal is no contradiction.

WITH wanted AS (
    SELECT
        c.agent,
        c.call_key,
        unnest(string_to_array(c.accepted_modes, ' ')) AS mode
    FROM calls AS c
    INNER JOIN capability_failures AS f ON c.agent = f.agent AND c.call_key = f.call_key
    WHERE f.about = 'mode' AND c.accepted_modes <> ''
),

families AS (
    SELECT
        w.agent,
        w.call_key,
        w.mode,
        split_part(w.mode, '/', 1) AS family
    FROM wanted AS w
),

asked AS (
    SELECT
        s.agent,
        s.call_key,
        s.skill_id,
        s.basic_body,
        s.extended_body,
        s.negotiated_body
    FROM send_cards AS s
    WHERE s.skill_id <> '' AND EXISTS (SELECT 1 FROM families AS w WHERE w.agent = s.agent AND w.call_key = s.call_key)
),

bodies AS (
    SELECT
        a.agent,
        a.call_key,
        a.skill_id,
        a.basic_body AS body_sha256
    FROM asked AS a
    UNION ALL
    SELECT
        a.agent,
        a.call_key,
        a.skill_id,
        a.extended_body AS body_sha256
    FROM asked AS a
    UNION ALL
    SELECT
        a.agent,
        a.call_key,
        a.skill_id,
        a.negotiated_body AS body_sha256
    FROM asked AS a
),

offered AS (
    SELECT
        b.agent,
        b.call_key,
        m.mode,
        split_part(m.mode, '/', 1) AS family
    FROM bodies AS b
    INNER JOIN card_modes AS m ON b.body_sha256 = m.body_sha256 AND b.skill_id = m.skill_id
    WHERE b.body_sha256 <> ''
),

known AS (
    SELECT
        o.agent,
        o.call_key
    FROM offered AS o
    GROUP BY o.agent, o.call_key
),

met AS (
    SELECT
        w.agent,
        w.call_key
    FROM families AS w
    INNER JOIN offered AS o ON w.agent = o.agent AND w.call_key = o.call_key
    WHERE
        w.mode = o.mode
        OR '*/*' IN (w.mode, o.mode) OR '*' IN (w.mode, o.mode)
        OR (w.family = o.family AND (w.mode = concat(w.family, '/*') OR o.mode = concat(o.family, '/*')))
        OR (w.family = 'text' AND o.family = 'text' AND 'text' IN (w.mode, o.mode))
        OR ('data' IN (w.mode, o.mode) AND 'application/json' IN (w.mode, o.mode))
        OR 'file' IN (w.mode, o.mode)
    GROUP BY w.agent, w.call_key
)

SELECT
    f.agent,
    f.call_key
FROM families AS f
INNER JOIN known AS k ON f.agent = k.agent AND f.call_key = k.call_key
WHERE NOT EXISTS (SELECT 1 FROM met AS m WHERE m.agent = f.agent AND m.call_key = f.call_key)
GROUP BY f.agent, f.call_key
