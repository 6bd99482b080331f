-- What is wrong with a feed, a sentence each; the first one refuses it. Afterwards every id is there once, every
-- reference leads somewhere, and every time, date and number is one.
CREATE INDEX stops_id ON stops(stop_id);
CREATE INDEX routes_id ON routes(route_id);
CREATE INDEX trips_id ON trips(trip_id);
CREATE TEMP TABLE problem(text);
CREATE TEMP VIEW clocks AS
  SELECT 'stop_times' AS file, rowid AS row, 'arrival_time' AS col, trim(arrival_time) AS t FROM stop_times
  UNION ALL SELECT 'stop_times', rowid, 'departure_time', trim(departure_time) FROM stop_times
  UNION ALL SELECT 'frequencies', rowid, 'start_time', coalesce(trim(start_time), '?') FROM frequencies
  UNION ALL SELECT 'frequencies', rowid, 'end_time', coalesce(trim(end_time), '?') FROM frequencies;
CREATE TEMP VIEW days AS
  SELECT 'calendar' AS file, rowid AS row, 'start_date' AS col, start_date AS d FROM calendar
  UNION ALL SELECT 'calendar', rowid, 'end_date', end_date FROM calendar
  UNION ALL SELECT 'calendar_dates', rowid, 'date', date FROM calendar_dates;
CREATE TEMP VIEW ids AS
  SELECT 'stops' AS file, rowid AS row, 'stop_id' AS col, stop_id AS id FROM stops
  UNION ALL SELECT 'routes', rowid, 'route_id', route_id FROM routes
  UNION ALL SELECT 'trips', rowid, 'trip_id', trip_id FROM trips;
CREATE TEMP VIEW refs AS
  SELECT 'trips' AS file, rowid AS row, 'route_id' AS col, route_id AS id FROM trips
    WHERE route_id IS NULL OR route_id NOT IN (SELECT route_id FROM routes)
  UNION ALL SELECT 'stop_times', rowid, 'trip_id', trip_id FROM stop_times
    WHERE trip_id IS NULL OR trip_id NOT IN (SELECT trip_id FROM trips)
  UNION ALL SELECT 'stop_times', rowid, 'stop_id', stop_id FROM stop_times
    WHERE stop_id IS NULL OR stop_id NOT IN (SELECT stop_id FROM stops)
  UNION ALL SELECT 'stops', rowid, 'parent_station', parent_station FROM stops
    WHERE parent_station <> '' AND parent_station NOT IN (SELECT stop_id FROM stops)
  UNION ALL SELECT 'frequencies', rowid, 'trip_id', trip_id FROM frequencies
    WHERE trip_id IS NULL OR trip_id NOT IN (SELECT trip_id FROM trips)
  UNION ALL SELECT 'transfers', rowid, 'from_stop_id', from_stop_id FROM transfers
    WHERE from_stop_id <> '' AND from_stop_id NOT IN (SELECT stop_id FROM stops)
  UNION ALL SELECT 'transfers', rowid, 'to_stop_id', to_stop_id FROM transfers
    WHERE to_stop_id <> '' AND to_stop_id NOT IN (SELECT stop_id FROM stops);

INSERT INTO problem SELECT text FROM long;
INSERT INTO problem
  SELECT file || '.txt: row ' || row || ': ' || col || ' is empty' FROM ids WHERE coalesce(id, '') = '' LIMIT 1;
INSERT INTO problem
  SELECT file || '.txt: ' || col || ' ' || substr(id, 1, 80) || ' is there twice' FROM ids
    GROUP BY file, id HAVING count(*) > 1 LIMIT 1;
INSERT INTO problem
  SELECT file || '.txt: row ' || row || ': ' || col || ' ' || substr(coalesce(id, ''), 1, 80) || ' is nowhere' FROM refs LIMIT 1;
INSERT INTO problem
  SELECT 'stop_times.txt: row ' || rowid || ': stop_sequence is no number' FROM stop_times
    WHERE coalesce(stop_sequence, '') = '' OR stop_sequence GLOB '*[^0-9]*' OR length(stop_sequence) > 9 LIMIT 1;
INSERT INTO problem
  SELECT 'stop_times.txt: stop_sequence ' || stop_sequence || ' of trip ' || substr(trip_id, 1, 80) || ' is there twice'
    FROM stop_times GROUP BY trip_id, CAST(stop_sequence AS INTEGER) HAVING count(*) > 1 LIMIT 1;
INSERT INTO problem
  SELECT file || '.txt: row ' || row || ': ' || col || ' ' || substr(t, 1, 80) || ' is no time' FROM clocks
    WHERE t <> '' AND t NOT GLOB '[0-9]:[0-5][0-9]:[0-5][0-9]' AND t NOT GLOB '[0-9][0-9]:[0-5][0-9]:[0-5][0-9]'
    AND t NOT GLOB '1[0-9][0-9]:[0-5][0-9]:[0-5][0-9]' LIMIT 1;
INSERT INTO problem
  SELECT 'frequencies.txt: row ' || rowid || ': headway_secs is no number above 0' FROM frequencies
    WHERE headway_secs IS NULL OR headway_secs GLOB '*[^0-9]*' OR CAST(headway_secs AS INTEGER) = 0 LIMIT 1;
INSERT INTO problem
  SELECT file || '.txt: row ' || row || ': ' || col || ' ' || substr(coalesce(d, ''), 1, 80) || ' is no date' FROM days
    WHERE d IS NULL OR d NOT GLOB '[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]'
    OR date(substr(d, 1, 4) || '-' || substr(d, 5, 2) || '-' || substr(d, 7), '0 days') IS NULL LIMIT 1;
INSERT INTO problem
  SELECT 'calendar.txt: row ' || rowid || ': a weekday is neither 0 nor 1' FROM calendar
    WHERE monday || tuesday || wednesday || thursday || friday || saturday || sunday
      NOT GLOB '[01][01][01][01][01][01][01]'
    OR monday || tuesday || wednesday || thursday || friday || saturday || sunday IS NULL LIMIT 1;
INSERT INTO problem
  SELECT 'calendar_dates.txt: row ' || rowid || ': exception_type is neither 1 nor 2' FROM calendar_dates
    WHERE exception_type IS NULL OR exception_type NOT IN ('1', '2') LIMIT 1;
INSERT INTO problem
  SELECT 'calendar_dates.txt: ' || date || ' is there twice for service ' || substr(service_id, 1, 80) FROM calendar_dates
    GROUP BY service_id, date HAVING count(DISTINCT exception_type) > 1 LIMIT 1;
INSERT INTO problem
  SELECT 'transfers.txt: row ' || rowid || ': min_transfer_time is no number of seconds' FROM transfers
    WHERE min_transfer_time GLOB '*[^0-9]*' OR length(min_transfer_time) > 6 LIMIT 1;
INSERT INTO problem
  SELECT 'agency.txt: row ' || rowid || ': agency_timezone is no time zone' FROM agency
    WHERE agency_timezone GLOB '*[^A-Za-z0-9_/+-]*' LIMIT 1;
INSERT INTO problem
  SELECT 'agency.txt: agency_timezone is empty' WHERE NOT EXISTS (SELECT * FROM agency WHERE agency_timezone <> '');

SELECT text FROM problem LIMIT 1;
