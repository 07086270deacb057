-- title = "How many tasks of an agent ended in an hour, by the class of their duration"
-- by    = ["agent", "ended_hour"]

SELECT
    d.agent,
    d.ended_hour,
    d.duration_class,
    count(*) AS tasks
FROM task_durations AS d
GROUP BY d.agent, d.ended_hour, d.duration_class
