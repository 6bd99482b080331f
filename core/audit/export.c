/* SPDX-License-Identifier: MIT */
/* Records for other programs: CSV for spreadsheets, OTLP/JSON for log collectors. Pure. Values
 * come from callers of commands, so a cell never begins as a formula would. */
#include "audit/inspect.h"

#include "base/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const audit_fields[] = {
    "seq",           "time",      "kind",        "run_id",       "parent_run_id",
    "face",          "uid",       "pid",         "session",      "principal",
    "tenant",        "project",   "pack",        "pack_version", "pack_digest",
    "policy_digest", "verb",      "args",        "mode",         "step",
    "error",         "exit_code", "signal",      "duration_us",  "bytes_out",
    "tier",          "layers",    "limits_held", "because",      "binding_id",
    "revoke_error",  "detail",    "prev",        "hash",         NULL,
};
#define FIELDS (sizeof(audit_fields) / sizeof(audit_fields[0]) - 1)

void audit_csv_header(struct buf *out)
{
	for (size_t i = 0; i < FIELDS; i++) {
		buf_puts(out, i ? "," : "");
		buf_puts(out, audit_fields[i]);
	}
	buf_puts(out, "\r\n");
}

static void add_cell(struct buf *out, const char *s, size_t len)
{
	buf_putc(out, '"');
	/* https://owasp.org/www-community/attacks/CSV_Injection */
	if (len > 0 && memchr("=+-@\t\r", s[0], 6))
		buf_putc(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (s[i] == '"')
			buf_putc(out, '"');
		buf_putc(out, s[i]);
	}
	buf_putc(out, '"');
}

/* Strings as they are, anything else as its JSON. */
static void add_text(struct buf *out, const json_t *v,
		     void (*add)(struct buf *, const char *, size_t))
{
	AUTO_BUF text = {0};

	if (json_is_string(v)) {
		add(out, json_string_value(v), json_string_length(v));
		return;
	}
	json_add_value(&text, v);
	if (text.failed)
		out->failed = true;
	else
		add(out, text.data, text.len);
}

void audit_csv_row(const json_t *record, struct buf *out)
{
	const json_t *v;

	for (size_t i = 0; i < FIELDS; i++) {
		buf_puts(out, i ? "," : "");
		v = json_object_get(record, audit_fields[i]);
		if (v)
			add_text(out, v, add_cell);
	}
	buf_puts(out, "\r\n");
}

static int64_t number_at(const char *s, size_t digits)
{
	int64_t n = 0;

	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (s[i] - '0');
	return n;
}

/* Nanoseconds since 1970 of a record's time; 0 where it is none. */
static int64_t unix_ns(const char *t)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";
	int64_t y, m, era, doy, days;

	if (!t || strlen(t) != sizeof(form) - 1)
		return 0;
	for (size_t i = 0; form[i]; i++)
		if (form[i] == 'd' ? t[i] < '0' || t[i] > '9' : t[i] != form[i])
			return 0;
	m = number_at(t + 5, 2);
	y = number_at(t, 4) - (m <= 2);
	era = y / 400;
	doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + number_at(t + 8, 2) - 1;
	y -= era * 400;
	days = era * 146097 + y * 365 + y / 4 - y / 100 + doy - 719468;
	/* past 2262 there are too many for 64 bits */
	if (days < 0 || days > 106751)
		return 0;
	return (((days * 24 + number_at(t + 11, 2)) * 60 + number_at(t + 14, 2)) * 60 +
		number_at(t + 17, 2)) *
		   1000000000 +
	       number_at(t + 20, 6) * 1000;
}

static void add_attribute(struct buf *out, const char *key, const json_t *v)
{
	buf_puts(out, ",{\"key\":\"hcp.");
	buf_puts(out, key);
	buf_puts(out, "\",\"value\":{");
	if (json_is_integer(v)) {
		/* 64-bit integers are strings in protobuf's JSON */
		buf_printf(out, "\"intValue\":\"%" JSON_INTEGER_FORMAT "\"",
			   json_integer_value(v));
	} else {
		buf_puts(out, "\"stringValue\":");
		add_text(out, v, json_add_string);
	}
	buf_puts(out, "}}");
}

static const char *text_of(const json_t *record, const char *key)
{
	const char *s = json_string_value(json_object_get(record, key));

	return s ? s : "";
}

static void add_body(struct buf *out, const json_t *record)
{
	const char *const parts[] = {text_of(record, "kind"), text_of(record, "pack"),
				     text_of(record, "verb"), text_of(record, "error")};
	AUTO_BUF text = {0};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (text.len > 0 && *parts[i])
			buf_puts(&text, i == 3 ? ": " : " ");
		buf_puts(&text, parts[i]);
	}
	out->failed |= text.failed;
	json_add_string(out, text.data ? text.data : "", text.len);
}

/* 9 is INFO and 13 WARN of OpenTelemetry's log data model. */
void audit_otel_line(const json_t *record, struct buf *out)
{
	bool refused = json_object_get(record, "error") != NULL;
	const char *time = json_string_value(json_object_get(record, "time"));
	const json_t *v;

	buf_printf(
	    out,
	    "{\"resourceLogs\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
	    "\"value\":{\"stringValue\":\"hcp\"}}]},\"scopeLogs\":[{\"scope\":{\"name\":"
	    "\"hcp.audit\"},\"logRecords\":[{\"timeUnixNano\":\"%" PRId64
	    "\",\"severityNumber\":%d,\"severityText\":\"%s\",\"body\":{\"stringValue\":",
	    unix_ns(time), refused ? 13 : 9, refused ? "WARN" : "INFO");
	add_body(out, record);
	buf_puts(out, "},\"attributes\":[{\"key\":\"event.name\",\"value\":{\"stringValue\":"
		      "\"hcp.audit\"}}");
	for (size_t i = 0; i < FIELDS; i++) {
		v = json_object_get(record, audit_fields[i]);
		if (v)
			add_attribute(out, audit_fields[i], v);
	}
	buf_puts(out, "]}]}]}]}\n");
}
