-- From the feed's files, which are judged, to the tables that queries read. Times are seconds since the midnight
-- that begins the day of service, and may lie beyond its end. It prints what only the whole can show to be wrong.
ATTACH 'raw.db' AS raw;
BEGIN;

CREATE TABLE stops(stop INTEGER PRIMARY KEY, stop_id TEXT NOT NULL UNIQUE, code TEXT, name TEXT, platform TEXT,
  lat REAL, lon REAL, kind INTEGER NOT NULL, parent INTEGER, station INTEGER);
INSERT INTO stops SELECT s.rowid, s.stop_id, nullif(s.stop_code, ''), nullif(s.stop_name, ''), nullif(s.platform_code, ''),
    nullif(s.stop_lat, ''), nullif(s.stop_lon, ''), CAST(coalesce(s.location_type, '') AS INTEGER), p.rowid, NULL
  FROM raw.stops AS s LEFT JOIN raw.stops AS p ON p.stop_id = s.parent_station AND s.parent_station <> '';
-- a boarding area's parent is a platform, whose parent is the station
UPDATE stops SET station = coalesce((SELECT coalesce(p.parent, p.stop) FROM stops AS p WHERE p.stop = stops.parent), stop);
CREATE INDEX stops_station ON stops(station);

CREATE TABLE routes(route INTEGER PRIMARY KEY, route_id TEXT NOT NULL UNIQUE, name TEXT, type INTEGER NOT NULL);
INSERT INTO routes SELECT rowid, route_id, coalesce(nullif(route_short_name, ''), nullif(route_long_name, '')),
    CAST(coalesce(route_type, '') AS INTEGER) FROM raw.routes;

CREATE TABLE services(service INTEGER PRIMARY KEY, service_id TEXT NOT NULL UNIQUE);
INSERT INTO services(service_id) SELECT service_id FROM raw.calendar UNION SELECT service_id FROM raw.calendar_dates;
-- `week` begins with Sunday, as strftime's %w does
CREATE TABLE calendar(service INTEGER NOT NULL, first TEXT NOT NULL, last TEXT NOT NULL, week TEXT NOT NULL);
INSERT INTO calendar SELECT service, start_date, end_date,
    sunday || monday || tuesday || wednesday || thursday || friday || saturday
  FROM raw.calendar JOIN services USING (service_id);
CREATE TABLE exceptions(day TEXT, service INTEGER, runs INTEGER NOT NULL, PRIMARY KEY (day, service)) WITHOUT ROWID;
INSERT OR IGNORE INTO exceptions SELECT date, service, exception_type = '1'
  FROM raw.calendar_dates JOIN services USING (service_id);

-- a trip of no service never runs
CREATE TABLE trips(trip INTEGER PRIMARY KEY, trip_id TEXT NOT NULL, route INTEGER NOT NULL, service INTEGER NOT NULL,
  headsign TEXT, name TEXT);
INSERT INTO trips SELECT t.rowid, t.trip_id, r.route, s.service, nullif(t.trip_headsign, ''), nullif(t.trip_short_name, '')
  FROM raw.trips AS t JOIN routes AS r USING (route_id) JOIN services AS s USING (service_id);

CREATE TABLE stop_times(trip INTEGER, seq INTEGER, stop INTEGER NOT NULL, station INTEGER NOT NULL,
  service INTEGER NOT NULL, arrives INTEGER, departs INTEGER, board INTEGER NOT NULL, alight INTEGER NOT NULL,
  PRIMARY KEY (trip, seq)) WITHOUT ROWID;
CREATE TEMP VIEW seconds AS
  SELECT trip_id, stop_id, stop_sequence, pickup_type, drop_off_type,
    CASE WHEN a <> '' THEN CAST(a AS INTEGER) * 3600 + substr(a, -5, 2) * 60 + substr(a, -2) END AS a,
    CASE WHEN d <> '' THEN CAST(d AS INTEGER) * 3600 + substr(d, -5, 2) * 60 + substr(d, -2) END AS d
  FROM (SELECT *, trim(arrival_time) AS a, trim(departure_time) AS d FROM raw.stop_times);
INSERT INTO stop_times SELECT t.trip, CAST(x.stop_sequence AS INTEGER) AS seq, s.stop, s.station, t.service,
    coalesce(x.a, x.d), coalesce(x.d, x.a), coalesce(x.pickup_type, '') <> '1', coalesce(x.drop_off_type, '') <> '1'
  FROM seconds AS x JOIN raw.trips AS r ON r.trip_id = x.trip_id JOIN trips AS t ON t.trip = r.rowid
    JOIN stops AS s ON s.stop_id = x.stop_id
  ORDER BY t.trip, seq;

