/* SPDX-License-Identifier: MIT */
/* Deflate (RFC 1951): blocks of symbols in Huffman codes, each a byte or "copy so many bytes
 * from so far back". Reads bit by bit, which is fast enough for what a person waits for, and
 * never reads or copies from outside of what it was given and has made. */
#include "base/inflate.h"

#include <string.h>

#define CODE_BITS   15
#define LENGTHS     288 /* symbols: bytes, the end, lengths */
#define DISTANCES   32
#define END         256
#define CRC_REVERSE 0xedb88320u

struct inflate {
	const unsigned char *in;
	size_t len, at;
	unsigned bits, held; /* bits taken from the input and not yet used, and how many */
	size_t limit;
	struct buf *out;
	const char *why; /* NULL: nothing is wrong */
	bool too_much;
};

/* How many codes there are of each length, and the symbols in the order of their codes. */
struct code {
	uint16_t count[CODE_BITS + 1], symbol[LENGTHS];
};

static int fail(struct inflate *f, const char *why)
{
	if (!f->why)
		f->why = why;
	return -1;
}

/* -1: there are no more. */
static int take_bits(struct inflate *f, unsigned n)
{
	unsigned value;

	while (f->held < n) {
		if (f->at == f->len)
			return fail(f, "it is cut short");
		f->bits |= (unsigned)f->in[f->at++] << f->held;
		f->held += 8;
	}
	value = f->bits & ((1u << n) - 1);
	f->bits >>= n;
	f->held -= n;
	return (int)value;
}

/* Room for n more bytes. */
static int allow(struct inflate *f, size_t n)
{
	if (n <= f->limit - f->out->len)
		return 0;
	f->too_much = true;
	return -1;
}

/* What is left of the codes of CODE_BITS bits: 0, complete; more, some mean nothing; less, some
 * mean two things. */
static int build(struct code *c, const uint8_t *lengths, unsigned n)
{
	uint16_t next[CODE_BITS + 1] = {0};
	int left = 1;

	memset(c, 0, sizeof(*c));
	for (unsigned i = 0; i < n; i++)
		c->count[lengths[i]]++;
	for (unsigned i = 1; i <= CODE_BITS; i++) {
		left = 2 * left - c->count[i];
		if (left < 0)
			return left;
		if (i < CODE_BITS)
			next[i + 1] = (uint16_t)(next[i] + c->count[i]);
	}
	for (unsigned i = 0; i < n; i++)
		if (lengths[i])
			c->symbol[next[lengths[i]]++] = (uint16_t)i;
	return left;
}

/* The codes of one length are numbers in a row, and shorter ones are beginnings of none. */
static int take_symbol(struct inflate *f, const struct code *c)
{
	int code = 0, first = 0, index = 0, bit;

	for (unsigned i = 1; i <= CODE_BITS; i++) {
		bit = take_bits(f, 1);
		if (bit < 0)
			return -1;
		code |= bit;
		if (code - first < c->count[i])
			return c->symbol[index + code - first];
		index += c->count[i];
		first = (first + c->count[i]) << 1;
		code <<= 1;
	}
	return fail(f, "it is damaged");
}

static int copy(struct inflate *f, size_t length, size_t distance)
{
	if (distance > f->out->len)
		return fail(f, "it is damaged");
	if (allow(f, length) < 0)
		return -1;
	/* byte by byte: what is copied may be what this copy makes */
	while (length-- && !f->out->failed)
		buf_putc(f->out, f->out->data[f->out->len - distance]);
	return 0;
}

