-- title = "One row a webhook delivery, however many observers saw it"
-- by    = ["call_id"]
--
-- The url is the sender's where the sender's view is there: behind a proxy the receiver answers under another address. A receiver's answer that
-- any observer saw stands, and a sender's missing answer gives way to it. `headers_seen`: whether anyone saw the headers, so that an empty
-- scheme means none was sent. `receiver`: who took it, by its own tap.

SELECT
    p.call_id,
    max(p.agent) AS agent,
    max(p.task_id) AS task_id,
    split_part(max(concat(
        CASE p.observer WHEN 'gateway' THEN '4' WHEN 'client' THEN '3' WHEN 'receiver' THEN '2' ELSE '1' END, ' ', p.url
    )), ' ', 2) AS url,
    max(p.config_id) AS config_id,
    max(p.http_status) AS http_status,
    CASE
        WHEN max(p.http_status) IS NULL THEN max(p.failure_class)
        ELSE max(CASE WHEN p.http_status IS NULL THEN '' ELSE p.failure_class END)
    END AS failure_class,
    max(p.scheme) AS scheme,
    max(p.kid) AS kid,
    split_part(max(concat(
        CASE p.signature WHEN 'invalid' THEN '4' WHEN 'valid' THEN '3' WHEN 'absent' THEN '2' WHEN 'unknown' THEN '1' ELSE '0' END,
        ' ',
        p.signature
    )), ' ', 2) AS signature,
    bool_or(coalesce(p.token_present, FALSE)) AS token_present,
    bool_or(p.token_present IS NOT NULL OR p.scheme <> '') AS headers_seen,
    max(p.state) AS state,
    max(p.payload) AS payload,
    max(CASE WHEN p.observer = 'receiver' THEN p.client ELSE '' END) AS receiver,
    bool_or(p.observer <> 'receiver') AS is_seen_by_sender,
    bool_or(p.observer = 'server') AS is_seen_by_agent,
    min(p.observed_at) AS observed_at,
    max(p.observed_at) AS last_at,
    min(p.fact_id) AS fact_id
FROM push_deliveries AS p
GROUP BY p.call_id
