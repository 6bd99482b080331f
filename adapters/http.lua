-- Kind `http`: the command is a call of an HTTP API, as its `http` mapping says (docs/http.md). Where it may go is the
-- operator's to say, and who it is there the Binding's: {{$NAME}} is a value of it, {{name}} an argument.

local known = {
	base = "string", url = "string", method = "string", query = "table", headers = "table", body = "table",
	form = "table", pointer = "string", pages = "table",
}
local with_body = { POST = true, PUT = true, PATCH = true, DELETE = true }
local placeholder = "{{%s*([^{}]-)%s*}}"

-- ---- what the manifest may say ----

local function check_text(text, args, secret)
	for name in text:gmatch(placeholder) do
		local binding = name:match("^%$[%a_][%w_]*$")
		assert(binding or name:match("^[%w_-]+$"), ("{{%s}} is no placeholder"):format(name))
		assert(not binding or secret, ("{{%s}}: a credential can't stand in a URL"):format(name))
		assert(binding or not args or args[name], ("{{%s}} is no argument of the command"):format(name))
	end
	assert(not text:gsub(placeholder, ""):find("[{}][{}]"), ("%q: a brace without its partner"):format(text))
end

local function check_values(value, args)
	if type(value) == "table" then
		for key, item in pairs(value) do
			check_text(tostring(key), {}, false)
			check_values(item, args)
		end
	elseif type(value) == "string" then
		check_text(value, args, true)
	end
end

local function check_pages(pages)
	for key, value in pairs(pages) do
		local fits = key == "most" and math.type(value) == "integer" and value >= 1 and value <= 100
			or key == "next" and type(value) == "string" and (value == "link" or value:match("^/"))
			or key == "as" and type(value) == "string"
		assert(fits, ("pages: %s can't be %s"):format(key, cjson.encode(value)))
	end
	assert(pages.next, "pages: next is missing")
	assert(pages.next ~= "link" or not pages.as, "pages: a link says itself where the next page is")
end

local function check(command)
	local http, args = command.http, command.args and (command.args.properties or {})
	assert(type(http) == "table", "the command needs an `http` mapping")
	for key, value in pairs(http) do
		assert(known[key], ("unknown key %q"):format(key))
		assert(type(value) == known[key], ("%s must be a %s"):format(key, known[key] == "table" and "mapping" or "text"))
	end
	assert(http.url, "url is missing")
	local url, method = (http.base or "") .. http.url, http.method or "GET"
	assert(url:match("^https?://[%w.:%[%]-]+/"), "the URL must begin with https://host/, in plain text")
	assert(not url:find("[?#]"), "what stands behind a ? belongs in `query`")
	assert(method == "GET" or method == "HEAD" or with_body[method],
		"method must be GET, HEAD, POST, PUT, PATCH or DELETE")
	assert(not http.body or not http.form, "either body or form")
	assert(not (http.body or http.form) or with_body[method], method .. " has no body")
	assert(not http.pointer or http.pointer:match("^/"), "pointer must begin with /")
	check_text(url, args, false)
	for _, key in ipairs { "query", "headers", "body", "form" } do
		check_values(http[key], args)
	end
	if http.pages then
		check_pages(http.pages)
	end
end

-- ---- the request ----

local function text_of(value, name)
	if value == nil or value == hcp.null then
		return ""
	elseif type(value) == "number" or type(value) == "boolean" then
		return cjson.encode(value)
	elseif type(value) ~= "table" then
		return value -- text, or a handle
	end
	local parts = {}
	for i, item in ipairs(value) do
		parts[i] = text_of(item, name)
	end
	if next(value) ~= nil and #parts == 0 then
		hcp.fail(("%s: an object can't stand there"):format(name))
	end
	return table.concat(parts, ",")
end

local function value_of(name, args, ctx)
	if name:sub(1, 1) ~= "$" then
		return args[name]
	end
	return ctx.binding and ctx.binding.env[name:sub(2)] or hcp.fail(("there is no %s: the pack mints none"):format(name))
end

