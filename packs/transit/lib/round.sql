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
INSERT INTO reached
  SELECT now.round, x.station, min(x.arrives + b.shift) AS t, b.trip, b.shift, b.seq, x.seq
  FROM ask CROSS JOIN now CROSS JOIN boarded AS b ON b.round = now.round
    CROSS JOIN stop_times AS x ON x.trip = b.trip AND x.seq > b.seq
    LEFT JOIN best ON best.station = x.station LEFT JOIN best AS goal ON goal.station = ask.b
  WHERE x.alight AND x.arrives + b.shift < coalesce(best.t, 1e9) AND x.arrives + b.shift < coalesce(goal.t, 1e9)
  GROUP BY x.station;
INSERT INTO reached
  SELECT r.round, w.other, min(r.t + w.seconds) AS t, r.trip, r.shift, r.board, r.alight
  FROM ask CROSS JOIN now CROSS JOIN reached AS r ON r.round = now.round CROSS JOIN walks AS w ON w.station = r.station
    LEFT JOIN best ON best.station = w.other LEFT JOIN best AS goal ON goal.station = ask.b
  WHERE r.t + w.seconds < coalesce(best.t, 1e9) AND r.t + w.seconds < coalesce(goal.t, 1e9)
  GROUP BY w.other
  ON CONFLICT DO UPDATE SET t = excluded.t, trip = excluded.trip, shift = excluded.shift, board = excluded.board,
    alight = excluded.alight WHERE excluded.t < t;
INSERT INTO best SELECT r.station, r.t FROM now CROSS JOIN reached AS r ON r.round = now.round WHERE true
  ON CONFLICT DO UPDATE SET t = excluded.t WHERE excluded.t < t;
