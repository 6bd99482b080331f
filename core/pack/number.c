/* SPDX-License-Identifier: MIT */
#include "pack/number.h"

#include "base/json.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define TWO_63 9223372036854775808.0

static int sign(bool less, bool more)
{
	return (int)more - (int)less;
}

/* Rounding i to a double could make it equal to its neighbour. */
static int compare_mixed(json_int_t i, double d)
{
	double whole;
	int rc;

	if (d >= TWO_63)
		return -1;
	if (d < -TWO_63)
		return 1;
	whole = trunc(d);
	rc = sign(i<(json_int_t)whole, i>(json_int_t) whole);
	return rc ? rc : sign(whole<d, whole> d);
}

int number_compare(const json_t *a, const json_t *b)
{
	if (json_is_integer(a) && json_is_integer(b))
		return sign(json_integer_value(a) < json_integer_value(b),
			    json_integer_value(a) > json_integer_value(b));
	if (json_is_integer(a))
		return compare_mixed(json_integer_value(a), json_real_value(b));
	if (json_is_integer(b))
		return -compare_mixed(json_integer_value(b), json_real_value(a));
	return sign(json_real_value(a) < json_real_value(b),
		    json_real_value(a) > json_real_value(b));
}

bool number_is_whole(const json_t *n)
{
	return json_is_integer(n) ||
	       (json_is_real(n) && trunc(json_real_value(n)) == json_real_value(n));
}

/* digits * 10^exponent, without a sign and without zeros at the end of digits. */
struct decimal {
	uint64_t digits;
	long exponent;
};

static void trim(struct decimal *d)
{
	if (!d->digits)
		d->exponent = 0;
	while (d->digits && d->digits % 10 == 0) {
		d->digits /= 10;
		d->exponent++;
	}
}

/* A double has 17 digits at most, so they fit. */
static struct decimal decimal_of(const json_t *n)
{
	struct decimal d = {0};
	bool fraction = false;
	char text[40];

	if (json_is_integer(n)) {
		json_int_t i = json_integer_value(n);

		d.digits = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
		trim(&d);
		return d;
	}
	json_format_js(fabs(json_real_value(n)), text);
	for (const char *p = text; *p; p++) {
		if (*p == 'e') {
			d.exponent += strtol(p + 1, NULL, 10);
			break;
		}
		if (*p == '.') {
			fraction = true;
			continue;
		}
		if (d.digits > (UINT64_MAX - 9) / 10) {
			/* the zeros that write 2^70 out */
			d.exponent += !fraction;
			continue;
		}
		d.digits = d.digits * 10 + (uint64_t)(*p - '0');
		d.exponent -= fraction;
	}
	trim(&d);
	return d;
}

bool number_is_multiple(const json_t *n, const json_t *of)
{
	struct decimal a = decimal_of(n), b = decimal_of(of);
	uint64_t rest;

	if (!a.digits || !b.digits)
		return b.digits != 0;
	/* a's digits end in no zero: no power of ten is hidden in them */
	if (a.exponent < b.exponent)
		return false;
	rest = a.digits % b.digits;
	for (long e = a.exponent - b.exponent; e > 0 && rest; e--)
		rest = (uint64_t)((unsigned __int128)rest * 10 % b.digits);
	return rest == 0;
}
