-- The ways to the goal, back from each round that reached it, told as the stations that they lead through, in order.
CREATE TEMP TABLE way AS
  WITH RECURSIVE back AS (
    SELECT round AS rides, * FROM reached WHERE station = (SELECT b FROM ask)
    UNION ALL
    SELECT back.rides, r.* FROM back JOIN stop_times AS x ON x.trip = back.trip AND x.seq = back.board
      JOIN reached AS r ON r.round = back.round - 1 AND r.station = x.station)
  SELECT * FROM back;
CREATE TEMP VIEW places AS
  SELECT stop, json_object('stop_id', stop_id, 'name', name, 'platform', platform) AS place FROM stops;
CREATE TEMP VIEW clock AS
  SELECT w.*, x.stop AS on_stop, y.stop AS off_stop, y.station AS off_station,
    strftime('%Y-%m-%dT%H:%M:%S', date, t || ' seconds') AS here_at,
    strftime('%Y-%m-%dT%H:%M:%S', date, (x.departs + shift) || ' seconds') AS on_at,
    strftime('%Y-%m-%dT%H:%M:%S', date, (y.arrives + shift) || ' seconds') AS off_at
  FROM ask CROSS JOIN way AS w LEFT JOIN stop_times AS x ON x.trip = w.trip AND x.seq = w.board
    LEFT JOIN stop_times AS y ON y.trip = w.trip AND y.seq = w.alight;
CREATE TEMP TABLE told AS
  SELECT json_object('rides', w.rides, 'round', w.round, 'place', json(here.place), 'time', here_at,
      'walked', json(iif(w.station = coalesce(off_station, a), 'false', 'true')),
      'ride', json(iif(w.trip IS NULL, 'null', json_object('kind', 'ride', 'route', ro.name, 'headsign', tr.headsign,
        'trip_id', tr.trip_id, 'from', json(p.place), 'departs', on_at, 'to', json(q.place), 'arrives', off_at)))) AS line
  FROM ask CROSS JOIN clock AS w JOIN places AS here ON here.stop = w.station
    LEFT JOIN places AS p ON p.stop = on_stop LEFT JOIN places AS q ON q.stop = off_stop
    LEFT JOIN trips AS tr ON tr.trip = w.trip LEFT JOIN routes AS ro ON ro.route = tr.route
  ORDER BY w.rides, w.round;
SELECT json_object('from', (SELECT json(place) FROM places WHERE stop = a), 'to', (SELECT json(place) FROM places WHERE stop = b),
  'since', strftime('%Y-%m-%dT%H:%M:%S', date, time || ' seconds'),
  'way', (SELECT json_group_array(json(line)) FROM (SELECT line FROM told ORDER BY rowid)))
FROM ask;
