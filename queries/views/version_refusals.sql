-- title = "Calls that an agent refused for their version or vocabulary"
-- by    = ["agent", "call_key"]
--
-- `why`: `version` (the declared version), `method` (a name of A2A that the agent does not know), `spelling` (a word spelled as another dialect
-- does).

SELECT
    c.agent,
    c.call_key,
    c.client,
    c.operation,
    c.operation_raw,
    c.dialect,
    c.declared_version,
    c.error_code,
    CASE
        WHEN c.error_reason = 'VERSION_NOT_SUPPORTED' THEN 'version'
        WHEN c.error_code IN (-32601, -32600) OR c.error_reason IN ('METHOD_NOT_FOUND', 'UNIMPLEMENTED') THEN 'method'
        ELSE 'spelling'
    END AS why,
    c.observed_at,
    c.fact_id
FROM calls AS c
WHERE c.outcome = 'version'
