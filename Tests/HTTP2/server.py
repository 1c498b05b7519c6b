"""The server of Tests/HTTP2/check: HTTP/2 over TLS, HTTP/1.1 over TLS and plain HTTP/1.1, on three ports that it prints.

A request names its own id and the size of its body in X-ID and X-Size; the body is the id and a space, repeated. The first
part of the path says what to do with the first request of an id:
  ok            answer it
  refuse-head   over HTTP/2: refuse the stream once its headers are here (RST_STREAM, REFUSED_STREAM)
  refuse-body   over HTTP/2: refuse the stream once its body is here
  goaway        over HTTP/2: end the connection with a GOAWAY that names the stream before it
  redirect      307 to ok
  login         401 with a Basic challenge
GET /report returns what happened in the run whose id it names.
"""
import base64
import http.server
import json
import os
import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.stream

# A body that is shorter than its Content-Length is what this server is here to see.
h2.stream.H2Stream._track_content_length = lambda *_: None

# All streams of a connection share a window of 64 KB until the client knows of a wider one, or always, with a third
# argument. A request that waits for it when it is refused loses what libcurl 7.88 has read of its body and not sent (8.12
# loses nothing): nothing in URLSession can tell. So nothing is refused before the window is wide.
NARROW = len(sys.argv) > 3

LOGIN = "Basic " + base64.b64encode(b"wynd:secret").decode()


class Records:
    """What happened, by run: the part of an id before the hyphen."""

    def __init__(self):
        self.lock = threading.Lock()
        self.runs = {}

    def run(self, name):
        # By id: how often it was applied. Requests whose body was not their own, requests refused, requests by version.
        return self.runs.setdefault(name.split("-")[0], dict(applied={}, wrong=[], refused=[], versions={}))

    def refuses(self, name):
        """Whether this is the first request of its id."""
        with self.lock:
            refused = self.run(name)["refused"]
            if name in refused:
                return False
            refused.append(name)
            return True

    def respond(self, method, path, headers, body, version):
        """Status, header fields and body of the response."""
        mode, name = path.split("/")[1], headers.get("x-id", "")
        size = int(headers.get("x-size", "0"))
        version = headers.get("x-version", version)
        with self.lock:
            run = self.run(name)
            if mode == "report":
                return 200, [], json.dumps(run).encode()
            run["versions"][version] = run["versions"].get(version, 0) + 1
            if body != ((name + " ") * (size // (len(name) + 1) + 1))[:size].encode():
                run["wrong"].append(f"{method} {path} {name}: {len(body)} of {size} bytes")
            if mode == "redirect":
                return 307, [("location", path.replace("redirect", "ok", 1))], b"elsewhere"
            if mode == "login" and headers.get("authorization") != LOGIN:
                return 401, [("www-authenticate", 'Basic realm="wynd"')], b"who?"
            run["applied"][name] = run["applied"].get(name, 0) + 1
            return 200, [], str(len(body)).encode()


records = Records()


class OldHTTP(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do(self):
        if "Transfer-Encoding" in self.headers:
            return self.send_error(411)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, fields, answer = records.respond(self.command, self.path, headers, body, "HTTP/1.1")
        self.send_response(status)
        for field in fields + [("content-length", str(len(answer)))]:
            self.send_header(*field)
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do

    def log_message(self, *_):
        pass


class NewHTTP:
    """One HTTP/2 connection."""

    def __init__(self, sock):
        self.sock = sock
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.connection = h2.connection.H2Connection(config)
        self.requests = {}
        # The requests that began before the client knew of the wide window, and whose bodies may wait for it.
        self.is_wide = False
        self.waiting = set()

    def run(self):
        self.connection.initiate_connection()
        if not NARROW:
            self.connection.increment_flow_control_window(1 << 24)
        self.flush()
        while data := self.sock.recv(1 << 16):
            for event in self.connection.receive_data(data):
                if not self.handle(event):
                    return self.flush()
            self.flush()

    def flush(self):
        self.sock.sendall(self.connection.data_to_send())

    def refuse(self, stream):
        self.requests.pop(stream, None)
        self.connection.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)

    def handle(self, event):
        """False ends the connection."""
        if isinstance(event, h2.events.RequestReceived):
            headers = dict(event.headers)
            mode, name = headers[":path"].split("/")[1], headers.get("x-id", "")
            if not self.is_wide:
                self.waiting.add(event.stream_id)
            may_refuse = NARROW or self.is_wide and not self.waiting
            if mode == "goaway" and may_refuse and records.refuses(name):
                self.connection.close_connection(last_stream_id=max(0, event.stream_id - 2))
                return False
            if mode == "refuse-head" and may_refuse and records.refuses(name):
                self.refuse(event.stream_id)
            else:
                self.requests[event.stream_id] = (headers, [])
        elif isinstance(event, h2.events.SettingsAcknowledged):
            self.is_wide = True
        elif isinstance(event, h2.events.DataReceived):
            self.waiting.discard(event.stream_id)
            self.connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if not NARROW and event.flow_controlled_length:
                self.connection.increment_flow_control_window(event.flow_controlled_length)
            if event.stream_id in self.requests:
                self.requests[event.stream_id][1].append(event.data)
        elif isinstance(event, h2.events.StreamEnded) and event.stream_id in self.requests:
            self.waiting.discard(event.stream_id)
            headers, chunks = self.requests.pop(event.stream_id)
            if headers[":path"] == "/refuse-body" and records.refuses(headers.get("x-id", "")):
                self.refuse(event.stream_id)
                return True
            status, fields, answer = records.respond(
                headers[":method"], headers[":path"], headers, b"".join(chunks), "HTTP/2.0")
            self.connection.send_headers(event.stream_id, [(":status", str(status)), *fields])
            # curl's window is far larger than any response.
            for start in range(0, len(answer), 1 << 14):
                self.connection.send_data(event.stream_id, answer[start : start + (1 << 14)])
            self.connection.end_stream(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.waiting.discard(event.stream_id)
            self.requests.pop(event.stream_id, None)
        elif isinstance(event, h2.events.ConnectionTerminated):
            return False
        return True


def listen(handle, *protocols):
    """Serves each connection on a thread of its own; the port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    context = None
    if protocols:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        context.set_alpn_protocols(list(protocols))

    def serve(sock, address):
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with context.wrap_socket(sock, server_side=True) if context else sock as sock:
                handle(sock, address)
        except (OSError, h2.exceptions.ProtocolError):
            pass

    def accept():
        while True:
            threading.Thread(target=serve, args=listener.accept(), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def old(sock, address):
    OldHTTP(sock, address, None)


def new(sock, _):
    NewHTTP(sock).run()


print(listen(new, "h2"), listen(old, "http/1.1"), listen(old), flush=True)
# Until the input is closed.
while os.read(0, 4096):
    pass