static int take_copy(struct inflate *f, unsigned symbol, const struct code *distances)
{
	static const uint16_t base[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
					15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
					67, 83, 99, 115, 131, 163, 195, 227, 258};
	static const uint8_t extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
					2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
	int more, far, low;
	unsigned bits;

	symbol -= END + 1;
	if (symbol >= sizeof(extra))
		return fail(f, "it is damaged");
	more = take_bits(f, extra[symbol]);
	far = more < 0 ? -1 : take_symbol(f, distances);
	if (far < 0)
		return -1;
	if (far >= 30)
		return fail(f, "it is damaged");
	/* 1, 2, 3, 4, then each two as far apart as there are numbers in their extra bits */
	bits = far < 4 ? 0 : (unsigned)far / 2 - 1;
	low = take_bits(f, bits);
	if (low < 0)
		return -1;
	if (far >= 4)
		far = (2 + (far & 1)) << bits;
	return copy(f, base[symbol] + (size_t)more, (size_t)far + (size_t)low + 1);
}

static int take_symbols(struct inflate *f, const struct code *lengths,
			const struct code *distances)
{
	int symbol;

	while (!f->out->failed) {
		symbol = take_symbol(f, lengths);
		if (symbol < 0 || symbol == END)
			return symbol < 0 ? -1 : 0;
		if (symbol > END) {
			if (take_copy(f, (unsigned)symbol, distances) < 0)
				return -1;
		} else if (allow(f, 1) < 0) {
			return -1;
		} else {
			buf_putc(f->out, (char)symbol);
		}
	}
	return -1;
}

static int stored(struct inflate *f)
{
	size_t n;

	f->bits = f->held = 0; /* it begins at a whole byte */
	if (f->len - f->at < 4)
		return fail(f, "it is cut short");
	n = f->in[f->at] | (size_t)f->in[f->at + 1] << 8;
	if ((n ^ 0xffff) != (f->in[f->at + 2] | (size_t)f->in[f->at + 3] << 8))
		return fail(f, "it is damaged");
	f->at += 4;
	if (n > f->len - f->at)
		return fail(f, "it is cut short");
	if (allow(f, n) < 0)
		return -1;
	buf_add(f->out, f->in + f->at, n);
	f->at += n;
	return 0;
}

static int fixed(struct inflate *f)
{
	uint8_t lengths[LENGTHS];
	struct code symbols, distances;

	memset(lengths, 8, 144);
	memset(lengths + 144, 9, 112);
	memset(lengths + 256, 7, 24);
	memset(lengths + 280, 8, 8);
	build(&symbols, lengths, LENGTHS);
	memset(lengths, 5, DISTANCES);
	build(&distances, lengths, DISTANCES);
	return take_symbols(f, &symbols, &distances);
}

/* One or more lengths by one symbol: itself, the one before again, or zeros. */
static int take_lengths(struct inflate *f, const struct code *c, uint8_t *lengths, unsigned n)
{
	static const uint8_t least[] = {3, 3, 11}, bits[] = {2, 3, 7};
	unsigned done = 0;
	int symbol, more;

	while (done < n) {
		symbol = take_symbol(f, c);
		if (symbol < 0)
			return -1;
		if (symbol < 16) {
			lengths[done++] = (uint8_t)symbol;
			continue;
		}
		more = take_bits(f, bits[symbol - 16]);
		if (more < 0)
			return -1;
		more += least[symbol - 16];
		if ((unsigned)more > n - done || (symbol == 16 && !done))
			return fail(f, "it is damaged");
		memset(lengths + done, symbol == 16 ? lengths[done - 1] : 0, (size_t)more);
		done += (unsigned)more;
	}
	return 0;
}

/* A code that isn't complete is allowed where it has one symbol: nothing to tell apart. */
static bool usable(int left, const struct code *c, unsigned n)
{
	return left == 0 || (left > 0 && n - c->count[0] == c->count[1] && c->count[1] <= 1);
}

