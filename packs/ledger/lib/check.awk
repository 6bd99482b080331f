# SPDX-License-Identifier: MIT
# Judges the values that a caller gave, which come in the environment: what passes can mean nothing
# in a journal or a query but itself. The manifest's schemas say the same; this holds where another
# runtime or a person starts the program.

function refuse(name, why) {
	print name ": " why | "cat >&2"
	close("cat >&2")
	exit 1
}

# White space and invisible characters beyond ASCII, which look like something else or like nothing:
# U+0085, U+00A0, U+00AD, U+1680, U+180E, U+2000 to U+200F, U+2028 to U+202F, U+205F to U+206F,
# U+3000, U+FEFF.
function odd_space(text) {
	return text ~ /\302[\205\240\255]|\341\232\200|\341\240\216|\342\200[\200-\217\250-\257]|\342\201[\237-\257]/ ||
		text ~ /\343\200\200|\357\273\277/
}

# Colons part a name; two spaces or a tab would end it.
function check_account(name, text) {
	text = ENVIRON[name]
	if (text == "")
		return
	if (length(text) > 512)
		refuse(name, "is too long")
	if (text ~ /[\001-\037\177]/)
		refuse(name, "may hold no control character")
	if (text !~ /^[A-Za-z\200-\377]/)
		refuse(name, "must begin with a letter")
	if (text ~ /[^A-Za-z0-9 :_.&'()\/+#%\200-\377-]/)
		refuse(name, "may hold letters, digits, single spaces and _ . & ' ( ) / + # % - between colons")
	if (text ~ /  / || odd_space(text))
		refuse(name, "may hold single plain spaces only")
	if (text ~ /^ | $|: | :|::|:$/)
		refuse(name, "has an empty part, or a space beside a colon or at its end")
}

function check_date(name, text, year, month, day, days) {
	text = ENVIRON[name]
	if (text == "")
		return
	if (text !~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/)
		refuse(name, "must be a date like 2024-01-31")
	year = substr(text, 1, 4) + 0
	month = substr(text, 6, 2) + 0
	day = substr(text, 9, 2) + 0
	days = month == 2 ? 28 + (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) : 30 + (month + (month > 7)) % 2
	if (year < 1 || month < 1 || month > 12 || day < 1 || day > days)
		refuse(name, "is no day of the calendar")
}

function check_amount(text) {
	text = ENVIRON["amount"]
	if (text == "")
		return
	if (text !~ /^(0|[1-9][0-9]*)(\.[0-9]+)?$/)
		refuse("amount", "must be a plain decimal number like 10 or 10.50")
	if (text !~ /[1-9]/)
		refuse("amount", "must be more than 0")
	if (text ~ /\.........../ || length(text) > 40)
		refuse("amount", "may have 9 decimals and 40 characters at most")
}

function check_commodity(text) {
	text = ENVIRON["commodity"]
	if (text == "")
		return
	if (length(text) > 36 || text !~ /^[A-Za-z$\200-\377]+$/ || odd_space(text))
		refuse("commodity", "must be a currency's letters or sign, like EUR or $")
}

# A code in parentheses, a status mark and a second date stand where a description begins.
function check_description(text) {
	text = ENVIRON["description"]
	if (text == "")
		return
	if (length(text) > 800)
		refuse("description", "is too long")
	if (text ~ /[\001-\037\177]|\302[\200-\237]|\342\200[\250\251]/)
		refuse("description", "may hold no control character or line break")
	if (text ~ /;/)
		refuse("description", "may hold no \";\", which begins a comment")
	if (text ~ /^[(!*=]/)
		refuse("description", "may not begin with ( ! * or =")
	if (text ~ /^ | $/)
		refuse("description", "may not begin or end with a space")
}

BEGIN {
	check_account("account")
	check_account("from")
	check_account("to")
	check_date("since")
	check_date("before")
	check_date("date")
	check_amount()
	check_commodity()
	check_description()
	if (ENVIRON["type"] !~ /^((asset|liability|equity|income|expense)(,(asset|liability|equity|income|expense))*)?$/)
		refuse("type", "must be asset, liability, equity, income or expense")
	if (ENVIRON["limit"] !~ /^([1-9][0-9]?[0-9]?[0-9]?[0-9]?)?$/)
		refuse("limit", "must be a number from 1 to 99999")
}
