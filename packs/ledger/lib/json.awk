# SPDX-License-Identifier: MIT
# A JSON reader that calls scalar(path, key, text) for every string, number and word, where path is
# that of the array or object around it, and closed(path) after every array and object. A path is the
# keys and positions from the top, joined by dots. A string stays the text it was, quotes and escapes
# included, so it can be printed again as it is; a number is never computed with.

function push(kind) {
	kinds[++depth] = kind
	at[depth] = kind == "[" ? 0 : ""
	paths[depth] = here
}

function pop() {
	here = paths[depth--]
	closed(here)
}

# Where a value begins, the path of its array or object gets one more step.
function step() {
	if (depth)
		here = paths[depth] (paths[depth] == "" ? "" : ".") at[depth]
}

function value(text) {
	if (depth && kinds[depth] == "{" && !has_key) {
		at[depth] = substr(text, 2, length(text) - 2)
		has_key = 1
		return
	}
	scalar(paths[depth], at[depth], text)
}

function token(text, c) {
	c = substr(text, 1, 1)
	if (c == "[" || c == "{") {
		step()
		push(c)
		has_key = 0
	} else if (c == "]" || c == "}") {
		pop()
	} else if (c == ",") {
		if (kinds[depth] == "[")
			at[depth]++
		has_key = 0
	} else if (c != ":") {
		value(text)
	}
}

# How hledger would show an amount, and its float: half of all lines, and nothing of it is wanted.
/^ *"(as[a-z]+|floatingPoint)": [^[{]*$/ { next }

{
	while (match($0, /^[ \t]*(\[|\]|\{|\}|,|:|"([^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null)/)) {
		text = substr($0, 1, RLENGTH)
		$0 = substr($0, RLENGTH + 1)
		sub(/^[ \t]+/, "", text)
		token(text)
	}
	if ($0 !~ /^[ \t\r]*$/) {
		broken = 1
		exit 1
	}
}

# 10050 and 2 are 100.50; the mantissa of a large amount comes as -1.2345e21.
function decimal(mantissa, places, sign, digits, e, dot) {
	sign = sub(/^-/, "", mantissa) ? "-" : ""
	e = 0
	if (match(mantissa, /[eE]/)) {
		e = substr(mantissa, RSTART + 1) + 0
		mantissa = substr(mantissa, 1, RSTART - 1)
	}
	dot = index(mantissa, ".")
	digits = mantissa
	if (dot) {
		e -= length(mantissa) - dot
		digits = substr(mantissa, 1, dot - 1) substr(mantissa, dot + 1)
	}
	for (; e > 0; e--)
		digits = digits "0"
	places -= e
	while (length(digits) <= places)
		digits = "0" digits
	sub(/^0+/, "", digits)
	while (length(digits) <= places)
		digits = "0" digits
	if (places == 0)
		return sign digits
	return sign substr(digits, 1, length(digits) - places) "." substr(digits, length(digits) - places + 1)
}

# Takes a part of an amount; false when it was none. `10 AAPL @ 3 EUR` holds a second one, its price.
function amount_part(path, key, text) {
	if (key == "acommodity" && path !~ /aprice/)
		commodity[path] = text
	else if (key == "decimalMantissa" && path !~ /aprice/)
		mantissa[paths[depth - 1]] = text
	else if (key == "decimalPlaces" && path !~ /aprice/)
		places[paths[depth - 1]] = text
	else
		return 0
	return 1
}

function quantity(path) {
	if (!(path in mantissa) || !(path in places) || !(path in commodity)) {
		broken = 1
		exit 1
	}
	return decimal(mantissa[path], places[path])
}

# hledger's JSON gives at most ten decimals and rounds what has more: ten may be one of those.
function amount(path, text) {
	text = "{\"quantity\":\"" quantity(path) "\",\"commodity\":" commodity[path] \
		(places[path] + 0 < 10 ? "}" : ",\"exact\":false}")
	delete mantissa[path]
	delete places[path]
	delete commodity[path]
	return text
}
