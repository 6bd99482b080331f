# SPDX-License-Identifier: MIT
"""An HTTPS server of the specs' own, on loopback; its port is in a file once it listens."""
import http.server
import os
import ssl


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass


def serve(handler, cert, key, port_file, plain=False):
    server = Server(("127.0.0.1", 0), handler)
    if not plain:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with open(port_file + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()
