# Services that give credentials, as far as the mint hooks use them: an OAuth server, GitHub, STS and Vault in one program.
# services.py CERT KEY PORT_FILE LOG. Beside LOG it reads `fault`, what goes wrong with the next requests, and `app.pem`, the
# app's public key; it writes a line for each request, and what it was told to take back into `revoked`. Tokens are counted:
# no two are alike.
import base64, hashlib, hmac, http.server, json, os, subprocess, sys, time, urllib.parse

sys.dont_write_bytecode = True
import serving

cert, key, port_file, log = sys.argv[1:5]
here = os.path.dirname(log)
client = ("hcp-client", "cl1ent:secret/+%")
aws = ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
vault = {"role_id": "role-1", "secret_id": "vault-secret-id", "token": "hvs.static-token-0123"}
made = {"n": 0, "leases": {}}


def read(name):
    try:
        with open(here + "/" + name) as f:
            return f.read()
    except FileNotFoundError:
        return ""


def count():
    made["n"] += 1
    return made["n"]


def revoked(what):
    with open(here + "/revoked", "a") as f:
        f.write(what + "\n")


def at(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def verified(jwt):
    """The claims of an RS256 token that openssl finds signed by the app's key."""
    head, claims, sig = jwt.split(".")
    pad = lambda s: base64.urlsafe_b64decode(s + "=" * (-len(s) % 4))
    with open(here + "/sig", "wb") as f:
        f.write(pad(sig))
    done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", here + "/app.pem", "-signature", here + "/sig"],
                          input=(head + "." + claims).encode(), capture_output=True)
    return json.loads(pad(claims)) if done.returncode == 0 and json.loads(pad(head))["alg"] == "RS256" else None


