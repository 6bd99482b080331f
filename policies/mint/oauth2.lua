-- An access token of an OAuth 2.0 server for each run: by client credentials (RFC 6749, 4.4) or, where the policy names
-- a `subject_token`, by token exchange (RFC 8693).
--   mint: { hook: policies:oauth2, ttl: 1h, env: [API_TOKEN] }                                in the pack
--   mint: { hosts: ["idp.example.com:443"], secrets: [api_client], with: { env: API_TOKEN, scope: read,
--     token_url: "https://idp.example.com/token", client_id: hcp, client_secret: api_client } }
--                                                                in the operator's block for the pack
-- With `revoke_url` (RFC 7009) the token is taken back when the run has ended.

local configured = require "lib.config"
local refusal = require "lib.refusal"

local known = {
	token_url = "string", client_id = "string", client_secret = "string", env = "string", scope = "string?",
	audience = "string?", resource = "string?", client_auth = "string?", subject_token = "string?",
	subject_token_type = "string?", revoke_url = "string?",
}
local urn = "urn:ietf:params:oauth:"

-- The client says who it is in the header or, where `client_auth: post`, in the form.
local function ask(host, config, url, form, secrets)
	local secret, headers = host.secret(config.client_secret), { Accept = "application/json" }
	if config.client_auth == "post" then
		form.client_id, form.client_secret = config.client_id, secret
	elseif config.client_auth == nil or config.client_auth == "basic" then
		local pair = host.concat(host.uri(config.client_id), ":", host.uri(secret))
		headers.Authorization = host.concat("Basic ", host.base64(pair))
	else
		hcp.fail("mint.with: client_auth must be basic or post")
	end
	return host.http { method = "POST", url = url, headers = headers, form = form, secrets = secrets }
end

local function mint(_, host)
	local config = configured(host.config, known)
	local form = { grant_type = "client_credentials", scope = config.scope, audience = config.audience,
		resource = config.resource }
	if config.subject_token then
		form.grant_type = urn .. "grant-type:token-exchange"
		form.subject_token = host.secret(config.subject_token)
		form.subject_token_type = config.subject_token_type or urn .. "token-type:access_token"
		form.requested_token_type = urn .. "token-type:access_token"
	end
	local answer = ask(host, config, config.token_url, form, { "access_token", "refresh_token", "id_token" })
	local json = type(answer.json) == "table" and answer.json or {}
	if answer.status ~= 200 or not json.access_token then
		return refusal("the token endpoint", answer, json.error)
	end
	if type(json.token_type) ~= "string" or json.token_type:lower() ~= "bearer" then
		return nil, "the token endpoint gives no bearer token"
	end
	return { env = { [config.env] = json.access_token }, expires_in = json.expires_in }
end

local function revoke(binding, host)
	local config = configured(host.config, known)
	if not config.revoke_url then
		return true
	end
	local form = { token = binding.env[config.env], token_type_hint = "access_token" }
	local answer = ask(host, config, config.revoke_url, form)
	if answer.status ~= 200 then
		return refusal("the revocation endpoint", answer)
	end
	return true
end

return { mint = mint, revoke = revoke }
