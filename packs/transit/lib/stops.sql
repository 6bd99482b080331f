-- Stations, and stops that have none, whose name or that of a stop of theirs holds every word that is asked for.
WITH RECURSIVE words(word, rest) AS (
    SELECT '', lower(trim(name)) || ' ' FROM ask
    UNION ALL SELECT substr(rest, 1, instr(rest, ' ') - 1), ltrim(substr(rest, instr(rest, ' ') + 1)) FROM words WHERE rest <> ''),
  named AS (SELECT DISTINCT station FROM stops WHERE kind IN (0, 1, 4)
    AND NOT EXISTS (SELECT * FROM words WHERE instr(lower(coalesce(name, '')), word) = 0)),
  page AS (SELECT s.*, row_number() OVER (ORDER BY length(s.name), s.name, s.stop_id) AS n
    FROM named AS d JOIN stops AS s ON s.stop = d.station)
SELECT json_object(
  'stops', (SELECT json_group_array(json_object('stop_id', stop_id, 'name', name, 'code', code, 'lat', lat, 'lon', lon,
      'platforms', (SELECT count(*) FROM stops AS s WHERE s.station = page.stop AND s.kind = 0 AND s.stop <> page.stop)))
    FROM (SELECT * FROM page, ask WHERE n <= size ORDER BY n) AS page),
  'more', json(iif((SELECT count(*) FROM page) > size, 'true', 'false')))
FROM ask;
