/* SPDX-License-Identifier: MIT */
/* Dates by eras of 400 years that begin on 1 March, so that a leap day is the last of its year.
 * gmtime_r and timegm would read the environment. */
#include "base/time.h"

#include <stdbool.h>
#include <stdio.h>

void time_civil(int64_t days, int *year, int *month, int *day)
{
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	*day = (int)(doy - (153 * mp + 2) / 5 + 1);
	*month = (int)(mp < 10 ? mp + 3 : mp - 9);
	*year = (int)(yoe + era * 400 + (*month <= 2));
}

static int64_t days_of(int year, int month, int day)
{
	int64_t y = year - (month <= 2), era = y / 400, yoe = y - era * 400;
	int64_t doy = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

#define FIRST INT64_C(-62135596800) /* 0001-01-01T00:00:00Z */
#define LAST  INT64_C(253402300799) /* 9999-12-31T23:59:59Z */

int time_format(int64_t seconds, char out[TIME_TEXT_SIZE])
{
	int64_t of_day = ((seconds % 86400) + 86400) % 86400;
	unsigned at = (unsigned)of_day;
	int year, month, day;

	out[0] = '\0';
	if (seconds < FIRST || seconds > LAST)
		return -1;
	time_civil((seconds - of_day) / 86400, &year, &month, &day);
	snprintf(out, TIME_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)year % 10000,
		 (unsigned)month % 100, (unsigned)day % 100, at / 3600 % 24, at / 60 % 60,
		 at % 60);
	return 0;
}

struct reader {
	const char *p, *end;
	bool failed;
};

static int number(struct reader *r, int width, int least, int most)
{
	int n = 0;

	for (int i = 0; i < width; i++, r->p++) {
		if (r->p == r->end || *r->p < '0' || *r->p > '9') {
			r->failed = true;
			return 0;
		}
		n = n * 10 + (*r->p - '0');
	}
	r->failed = r->failed || n < least || n > most;
	return n;
}

static bool next_is(struct reader *r, char a, char b)
{
	if (r->failed || r->p == r->end || (*r->p != a && *r->p != b))
		return false;
	r->p++;
	return true;
}

static void need(struct reader *r, char a, char b)
{
	r->failed = !next_is(r, a, b);
}

static int64_t fraction(struct reader *r)
{
	int64_t us = 0, unit = 100000;

	if (!next_is(r, '.', '.'))
		return 0;
	us = number(r, 1, 0, 9) * unit;
	for (; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
		unit /= 10;
		us += (*r->p - '0') * unit;
	}
	return us;
}

/* Seconds east of Greenwich. */
static int offset(struct reader *r)
{
	int sign, seconds;

	if (next_is(r, 'Z', 'z'))
		return 0;
	sign = next_is(r, '-', '-') ? -1 : 1;
	if (sign > 0)
		need(r, '+', '+');
	seconds = number(r, 2, 0, 23) * 3600;
	need(r, ':', ':');
	return sign * (seconds + number(r, 2, 0, 59) * 60);
}

static int days_in(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

int time_parse(const char *text, size_t len, int64_t *us)
{
	struct reader r = {text, text + len, false};
	int year, month, day, seconds;

	*us = 0;
	year = number(&r, 4, 1, 9999);
	need(&r, '-', '-');
	month = number(&r, 2, 1, 12);
	need(&r, '-', '-');
	day = number(&r, 2, 1, 31);
	need(&r, 'T', 't');
	seconds = number(&r, 2, 0, 23) * 3600;
	need(&r, ':', ':');
	seconds += number(&r, 2, 0, 59) * 60;
	need(&r, ':', ':');
	seconds += number(&r, 2, 0, 60); /* 60: a leap second, the next minute's first */
	*us = fraction(&r);
	seconds -= offset(&r);
	if (r.failed || r.p != r.end || day > days_in(year, month))
		return -1;
	*us += (days_of(year, month, day) * 86400 + seconds) * 1000000;
	return 0;
}
