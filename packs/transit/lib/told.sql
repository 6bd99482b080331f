-- What an import answers.
SELECT json_object('agency', agency, 'timezone', timezone,
  'stops', (SELECT count(*) FROM stops), 'routes', (SELECT count(*) FROM routes), 'trips', (SELECT count(*) FROM trips),
  'stop_times', (SELECT count(*) FROM stop_times), 'first_day', date(substr(first, 1, 4) || '-' || substr(first, 5, 2) ||
  '-' || substr(first, 7)), 'last_day', date(substr(last, 1, 4) || '-' || substr(last, 5, 2) || '-' || substr(last, 7)))
FROM feed, (SELECT min(first) AS first, max(last) AS last FROM
  (SELECT first, last FROM calendar UNION ALL SELECT day, day FROM exceptions WHERE runs));
