-- The columns that are read, all text, in a database of the feed's files as they came. What is optional and isn't
-- there becomes an empty table or column, so that what follows needn't ask.
CREATE TABLE wanted(file TEXT, col TEXT, required INTEGER);
INSERT INTO wanted VALUES
  ('agency', 'agency_name', 1), ('agency', 'agency_timezone', 1),
  ('stops', 'stop_id', 1), ('stops', 'stop_code', 0), ('stops', 'stop_name', 0), ('stops', 'stop_lat', 0),
  ('stops', 'stop_lon', 0), ('stops', 'location_type', 0), ('stops', 'parent_station', 0), ('stops', 'platform_code', 0),
  ('routes', 'route_id', 1), ('routes', 'route_short_name', 0), ('routes', 'route_long_name', 0), ('routes', 'route_type', 1),
  ('trips', 'trip_id', 1), ('trips', 'route_id', 1), ('trips', 'service_id', 1), ('trips', 'trip_headsign', 0),
  ('trips', 'trip_short_name', 0),
  ('stop_times', 'trip_id', 1), ('stop_times', 'stop_id', 1), ('stop_times', 'stop_sequence', 1),
  ('stop_times', 'arrival_time', 1), ('stop_times', 'departure_time', 1), ('stop_times', 'pickup_type', 0),
  ('stop_times', 'drop_off_type', 0),
  ('calendar', 'service_id', 1), ('calendar', 'monday', 1), ('calendar', 'tuesday', 1), ('calendar', 'wednesday', 1),
  ('calendar', 'thursday', 1), ('calendar', 'friday', 1), ('calendar', 'saturday', 1), ('calendar', 'sunday', 1),
  ('calendar', 'start_date', 1), ('calendar', 'end_date', 1),
  ('calendar_dates', 'service_id', 1), ('calendar_dates', 'date', 1), ('calendar_dates', 'exception_type', 1),
  ('frequencies', 'trip_id', 1), ('frequencies', 'start_time', 1), ('frequencies', 'end_time', 1),
  ('frequencies', 'headway_secs', 1),
  ('transfers', 'from_stop_id', 0), ('transfers', 'to_stop_id', 0), ('transfers', 'transfer_type', 0),
  ('transfers', 'min_transfer_time', 0);

-- A header may differ in case and have spaces around it.
CREATE VIEW found AS
  SELECT w.file, w.col, w.required, t.name IS NOT NULL AS has_file,
    (SELECT c.name FROM pragma_table_info(w.file) AS c WHERE lower(trim(c.name)) = w.col LIMIT 1) AS name
  FROM wanted AS w LEFT JOIN sqlite_schema AS t ON t.name = w.file AND t.type = 'table';

CREATE VIEW missing AS
  SELECT file || '.txt isn''t there' AS text FROM found
    WHERE NOT has_file AND file IN ('agency', 'stops', 'routes', 'trips', 'stop_times')
  UNION ALL
  SELECT 'neither calendar.txt nor calendar_dates.txt is there'
    WHERE NOT EXISTS (SELECT * FROM found WHERE has_file AND file IN ('calendar', 'calendar_dates'))
  UNION ALL
  SELECT file || '.txt: column ' || col || ' isn''t there' FROM found WHERE has_file AND required AND name IS NULL;

-- Names and ids are short; nobody would want what isn't.
CREATE TABLE long(text);
CREATE VIEW repair AS
  SELECT DISTINCT printf('CREATE TABLE %s(%s);', file,
    (SELECT group_concat(w.col) FROM wanted AS w WHERE w.file = found.file)) AS text FROM found WHERE NOT has_file
  UNION ALL
  SELECT printf('ALTER TABLE %s ADD COLUMN %s;', file, col) FROM found WHERE has_file AND name IS NULL
  UNION ALL
  SELECT printf('ALTER TABLE %s RENAME COLUMN "%w" TO %s;', file, name, col) FROM found WHERE has_file AND name <> col
  UNION ALL
  SELECT printf('INSERT INTO long SELECT ''%s.txt: row '' || rowid || '': %s is over 4096 characters'' FROM %s ' ||
    'WHERE length(%s) > 4096 LIMIT 1;', file, col, file, col) FROM wanted;

SELECT text FROM missing LIMIT 1;
