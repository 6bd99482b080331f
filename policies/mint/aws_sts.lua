-- Credentials of an AWS role for each run, by AssumeRole; the session is named after the principal.
--   mint: { hook: policies:aws_sts, ttl: 20m,                                                in the pack
--     env: [AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN] }
--   mint: { hosts: ["sts.eu-west-1.amazonaws.com:443"], secrets: [aws_key], with: { region: eu-west-1,
--     role_arn: "arn:aws:iam::123456789012:role/reader", access_key_id: AKIA…, secret_access_key: aws_key } }
--                                                                in the operator's block for the pack
-- A session lasts `duration` seconds, 900 where that isn't said, and a ttl must be longer. STS takes none back before.
-- `policy`, a session policy in JSON, narrows what the role may do.

local configured = require "lib.config"
local refusal = require "lib.refusal"
local sign = require "lib.sigv4"

local known = {
	region = "string", role_arn = "string", access_key_id = "string", secret_access_key = "string",
	endpoint = "string?", external_id = "string?", policy = "string?", duration = "number?",
}
local within = "AssumeRoleResponse.AssumeRoleResult.Credentials."

-- Two principals never have one name: what AWS doesn't take is written as its code.
local function session_name(id, host)
	local name = id:gsub("[^%w_.@-]", function(c) return ("=%02X"):format(c:byte()) end)
	return #name >= 2 and #name <= 64 and name or host.hex(host.sha256(id))
end

local function form(host, fields)
	local pairs_of, names = {}, {}
	for name in pairs(fields) do
		names[#names + 1] = name
	end
	table.sort(names)
	for _, name in ipairs(names) do
		pairs_of[#pairs_of + 1] = host.uri(name) .. "=" .. host.uri(fields[name])
	end
	return table.concat(pairs_of, "&")
end

local function member(value, name)
	return type(value) == "table" and value[name] or nil
end

return function(request, host)
	local config = configured(host.config, known)
	local endpoint = config.endpoint or "https://sts." .. config.region .. ".amazonaws.com"
	local body = form(host, {
		Action = "AssumeRole", Version = "2011-06-15", RoleArn = config.role_arn, ExternalId = config.external_id,
		RoleSessionName = session_name(request.principal.id, host), Policy = config.policy,
		DurationSeconds = ("%d"):format(config.duration or 900),
	})
	local headers = {
		["content-type"] = "application/x-www-form-urlencoded; charset=utf-8",
		host = endpoint:match("^https?://([^/]+)$") or hcp.fail("mint.with: endpoint must be https://host[:port]"),
		["x-amz-date"] = host.iso8601(host.now()):gsub("[-:]", ""),
	}
	headers.authorization = sign(host, { method = "POST", path = "/", query = "", headers = headers, body = body }, {
		id = config.access_key_id, secret = host.secret(config.secret_access_key),
		region = config.region, service = "sts",
	})
	headers.host, headers.accept = nil, "application/json"
	local answer = host.http { method = "POST", url = endpoint .. "/", headers = headers, body = body,
		secrets = { within .. "AccessKeyId", within .. "SecretAccessKey", within .. "SessionToken" } }
	local result = member(member(answer.json, "AssumeRoleResponse"), "AssumeRoleResult")
	local got = member(result, "Credentials")
	if answer.status ~= 200 or type(got) ~= "table" then
		return refusal("STS", answer, member(member(answer.json, "Error"), "Code"))
	end
	return { expires_at = got.Expiration, id = member(member(result, "AssumedRoleUser"), "Arn"), env = {
		AWS_ACCESS_KEY_ID = got.AccessKeyId, AWS_SECRET_ACCESS_KEY = got.SecretAccessKey,
		AWS_SESSION_TOKEN = got.SessionToken,
	} }
end
