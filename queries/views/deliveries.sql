-- title = "One row a webhook delivery, however many observers saw it"
-- by    = ["call_id"]
--
-- The url is the sender's where the sender's view is there: behind a proxy the receiver answers under another address. A receiver's answer that
-- any observer saw stands.

SELECT
    p.call_id,
    max(p.agent) AS agent,
    max(p.task_id) AS task_id,
    split_part(max(concat(
        CASE p.observer WHEN 'gateway' THEN '4' WHEN 'client' THEN '3' WHEN 'receiver' THEN '2' ELSE '1' END, ' ', p.url
    )), ' ', 2) AS url,
    max(p.config_id) AS config_id,
    max(p.http_status) AS http_status,
    max(p.failure_class) AS failure_class,
    max(p.scheme) AS scheme,
    max(p.kid) AS kid,
    max(p.signature) AS signature,
    bool_or(coalesce(p.token_present, FALSE)) AS token_present,
    max(p.state) AS state,
    max(p.payload) AS payload,
    min(p.observed_at) AS observed_at,
    min(p.fact_id) AS fact_id
FROM push_deliveries AS p
GROUP BY p.call_id
