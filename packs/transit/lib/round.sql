-- One ride more: from each station of the round before, the first place where a trip can be boarded, then all places
-- that it goes on to, then those within a walk of them.
UPDATE now SET round = round + 1;
INSERT INTO boarded
  SELECT x.trip, a.shift, min(x.seq), now.round
  FROM ask CROSS JOIN now CROSS JOIN reached AS r ON r.round = now.round - 1 LEFT JOIN changes AS c ON c.station = r.station
    CROSS JOIN active AS a CROSS JOIN stop_times AS x ON x.station = r.station AND x.service = a.service
      AND x.departs BETWEEN r.t + iif(r.round = 0, 0, max(ask.pause, coalesce(c.seconds, 0))) - a.shift
      AND min(ask.time + 86399, coalesce((SELECT t FROM best WHERE station = ask.b), 1e9)) - a.shift
  WHERE x.board
  GROUP BY x.trip, a.shift
  ON CONFLICT DO UPDATE SET seq = excluded.seq, round = excluded.round WHERE excluded.seq < seq;
-- Ahead of `best`: a walk that led to a station earlier is no reason not to walk on from a ride that ends there.
DELETE FROM ridden;
INSERT INTO ridden
  SELECT x.station, min(x.arrives + b.shift) AS t, b.trip, b.shift, b.seq, x.seq
  FROM ask CROSS JOIN now CROSS JOIN boarded AS b ON b.round = now.round
    CROSS JOIN stop_times AS x ON x.trip = b.trip AND x.seq > b.seq
    LEFT JOIN best AS goal ON goal.station = ask.b
  WHERE x.alight AND x.arrives + b.shift < coalesce(goal.t, 1e9)
  GROUP BY x.station;
INSERT INTO reached
  SELECT now.round, r.station, min(r.t), r.trip, r.shift, r.board, r.alight
  FROM now CROSS JOIN (SELECT * FROM ridden UNION ALL
      SELECT w.other, t + w.seconds, trip, shift, board, alight FROM ridden JOIN walks AS w USING (station)) AS r
    LEFT JOIN best ON best.station = r.station
  WHERE r.t < coalesce(best.t, 1e9)
  GROUP BY r.station;
INSERT INTO best SELECT r.station, r.t FROM now CROSS JOIN reached AS r ON r.round = now.round WHERE true
  ON CONFLICT DO UPDATE SET t = excluded.t WHERE excluded.t < t;
