#!/usr/bin/env python3
"""usage: fetch_server.py DIRECTORY [CERTIFICATE KEY]

A web server on a loopback port that misbehaves as the first part of a path says: /cut/a.tgz is
DIRECTORY/a.tgz, of which half comes at each request. Prints its port, then logs every request
as "PATH RANGE" to DIRECTORY/log, and lives until its standard input ends.
"""
import collections
import http.server
import os
import socketserver
import ssl
import sys
import threading
import time

root = sys.argv[1]
hits = collections.Counter()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def head(self, code, **fields):
        self.send_response(code)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def hang_up(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def serve(self, data, etag='"v1"', n_sent=None, honest=True):
        """The wanted range of data, of which n_sent bytes really come."""
        at = 0
        wanted = self.headers.get("Range")
        if wanted and (not honest or self.headers.get("If-Range") == etag):
            at = int(wanted[len("bytes="):-1])
            self.head(206, ETag=etag, Content_Length=len(data) - at,
                      Content_Range=f"bytes {at}-{len(data) - 1}/{len(data)}")
        else:
            self.head(200, ETag=etag, Content_Length=len(data), Accept_Ranges="bytes")
        self.wfile.write(data[at:] if n_sent is None else data[at:at + n_sent])
        if n_sent is not None and at + n_sent < len(data):
            self.hang_up()

    def do_GET(self):
        _, mode, name = self.path.split("/", 2)
        hits[mode] += 1
        with open(os.path.join(root, "log"), "a") as log:
            print(self.path, self.headers.get("Range", "-"), file=log)
        try:
            data = open(os.path.join(root, name), "rb").read()
            getattr(self, "do_" + mode)(data, hits[mode])
        except (OSError, ValueError):
            self.close_connection = True

    def do_ok(self, data, n):
        self.serve(data)

    def do_cut(self, data, n):  # every answer is cut, the last one not
        self.serve(data, n_sent=len(data) // 3 + 1)

    def do_never(self, data, n):  # promises all, gives nothing
        self.serve(data, n_sent=0)

    def do_stall(self, data, n):
        if n > 1:
            return self.serve(data)
        self.head(200, ETag='"v1"', Content_Length=len(data))
        self.wfile.write(data[:len(data) // 2])
        self.wfile.flush()
        time.sleep(8)
        self.hang_up()

    def do_silent(self, data, n):
        time.sleep(8)

    def do_drop(self, data, n):
        if n > 2:
            return self.serve(data)
        self.hang_up()

    def do_busy(self, data, n):
        if n > 1:
            return self.serve(data)
        self.head(503, Retry_After=1, Content_Length=0)

    def do_move(self, data, n):
        self.head(302, Location="/ok/" + self.path.split("/", 2)[2], Content_Length=0)

    def do_circle(self, data, n):
        self.head(301, Location=self.path, Content_Length=0)

    def do_file(self, data, n):
        self.head(302, Location="file:///etc/passwd", Content_Length=0)

    def do_plain(self, data, n):  # from https to http
        host = self.headers["Host"]
        self.head(302, Location=f"http://{host}/ok/a.tgz", Content_Length=0)

    def do_short(self, data, n):  # says that half of the file is all of it
        self.serve(data[:len(data) // 2])

    def do_long(self, data, n):  # promises more than there is
        self.head(200, ETag='"v1"', Content_Length=len(data) + 1000)
        self.wfile.write(data)
        self.hang_up()

    def do_huge(self, data, n):  # promises more than a corpus can have
        self.head(200, ETag='"v1"', Content_Length=1 << 40)
        self.wfile.write(data)
        self.hang_up()

    def do_change(self, data, n):  # another version between two tries
        if n == 1:
            return self.serve(bytes(len(data)), etag='"v0"', n_sent=len(data) // 2)
        self.serve(data)

    def do_mix(self, data, n):  # the same, and If-Range is not looked at
        if n == 1:
            return self.serve(bytes(len(data)), etag='"v0"', n_sent=len(data) // 2)
        self.serve(data, honest=False)

    def do_weak(self, data, n):  # a tag that does not tell versions apart
        if n == 1:
            return self.serve(bytes(len(data)), etag='W/"v"', n_sent=len(data) // 2)
        self.serve(data, etag='W/"v"', honest=False)

    def do_shift(self, data, n):  # other bytes than those asked for
        if n == 1 or "Range" not in self.headers:
            return self.serve(data, n_sent=len(data) // 2 if n == 1 else None)
        self.head(206, ETag='"v1"', Content_Length=len(data),
                  Content_Range=f"bytes 0-{len(data) - 1}/{len(data)}")
        self.wfile.write(data)

    def do_garbage(self, data, n):
        self.serve(b"<html><body>Please log in to this network.</body></html>" * 40)

    def do_noise(self, data, n):
        self.serve(b"\x1f\x8b\x08" + bytes((i * 7919) % 251 for i in range(9000)))

    def do_empty(self, data, n):
        self.serve(b"")

    def do_unsized(self, data, n):
        self.protocol_version = "HTTP/1.0"
        self.head(200)
        self.wfile.write(data)
        self.hang_up()

    def do_chunked(self, data, n):
        self.head(200, Transfer_Encoding="chunked")
        for at in range(0, len(data), 5000):
            part = data[at:at + 5000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if n == 1 and at > 20000:
                return self.hang_up()  # without the last chunk
        self.wfile.write(b"0\r\n\r\n")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
