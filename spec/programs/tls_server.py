# A server with every fault that a client must stand: tls_server.py CERT KEY PORT_FILE LOG [plain]. It writes its port, and a
# line for each request.
import http.server, json, os, sys, time, urllib.parse

sys.dont_write_bytecode = True
import serving

cert, key, port_file, log = sys.argv[1:5]


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        with open(log, "a") as f:
            f.write(json.dumps({"method": self.command, "path": self.path, "body": body.decode("latin-1"),
                                "headers": {k.lower(): v for k, v in self.headers.items()}}) + "\n")
        path = self.path.split("?")[0]
        if path == "/redirect":
            return self.send(302, b"", {"Location": self.headers["X-To"]})
        if path == "/huge":
            return self.send(200, b"x" * (256 * 1024 + 1))
        if path == "/full":
            return self.send(200, b"x" * (256 * 1024))
        if path == "/hang":
            time.sleep(3600)
        if path == "/drip":
            self.send_response(200)
            self.end_headers()
            while True:
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        if path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"short")
            self.close_connection = True
            return
        if path == "/token":
            return self.send(200, b'{"auth": {"client\\u005ftoken": "s3cr\\"3t-t0ken"}, "again": "s3cr\\"3t-t0ken", "n": 3}',
                             {"Content-Type": "application/json"})
        if path.startswith("/status/"):
            return self.send(int(path[8:]), b'{"message": "it says so", "no": false}', {"Content-Type": "application/json"})
        if path == "/pages":
            return self.page(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)))
        if path == "/echo" or path.startswith("/echo/"):
            seen = {"body": body.decode("latin-1"), "auth": self.headers.get("Authorization"), "path": self.path}
            return self.send(200, json.dumps(seen).encode(), {"Content-Type": "application/json",
                                                              "X-Seen": self.headers.get("Authorization") or ""})
        files = os.path.dirname(log) + "/served" + path
        if os.path.isfile(files):
            with open(files, "rb") as f:
                return self.send(200, f.read(), {"Content-Type": "application/json"})
        self.send(404, b"no such page")

    # Three pages of two items; `by` says where the next one's place stands.
    def page(self, asked):
        n, by = int(asked.get("page", 1)), asked.get("by", "cursor")
        here = "https://%s/pages?by=%s&page=%d" % (self.headers["Host"], by, n + 1)
        value, headers = {"items": [2 * n - 1, 2 * n], "page": {}}, {"Content-Type": "application/json"}
        if by == "elsewhere":
            value["page"]["next"] = "https://localhost/pages"
        elif n < 3 or by == "endless":
            if by == "link":
                headers["Link"] = '<%s>; rel="prev", <%s>; rel="next"' % (here + "0", here)
            value["page"]["next"] = here if by == "url" else here[here.index("/pages"):] if by == "path" else str(n + 1)
        elif by == "null":
            value["page"]["next"] = None
        if by == "object":
            value["items"] = {"a": 1}
        self.send(200, json.dumps(value).encode(), headers)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer

    def send(self, status, body, headers={}):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


serving.serve(Handler, cert, key, port_file, "plain" in sys.argv)