-- a stop without a time lies evenly between those around it; at an end of its trip it isn't served
WITH numbered AS (SELECT trip, seq, arrives, departs, row_number() OVER (PARTITION BY trip ORDER BY seq) AS n
    FROM stop_times WHERE trip IN (SELECT trip FROM stop_times WHERE arrives IS NULL)),
  around AS (SELECT trip, seq, n, arrives,
      max(departs) OVER before AS t0, max(iif(departs IS NULL, NULL, n)) OVER before AS n0,
      min(arrives) OVER after AS t1, min(iif(arrives IS NULL, NULL, n)) OVER after AS n1
    FROM numbered WINDOW before AS (PARTITION BY trip ORDER BY seq),
      after AS (PARTITION BY trip ORDER BY seq ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING))
UPDATE stop_times SET arrives = t0 + (t1 - t0) * (n - n0) / (n1 - n0), departs = t0 + (t1 - t0) * (n - n0) / (n1 - n0)
  FROM around AS a WHERE a.trip = stop_times.trip AND a.seq = stop_times.seq AND a.arrives IS NULL;
DELETE FROM stop_times WHERE arrives IS NULL;

UPDATE stop_times SET board = 0 WHERE (trip, seq) IN (SELECT trip, max(seq) FROM stop_times GROUP BY trip);
UPDATE stop_times SET alight = 0 WHERE (trip, seq) IN (SELECT trip, min(seq) FROM stop_times GROUP BY trip);

-- a trip of frequencies.txt is a pattern: each of its runs becomes a trip
CREATE TEMP TABLE runs AS
  WITH RECURSIVE
    every AS (SELECT r.rowid AS trip, CAST(f.headway_secs AS INTEGER) AS headway,
        CAST(s AS INTEGER) * 3600 + substr(s, -5, 2) * 60 + substr(s, -2) AS at,
        CAST(e AS INTEGER) * 3600 + substr(e, -5, 2) * 60 + substr(e, -2) AS until
      FROM (SELECT *, trim(start_time) AS s, trim(end_time) AS e FROM raw.frequencies) AS f
        JOIN raw.trips AS r ON r.trip_id = f.trip_id),
    run(trip, at, headway, until) AS (SELECT trip, at, headway, until FROM every WHERE at < until
      UNION ALL SELECT trip, at + headway, headway, until FROM run WHERE at + headway < until)
  SELECT trip AS pattern, at, row_number() OVER () + (SELECT max(rowid) FROM raw.trips) AS trip FROM run;
INSERT INTO trips SELECT r.trip, t.trip_id, t.route, t.service, t.headsign, t.name
  FROM runs AS r JOIN trips AS t ON t.trip = r.pattern;
INSERT INTO stop_times SELECT r.trip, x.seq, x.stop, x.station, x.service, x.arrives + r.at - f.first,
    x.departs + r.at - f.first, x.board, x.alight
  FROM runs AS r JOIN (SELECT trip, min(departs) AS first FROM stop_times GROUP BY trip) AS f ON f.trip = r.pattern
    JOIN stop_times AS x ON x.trip = r.pattern;
DELETE FROM stop_times WHERE trip IN (SELECT pattern FROM runs);
DELETE FROM trips WHERE trip IN (SELECT pattern FROM runs);

CREATE INDEX stop_times_departs ON stop_times(station, service, departs);

-- ways between stations, and how long a change at a station takes where the feed says so
CREATE TEMP TABLE ways AS
  SELECT a.station AS a, b.station AS b, CAST(coalesce(min_transfer_time, '') AS INTEGER) AS seconds
  FROM raw.transfers JOIN stops AS a ON a.stop_id = from_stop_id JOIN stops AS b ON b.stop_id = to_stop_id
  WHERE coalesce(transfer_type, '') IN ('', '0', '1', '2');
CREATE TABLE walks(station INTEGER, other INTEGER, seconds INTEGER NOT NULL, PRIMARY KEY (station, other)) WITHOUT ROWID;
INSERT INTO walks SELECT a, b, min(seconds) FROM ways WHERE a <> b GROUP BY a, b;
CREATE TABLE changes(station INTEGER PRIMARY KEY, seconds INTEGER NOT NULL);
INSERT INTO changes SELECT a, max(seconds) FROM ways WHERE a = b AND seconds > 0 GROUP BY a;

CREATE TABLE feed(agency TEXT, timezone TEXT NOT NULL, days INTEGER NOT NULL);
INSERT INTO feed SELECT agency_name, agency_timezone, coalesce((SELECT max(departs) / 86400 FROM stop_times), 0)
  FROM raw.agency WHERE agency_timezone <> '' LIMIT 1;
COMMIT;
PRAGMA optimize;

SELECT 'stop_times.txt: trip ' || substr(trip_id, 1, 80) || ' goes back in time at stop_sequence ' || seq
  FROM (SELECT trip, seq, arrives, departs, lag(departs) OVER (PARTITION BY trip ORDER BY seq) AS before FROM stop_times)
    JOIN trips USING (trip)
  WHERE departs < arrives OR arrives < before LIMIT 1;
