-- The number of a stop by its id, or of the only station of a name; else what is wrong with it.
CREATE TEMP TABLE hits AS SELECT DISTINCT station AS stop FROM stops, ask WHERE stops.name = ask.name COLLATE NOCASE;
SELECT coalesce((SELECT stop FROM stops WHERE stop_id = ask.name), CASE (SELECT count(*) FROM hits)
  WHEN 0 THEN 'no stop has the id or name ' || ask.name
  WHEN 1 THEN (SELECT stop FROM hits)
  ELSE 'several stops are called ' || ask.name || ', name one by its id: ' || (SELECT group_concat(stop_id, ', ')
    FROM (SELECT stop_id FROM hits JOIN stops USING (stop) ORDER BY stop_id LIMIT 10)) END)
FROM ask;
