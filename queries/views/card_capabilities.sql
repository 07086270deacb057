-- title = "Capabilities that a card body advertises"
-- by    = ["body_sha256"]

SELECT
    c.body_sha256,
    bool_or(coalesce(c.streaming, FALSE)) AS streaming,
    bool_or(coalesce(c.push_notifications, FALSE)) AS push_notifications
FROM cards AS c
WHERE c.body_sha256 <> ''
GROUP BY c.body_sha256
