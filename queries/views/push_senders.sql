-- title = "Agents and webhooks of which any delivery was ever seen"
-- by    = ["agent"]

SELECT
    d.agent,
    d.url AS webhook_url,
    bool_or(d.is_seen_by_sender) AS is_seen_by_sender,
    min(d.observed_at) AS first_at
FROM deliveries AS d
WHERE d.url <> ''
GROUP BY d.agent, d.url
