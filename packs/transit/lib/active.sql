-- The services that run on the day that is asked for (shift 0), the days before whose trips still run then, and the
-- next one, which may begin within the 24 hours that are looked at. A time of a trip is `shift` seconds off the day's.
CREATE TEMP TABLE active AS
  WITH RECURSIVE shifts(n) AS (SELECT -days FROM feed UNION ALL SELECT n + 1 FROM shifts WHERE n < 1),
    on_days AS (SELECT n * 86400 AS shift, strftime('%Y%m%d', date, n || ' days') AS day,
      strftime('%w', date, n || ' days') + 1 AS weekday FROM shifts, ask)
  SELECT d.shift, c.service FROM on_days AS d JOIN calendar AS c
    ON d.day BETWEEN c.first AND c.last AND substr(c.week, d.weekday, 1) = '1'
    WHERE NOT EXISTS (SELECT * FROM exceptions AS e WHERE e.day = d.day AND e.service = c.service AND NOT e.runs)
  UNION
  SELECT d.shift, e.service FROM on_days AS d JOIN exceptions AS e ON e.day = d.day AND e.runs;
