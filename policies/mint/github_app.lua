-- An installation token of a GitHub App for each run, taken back when it has ended.
--   mint: { hook: policies:github_app, ttl: 65m, env: [GITHUB_TOKEN] }                        in the pack
--   mint: { hosts: ["api.github.com:443"], secrets: [app_key], with: { app_id: "12345", installation_id: "678",
--     key: app_key, repositories: [site], permissions: { contents: read } } }
--                                                                in the operator's block for the pack
-- A token is good for an hour, so a ttl must be longer; `repositories` and `permissions` narrow it to less than what
-- the app may do, and without them it may do all of that.

local configured = require "lib.config"
local refusal = require "lib.refusal"

local known = {
	app_id = "string", installation_id = "string", key = "string", api = "string?", env = "string?",
	repositories = "table?", permissions = "table?",
}

local function ask(host, config, method, path, token, more)
	local request = more or {}
	request.method, request.url = method, (config.api or "https://api.github.com") .. path
	request.headers = {
		Accept = "application/vnd.github+json", ["X-GitHub-Api-Version"] = "2022-11-28", ["User-Agent"] = "hcp",
		Authorization = host.concat("Bearer ", token),
	}
	return host.http(request)
end

local function mint(_, host)
	local config = configured(host.config, known)
	if not config.installation_id:match("^%d+$") then
		hcp.fail("mint.with: installation_id must be a number in quotes")
	end
	local now = host.now()
	-- GitHub takes ten minutes at most; its clock may be behind ours
	local claims = { iss = config.app_id, iat = now - 60, exp = now + 480 }
	local jwt = host.sign_jwt { alg = "RS256", key = host.secret(config.key), claims = claims }
	local path = "/app/installations/" .. config.installation_id .. "/access_tokens"
	local answer = ask(host, config, "POST", path, jwt, {
		json = hcp.object { repositories = config.repositories, permissions = config.permissions },
		secrets = { "token" },
	})
	local json = type(answer.json) == "table" and answer.json or {}
	if answer.status ~= 201 or not json.token then
		return refusal("GitHub", answer)
	end
	return { env = { [config.env or "GITHUB_TOKEN"] = json.token }, expires_at = json.expires_at }
end

local function revoke(binding, host)
	local config = configured(host.config, known)
	local answer = ask(host, config, "DELETE", "/installation/token", binding.env[config.env or "GITHUB_TOKEN"])
	if answer.status ~= 204 then
		return refusal("GitHub", answer)
	end
	return true
end

return { mint = mint, revoke = revoke }
