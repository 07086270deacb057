-- title = "Agents whose card was fetched without its body being recorded, and since when"
-- by    = ["agent"]
--
-- Somebody held a card then, and nobody here knows which. A 304 to a card that nobody saw before is one of these as well.

SELECT
    c.agent,
    min(c.observed_at) AS first_at
FROM cards AS c
WHERE
    c.body_sha256 = ''
    AND (coalesce(c.not_modified, FALSE) OR (c.http_status >= 200 AND c.http_status < 300))
GROUP BY c.agent
