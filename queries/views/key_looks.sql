-- title = "Keys of an agent as seen in key sets and signatures"
-- by    = ["agent"]
--
-- The address of the key set is `key_url` here, so that it is not taken for a webhook's.

SELECT
    k.agent,
    k.url AS key_url,
    k.client,
    k.observer,
    k.origin,
    k.kid,
    k.thumbprint,
    k.observed_at,
    k.fact_id
FROM signing_keys AS k
WHERE k.kid <> ''
