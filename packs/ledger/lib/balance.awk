# SPDX-License-Identifier: MIT
# `hledger balance -O json`: [[[account, name, depth, amounts], ...], total amounts].

BEGIN { printf "{\"accounts\":[" }

function scalar(path, key, text) {
	if (!amount_part(path, key, text) && key == "0" && path ~ /^0\.[0-9]+$/)
		account = text
}

function closed(path) {
	if (path ~ /^0\.[0-9]+\.3\.[0-9]+$/ || path ~ /^1\.[0-9]+$/) {
		list = list (list == "" ? "" : ",") amount(path)
	} else if (path ~ /^0\.[0-9]+$/) {
		printf "%s{\"account\":%s,\"amounts\":[%s]}", (rows++ ? "," : ""), account, list
		list = ""
	} else if (path == "1") {
		printf "],\"total\":[%s]}\n", list
		whole = 1
	}
}

END { if (broken || !whole) exit 1 }
