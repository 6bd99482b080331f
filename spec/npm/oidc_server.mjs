// An OpenID provider on loopback: oidc_server.mjs NPM DIR [PORT]. DIR has server.pem and server.key; it gets `port`, `issued` (each
// access token, a line) and `public.pem`. Its key is made anew at each start. What a token is for decides how long it lasts: urn:short
// is for a second.
import { appendFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { generateKeyPairSync, randomUUID, webcrypto } from "node:crypto";
import { createServer } from "node:https";

// what Debian's Node 18 hasn't yet
globalThis.crypto ??= webcrypto;
URL.parse ??= (...words) => { try { return new URL(...words); } catch { return null; } };

const [npm, dir, port] = process.argv.slice(2);
const { default: Provider } = await import(npm + "/node_modules/oidc-provider/lib/index.js");

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
writeFileSync(dir + "/public.pem", publicKey.export({ type: "spki", format: "pem" }));
const jwk = { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" };

const client = (id) => ({ client_id: id, client_secret: id + "-secret:/+", grant_types: ["client_credentials"], redirect_uris: [],
	response_types: [], token_endpoint_auth_method: "client_secret_basic" });

let handle;
const server = createServer({ cert: readFileSync(dir + "/server.pem"), key: readFileSync(dir + "/server.key") },
	(q, a) => handle(q, a));
server.listen(Number(port ?? 0), "127.0.0.1", () => {
	const provider = new Provider("https://127.0.0.1:" + server.address().port, {
		clients: [client("ada"), client("tool")],
		jwks: { keys: [jwk] },
		scopes: ["read"],
		features: {
			devInteractions: { enabled: false },
			clientCredentials: { enabled: true },
			revocation: { enabled: true },
			resourceIndicators: {
				enabled: true,
				getResourceServerInfo: (ctx, resource) => ({ scope: "read", audience: resource, accessTokenFormat: "jwt",
					accessTokenTTL: resource === "urn:short" ? 1 : 300, jwt: { sign: { alg: "RS256" } } }),
			},
		},
		extraTokenClaims: () => ({ org: "acme", groups: ["staff"] }),
	});
	provider.on("grant.success", (ctx) => appendFileSync(dir + "/issued", ctx.body.access_token + "\n"));
	provider.on("server_error", (ctx, err) => console.error(err));
	handle = provider.callback();
	writeFileSync(dir + "/port.new", String(server.address().port));
	renameSync(dir + "/port.new", dir + "/port");
});
