-- What leaves a station, or one stop of it, within 24 hours.
CREATE TEMP TABLE page AS
  SELECT x.trip, x.stop, x.departs + a.shift AS t
  FROM ask CROSS JOIN stops AS s ON s.stop = ask.stop CROSS JOIN active AS a
    CROSS JOIN stop_times AS x ON x.station = s.station AND x.service = a.service
      AND x.departs BETWEEN ask.time - a.shift AND ask.time + 86399 - a.shift
  WHERE x.board AND (x.stop = s.stop OR s.station = s.stop)
  ORDER BY t, x.trip LIMIT (SELECT size + 1 FROM ask);
CREATE TEMP TABLE told AS
  SELECT json_object('time', strftime('%Y-%m-%dT%H:%M:%S', date, t || ' seconds'), 'route', r.name, 'headsign', tr.headsign,
      'stop_id', s.stop_id, 'platform', s.platform, 'route_id', r.route_id, 'trip_id', tr.trip_id) AS line
    FROM ask, page AS p JOIN trips AS tr USING (trip) JOIN routes AS r USING (route) JOIN stops AS s ON s.stop = p.stop
    ORDER BY t, trip;
SELECT json_object('stop', (SELECT json_object('stop_id', stop_id, 'name', name) FROM stops WHERE stops.stop = ask.stop),
  'departures', (SELECT json_group_array(json(line)) FROM (SELECT line FROM told ORDER BY rowid LIMIT (SELECT size FROM ask))),
  'more', json(iif((SELECT count(*) FROM told) > size, 'true', 'false')))
FROM ask;