static int dynamic(struct inflate *f)
{
	static const uint8_t order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
					11, 4,  12, 3, 13, 2, 14, 1, 15};
	int symbols = take_bits(f, 5), distances = take_bits(f, 5), codes = take_bits(f, 4);
	uint8_t lengths[LENGTHS + DISTANCES] = {0};
	struct code a, b;
	int value;

	if (symbols < 0 || distances < 0 || codes < 0)
		return -1;
	symbols += END + 1;
	distances += 1;
	for (int i = 0; i < codes + 4; i++) {
		value = take_bits(f, 3);
		if (value < 0)
			return -1;
		lengths[order[i]] = (uint8_t)value;
	}
	if (symbols > 286 || distances > 30 || build(&a, lengths, sizeof(order)) != 0)
		return fail(f, "it is damaged");
	memset(lengths, 0, sizeof(lengths));
	if (take_lengths(f, &a, lengths, (unsigned)(symbols + distances)) < 0)
		return -1;
	if (!lengths[END] ||
	    !usable(build(&a, lengths, (unsigned)symbols), &a, (unsigned)symbols) ||
	    !usable(build(&b, lengths + symbols, (unsigned)distances), &b, (unsigned)distances))
		return fail(f, "it is damaged");
	return take_symbols(f, &a, &b);
}

static int blocks(struct inflate *f)
{
	static int (*const kinds[])(struct inflate *) = {stored, fixed, dynamic};
	int last, kind;

	do {
		last = take_bits(f, 1);
		kind = last < 0 ? -1 : take_bits(f, 2);
		if (kind == 3)
			return fail(f, "it is damaged");
		if (kind < 0 || kinds[kind](f) < 0)
			return -1;
	} while (!last);
	return 0;
}

/* ---- gzip ---- */

static int skip(struct inflate *f, size_t n)
{
	if (n > f->len - f->at)
		return fail(f, "it is cut short");
	f->at += n;
	return 0;
}

static int skip_text(struct inflate *f)
{
	const unsigned char *end = memchr(f->in + f->at, 0, f->len - f->at);

	return skip(f, end ? (size_t)(end - f->in) - f->at + 1 : SIZE_MAX);
}

static int head(struct inflate *f)
{
	enum { HEAD_CRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, UNKNOWN = 0xe0 };
	unsigned flags;

	if (f->len < 10)
		return fail(f, f->len ? "it is cut short" : "it is empty");
	if (memcmp(f->in, "\x1f\x8b\x08", 3) != 0 || f->in[3] & UNKNOWN)
		return fail(f, "it is no gzip file");
	flags = f->in[3];
	f->at = 10;
	if (flags & EXTRA &&
	    (skip(f, 2) < 0 || skip(f, f->in[f->at - 2] | (size_t)f->in[f->at - 1] << 8) < 0))
		return -1;
	if ((flags & NAME && skip_text(f) < 0) || (flags & COMMENT && skip_text(f) < 0))
		return -1;
	return flags & HEAD_CRC ? skip(f, 2) : 0;
}

static uint32_t word(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t checksum(const unsigned char *data, size_t len)
{
	uint32_t table[256], crc = 0xffffffffu;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] & 1 ? table[i] >> 1 ^ CRC_REVERSE : table[i] >> 1;
	}
	for (size_t i = 0; i < len; i++)
		crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static int tail(struct inflate *f)
{
	const unsigned char *made = (const unsigned char *)f->out->data;

	if (f->len - f->at < 8)
		return fail(f, "it is cut short");
	if (f->len - f->at > 8)
		return fail(f, "something follows its end");
	if (word(f->in + f->at) != checksum(made, f->out->len) ||
	    word(f->in + f->at + 4) != (uint32_t)f->out->len)
		return fail(f, "its checksum is wrong: it is damaged");
	return 0;
}

int inflate_gzip(const unsigned char *data, size_t len, size_t limit, struct buf *out,
		 struct hcp_err *err)
{
	struct inflate f = {.in = data, .len = len, .limit = limit, .out = out};

	if (head(&f) == 0 && blocks(&f) == 0 && !out->failed && tail(&f) == 0)
		return 0;
	if (out->failed)
		return hcp_fail_nomem(err);
	if (f.too_much)
		return hcp_fail(err, HCP_E_LIMIT, "it holds more than %zuM", limit >> 20);
	return hcp_fail(err, HCP_E_INVALID, "%s", f.why ? f.why : "it is damaged");
}