def signature(headers, method, path, body):
    """The Authorization that AWS would find right for what was sent; only the list of signed headers is believed."""
    scope = headers["authorization"].split("Credential=")[1].split(",")[0].split("/", 1)[1]
    names = headers["authorization"].split("SignedHeaders=")[1].split(",")[0]
    lines = "".join("%s:%s\n" % (n, headers[n].strip()) for n in names.split(";"))
    text = "\n".join([method, path, "", lines, names, hashlib.sha256(body).hexdigest()])
    k = ("AWS4" + aws[1]).encode()
    for part in scope.split("/"):
        k = hmac.new(k, part.encode(), hashlib.sha256).digest()
    to_sign = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], scope, hashlib.sha256(text.encode()).hexdigest()])
    return "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        aws[0], scope, names, hmac.new(k, to_sign.encode(), hashlib.sha256).hexdigest())


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {k.lower(): v for k, v in self.headers.items()}
        with open(log, "a") as f:
            f.write(json.dumps({"method": self.command, "path": self.path, "body": body.decode("latin-1"),
                                "headers": headers}) + "\n")
        fault = read("fault")
        if fault == "hang":
            time.sleep(3600)
        if fault == "drip":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)
        if fault.startswith("redirect "):
            return self.send(307, b"", {"Location": fault.split(" ")[1]})
        if fault == "huge":
            return self.json(200, {"x": "x" * (300 * 1024)})
        if fault == "broken":
            return self.send(200, b'{"access_token": "half-a-tok', {"Content-Type": "application/json"})
        if fault == "page":
            return self.send(200, b"<html>please log in</html>", {"Content-Type": "text/html"})
        if fault == "down":
            return self.send(503, b"no")
        if fault == "list":
            return self.json(200, ["access_token", 1])
        if fault.startswith("json "):
            status, text = fault[5:].split(" ", 1)
            return self.json(int(status), json.loads(text))
        if fault == "keeps" and (self.path == "/revoke" or self.command == "DELETE" or self.path == "/v1/sys/leases/revoke"):
            return self.send(503, b"no")
        for service in (self.oauth, self.github, self.sts, self.vault):
            if service(headers, body):
                return
        self.send(404, b"no such page")

    def oauth(self, headers, body):
        if self.path not in ("/token", "/revoke"):
            return False
        form = dict(urllib.parse.parse_qsl(body.decode()))
        who = (form.get("client_id"), form.get("client_secret"))
        if headers.get("authorization", "").startswith("Basic "):
            pair = base64.b64decode(headers["authorization"][6:]).decode().split(":")
            who = tuple(urllib.parse.unquote(p) for p in pair)
        if who != client:
            return self.json(401, {"error": "invalid_client"})
        if self.path == "/revoke":
            revoked(form["token"])
            return self.send(200, b"")
        token = {"access_token": "oauth-access-%d" % count(), "token_type": "Bearer", "expires_in": 300}
        if form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange":
            if form.get("subject_token") != "subject-token-1":
                return self.json(400, {"error": "invalid_request", "error_description": "prose of a stranger"})
            token["issued_token_type"] = form["requested_token_type"]
        elif form["grant_type"] != "client_credentials":
            return self.json(400, {"error": "unsupported_grant_type"})
        return self.json(200, token)

    def github(self, headers, body):
        if not headers.get("user-agent"):
            return self.path.startswith(("/app/", "/installation/")) and self.json(403, {"message": "no user agent"})
        bearer = headers.get("authorization", "")[7:]
        if self.path == "/installation/token" and self.command == "DELETE":
            revoked(bearer)
            return self.send(204, b"")
        if self.path != "/app/installations/678/access_tokens" or self.command != "POST":
            return False
        claims, now = verified(bearer), time.time()
        if not claims or claims["iss"] != "12345" or not now - 120 < claims["iat"] <= now - 30 or \
                not now < claims["exp"] <= claims["iat"] + 600:
            return self.json(401, {"message": "A JSON web token could not be decoded"})
        return self.json(201, {"token": "ghs_installation-%d" % count(), "expires_at": at(3600),
                               "permissions": json.loads(body).get("permissions")})

    def sts(self, headers, body):
        form = dict(urllib.parse.parse_qsl(body.decode("latin-1")))
        if self.path != "/" or form.get("Action") != "AssumeRole":
            return False
        when = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        if headers["authorization"] != signature(headers, "POST", "/", body) or headers["x-amz-date"][:8] != when[:8]:
            return self.json(403, {"Error": {"Code": "SignatureDoesNotMatch", "Message": "prose", "Type": "Sender"}})
        if int(form["DurationSeconds"]) < 900 or headers["accept"] != "application/json":
            return self.json(400, {"Error": {"Code": "ValidationError", "Message": "prose", "Type": "Sender"}})
        role = form["RoleArn"].split("/")[-1]
        n = count()
        return self.json(200, {"AssumeRoleResponse": {"AssumeRoleResult": {
            "AssumedRoleUser": {"Arn": "arn:aws:sts::123456789012:assumed-role/%s/%s" % (role, form["RoleSessionName"])},
            "Credentials": {"AccessKeyId": "ASIAEXAMPLE%d" % n, "SecretAccessKey": "sts-secret-key-%d" % n,
                            "SessionToken": "sts-session-token-%d" % n,
                            "Expiration": time.time() + int(form["DurationSeconds"])}}}})

    def vault(self, headers, body):
        if not self.path.startswith("/v1/"):
            return False
        path, sent = self.path[4:], json.loads(body or b"{}")
        if path == "auth/approle/login":
            if sent != {"role_id": vault["role_id"], "secret_id": vault["secret_id"]}:
                return self.json(400, {"errors": ["invalid role or secret ID"]})
            return self.json(200, {"auth": {"client_token": "hvs.login-token-%d" % count(), "lease_duration": 600}})
        token = headers.get("x-vault-token", "")
        if token != vault["token"] and not token.startswith("hvs.login-token-"):
            return self.json(403, {"errors": ["permission denied"]})
        if path == "database/creds/reader":
            n = count()
            return self.json(200, {"lease_id": "database/creds/reader/%d" % n, "lease_duration": 300, "renewable": True,
                                   "data": {"username": "v-user-name-%d" % n, "password": "v-pass-word-%d" % n}})
        if path == "secret/data/plain":
            return self.json(200, {"lease_id": "", "lease_duration": 0, "data": {"username": "somebody", "password": "forever-1"}})
        if path == "sys/leases/revoke" and self.command == "PUT":
            revoked(sent["lease_id"])
            return self.send(204, b"")
        if path == "auth/token/revoke-self":
            revoked("a login")
            return self.send(204, b"")
        return self.json(404, {"errors": []})

    def json(self, status, what):
        return self.send(status, json.dumps(what).encode(), {"Content-Type": "application/json"})

    def send(self, status, body, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        return True

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *args):
        pass


serving.serve(Handler, cert, key, port_file)
