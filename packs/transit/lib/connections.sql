-- Earliest arrivals by rounds: round n knows, for each station, the earliest time that n rides lead there, where that is
-- earlier than with fewer. `best` is the earliest of all rounds, `boarded` where each trip can be boarded first,
-- `ridden` where this round's rides lead.
CREATE TEMP TABLE now(round INTEGER);
INSERT INTO now VALUES (0);
CREATE TEMP TABLE best(station INTEGER PRIMARY KEY, t INTEGER);
CREATE TEMP TABLE ridden(station INTEGER PRIMARY KEY, t INTEGER, trip INTEGER, shift INTEGER, board INTEGER, alight INTEGER);
CREATE TEMP TABLE boarded(trip INTEGER, shift INTEGER, seq INTEGER, round INTEGER, PRIMARY KEY (trip, shift)) WITHOUT ROWID;
-- got there by the ride `trip` from `board` to `alight`, and on foot where that isn't at this station
CREATE TEMP TABLE reached(round INTEGER, station INTEGER, t INTEGER, trip INTEGER, shift INTEGER, board INTEGER,
  alight INTEGER, PRIMARY KEY (round, station)) WITHOUT ROWID;
INSERT INTO reached(round, station, t) SELECT 0, a, time FROM ask;
INSERT INTO reached(round, station, t) SELECT 0, other, time + seconds FROM ask JOIN walks ON station = a;
INSERT INTO best SELECT station, t FROM reached;
