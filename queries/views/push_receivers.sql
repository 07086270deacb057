-- title = "Webhooks at which any delivery was ever seen, whoever sent it"
-- by    = ["url"]

SELECT
    d.url,
    min(d.observed_at) AS first_at
FROM deliveries AS d
WHERE d.url <> ''
GROUP BY d.url