-- A template that is one placeholder gives its value as it is, any other gives text.
local function render(template, args, ctx)
	local whole = template:match("^" .. placeholder .. "$")
	if whole then
		return value_of(whole, args, ctx)
	end
	local parts, at = {}, 1
	for from, name, to in template:gmatch("()" .. placeholder .. "()") do
		parts[#parts + 1] = template:sub(at, from - 1)
		parts[#parts + 1] = text_of(value_of(name, args, ctx), name)
		at = to
	end
	parts[#parts + 1] = template:sub(at)
	return ctx.concat(table.unpack(parts))
end

-- What has no value is left out.
local function filled(template, args, ctx)
	if type(template) == "string" then
		local value = render(template, args, ctx)
		if value == hcp.null then
			return nil
		end
		return value
	elseif type(template) ~= "table" or next(template) == nil then
		return template
	end
	local list = #template > 0
	local out = list and hcp.array {} or hcp.object {}
	for key, item in (list and ipairs or pairs)(template) do
		out[list and #out + 1 or key] = filled(item, args, ctx)
	end
	return out
end

-- Names and texts; what is empty isn't sent.
local function flat(map, args, ctx)
	local out = {}
	for name, template in pairs(map or {}) do
		local value = filled(template, args, ctx)
		if type(value) ~= "userdata" then
			value = text_of(value, name)
		end
		out[name] = value ~= "" and value or nil
	end
	return out
end

local function url_of(http, args, ctx)
	local url = ((http.base or "") .. http.url):gsub(placeholder, function(name)
		local text = text_of(args[name], name)
		if text == "" then
			hcp.fail(("invalid args: %s: may not be empty"):format(name))
		end
		return ctx.uri(text)
	end)
	for part in url:gmatch("[^/]+") do
		if part == "." or part == ".." then
			hcp.fail("invalid args: the URL may not hold " .. part)
		end
	end
	return url
end

local function headers_of(http, args, ctx)
	local out = { accept = "application/json", ["user-agent"] = "hcp" }
	for name, value in pairs(flat(http.headers, args, ctx)) do
		out[name:lower()] = value
	end
	return out
end

-- ---- the answer ----

-- RFC 6901; nil where there is nothing.
local function at(value, pointer)
	for token in (pointer or ""):gmatch("/([^/]*)") do
		token = token:gsub("~1", "/"):gsub("~0", "~")
		if type(value) ~= "table" then
			return nil
		end
		local index = token:match("^%d+$") and #value > 0 and math.tointeger(tonumber(token) + 1)
		value = rawget(value, index or token)
	end
	return value
end

local function need(value, pointer)
	local found = at(value, pointer)
	if found == nil then
		hcp.fail("the answer has nothing at " .. pointer)
	end
	return found
end

local function send(request, ctx)
	local answer = ctx.http(request)
	if answer.status < 200 or answer.status > 299 then
		local said = answer.body:sub(1, 1000):gsub("%s+$", "")
		hcp.fail(("%s: status %d%s"):format(request.method, answer.status, said ~= "" and ": " .. said or ""))
	end
	local value = answer.json
	if value == nil then
		value = answer.body ~= "" and answer.body or hcp.null
	end
	return value, answer
end

local function next_link(answer)
	for url, rest in (answer.headers.link or ""):gmatch("<([^>]*)>([^,<]*)") do
		if (";" .. rest):match('[;%s]rel%s*=%s*"?next"?%f[;%s%z]') then
			return url
		end
	end
end

-- Where the next page is: the request is changed to it; nil where there is none.
local function turn(request, pages, value, answer)
	local where = pages.next == "link" and next_link(answer) or pages.next ~= "link" and at(value, pages.next)
	if not where or where == hcp.null or where == "" then
		return nil
	end
	if pages.as then
		request.query[pages.as] = text_of(where, "next")
		return request
	end
	local origin = request.url:match("^https?://[^/]+")
	where = type(where) == "string" and (where:match("^/[^/]") and origin .. where or where) or ""
	if where:sub(1, #origin + 1) ~= origin .. "/" then
		hcp.fail("the next page is on another host")
	end
	request.url, request.query = where, {}
	return request
end

local function all_pages(request, http, ctx)
	local items, most = hcp.array {}, http.pages.most or 10
	for _ = 1, most do
		local value, answer = send(request, ctx)
		local page = need(value, http.pointer)
		if type(page) ~= "table" or #page == 0 and next(page) ~= nil then
			hcp.fail("a page of the answer is no list")
		end
		for _, item in ipairs(page) do
			items[#items + 1] = item
		end
		if not turn(request, http.pages, value, answer) then
			return items
		end
	end
	hcp.fail(("there are more than %d pages"):format(most))
end

return {
	check = function(command)
		local good, why = pcall(check, command)
		return good, not good and why:gsub("^[^:]+:%d+: ", "") or nil
	end,

	run = function(args, ctx, command)
		local http = command.http
		local request = {
			method = http.method or "GET", url = url_of(http, args, ctx), query = flat(http.query, args, ctx),
			headers = headers_of(http, args, ctx), json = filled(http.body, args, ctx),
			form = http.form and flat(http.form, args, ctx),
		}
		if http.pages then
			return all_pages(request, http, ctx)
		end
		return need((send(request, ctx)), http.pointer)
	end,
}
