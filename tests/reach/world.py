"""Two machines and a wire between them, for one command.

Runs as root of a new network and mount namespace, which is the machine on which Creance runs. A second
one, at the other end of a wire, is the internet: with public addresses and a name server.

    world.py FOLDER COMMAND...

FOLDER gets `cert.pem`, and what arrived there, one line each: `packets` (protocol, address, port),
`served` (requests) and `names` (questions to the name server).
"""

import ctypes
import gzip
import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading

ALLOWED, DENIED, OWN, PRIVATE = "93.184.215.14", "93.184.215.15", "93.184.215.1", "10.7.0.5"
NAMES = {
    "api.allowed.test": [ALLOWED],
    "xn--bcher-kva.allowed.test": [ALLOWED],
    "evilapi.allowed.test": [ALLOWED],
    "api.allowed.test.evil.test": [ALLOWED],
    "other.denied.test": [DENIED],
    "registry.allowed.test": [ALLOWED],
    "loop.inside.test": ["127.0.0.1"],
    "meta.inside.test": ["169.254.169.254"],
    "private.inside.test": [PRIVATE],
    "own.inside.test": [OWN],
    "mixed.inside.test": [ALLOWED, PRIVATE],
    # Another answer to the second question.
    "rebind.inside.test": [[ALLOWED], [PRIVATE]],
}

# The machine's own list of hosts: no question to a name server comes of it.
HOSTS = f"""127.0.0.1 localhost
{ALLOWED} listed.inside.test # and not in the DNS
{PRIVATE} listed-private.inside.test
"""


def sh(*words):
    subprocess.run(words, check=True)


def certificate(folder):
    names = "DNS:api.allowed.test,DNS:*.allowed.test,DNS:other.denied.test"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650", "-batch",
             "-subj", "/CN=api.allowed.test", "-addext", f"subjectAltName={names}",
             "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)


class Internet:
    """The other end of the wire."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")

    def note(self, file, text):
        with self.lock, open(f"{self.folder}/{file}", "a", encoding="utf-8") as log:
            log.write(text + "\n")

    def serve(self, address, port, secure):
        listener = socket.create_server((address, port), backlog=512)
        while True:
            stream, _ = listener.accept()
            threading.Thread(target=self.answer, args=(stream, address, port, secure),
                             daemon=True).start()

    def answer(self, stream, address, port, secure):
        stream.settimeout(20)
        try:
            if secure:
                stream = self.tls.wrap_socket(stream, server_side=True)
            head = b""
            while b"\r\n\r\n" not in head:
                data = stream.recv(4096)
                if not data:
                    return
                head += data
            line = head.split(b"\r\n", 1)[0].decode()
            self.note("served", f"{address}:{port} {line}")
            path = line.split(" ")[1].split("?")[0]
            if path == "/hold":
                stream.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
                while stream.recv(4096):
                    pass
                return
            if line.startswith("POST "):
                stream.sendall(self.routed(stream, path, head))
                return
            status, body = self.file(path)
            stream.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n"
                           b"Content-Type: text/html\r\n\r\n"
                           % (status, len(body)) + body)
        except (OSError, ValueError, IndexError):
            pass
        finally:
            stream.close()

    def routed(self, stream, path, head):
        """The answer of a script of `tests/cases`, packed where it says so, in pieces, with fields
        that are for the next hop alone."""
        fields, _, body = head.partition(b"\r\n\r\n")
        lengths = [line for line in fields.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while len(body) < int(lengths[0].split(b":")[1]):
            body += stream.recv(4096)
        with open(f"{self.folder}/www/routes.json", encoding="utf-8") as routes:
            routes = json.load(routes)["routes"]
        fits = (r for r in routes if r["path"] == path and r["when"]["body~"] in body.decode())
        route = next(fits)
        body = json.dumps(route["json"]).encode() if "json" in route else route["body"].encode()
        lines = [f"HTTP/1.1 {route.get('status', 200)} Said", "Content-Type: application/json",
                 "Connection: close, X-Hop", "X-Hop: of the server", "Keep-Alive: timeout=5"]
        if route.get("gzip"):
            body = gzip.compress(body)
            lines += ["Content-Encoding: gzip", "Transfer-Encoding: chunked"]
            pieces = [body[at:at + 7] for at in range(0, len(body), 7)] + [b""]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        else:
            lines.append(f"Content-Length: {len(body)}")
        return "\r\n".join([*lines, "", ""]).encode() + body

    def file(self, path):
        if path == "/":
            return b"200 OK", b"hello"
        full = os.path.normpath(f"{self.folder}/www{path}")
        if os.path.isdir(full):
            full += "/index.html"
        if full.startswith(f"{self.folder}/www/") and os.path.isfile(full):
            with open(full, "rb") as body:
                return b"200 OK", body.read()
        return b"404 Not Found", b"none"

    def count(self):
        """Each packet that comes over the wire and is no talk about the wire itself."""
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
        wire.bind(("creance1", 0))
        while True:
            data, (_, kind, direction, *_) = wire.recvfrom(65535)
            if direction == 4:
                continue
            if kind == 0x0800:
                proto, to = data[9], socket.inet_ntoa(data[16:20])
                start = (data[0] & 15) * 4
            elif kind == 0x86DD:
                proto, to, start = data[6], socket.inet_ntop(socket.AF_INET6, data[24:40]), 40
                if proto in (0, 58):
                    continue
            else:
                continue
            port = struct.unpack("!H", data[start + 2:start + 4])[0] if proto in (6, 17) else 0
            self.note("packets", f"{proto} {to} {port}")

    def names(self):
        """A name server: addresses of `NAMES`, and no such name for the rest."""
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((DENIED, 53))
        asked = {}
        while True:
            query, client = server.recvfrom(4096)
            name, at = [], 12
            while query[at]:
                name.append(query[at + 1:at + 1 + query[at]].decode().lower())
                at += 1 + query[at]
            question, kind = query[12:at + 5], query[at + 2]
            name = ".".join(name)
            self.note("names", f"{name} {kind}")
            answers = NAMES.get(name)
            if answers and isinstance(answers[0], list):
                asked[name, kind] = asked.get((name, kind), -1) + 1
                answers = answers[min(asked[name, kind], len(answers) - 1)]
            found = answers if answers and kind == 1 else []
            head = struct.pack("!HHHHHH", struct.unpack("!H", query[:2])[0],
                               0x8180 if answers else 0x8183, 1, len(found), 0, 0)
            rows = [b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 0, 4) + socket.inet_aton(address)
                    for address in found]
            server.sendto(head + question + b"".join(rows), client)

    def run(self):
        for address in (ALLOWED, DENIED, PRIVATE):
            for port, secure in ((80, False), (443, True), (8443, True), (22, False)):
                threading.Thread(target=self.serve, args=(address, port, secure),
                                 daemon=True).start()
        threading.Thread(target=self.names, daemon=True).start()
        threading.Thread(target=self.count, daemon=True).start()


def internet(folder, ready, go):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x40000000) != 0:
        os._exit(1)
    os.write(ready, b"n")
    os.read(go, 1)
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "set", "creance1", "up")
    for address in (ALLOWED, DENIED):
        sh("ip", "addr", "add", f"{address}/24", "dev", "creance1")
    sh("ip", "addr", "add", f"{PRIVATE}/24", "dev", "creance1")
    sh("ip", "addr", "add", "169.254.169.254/16", "dev", "creance1")
    Internet(folder).run()
    os.write(ready, b"s")
    signal.pause()


def main():
    folder, command = sys.argv[1], sys.argv[2:]
    certificate(folder)
    ready, ready_end = os.pipe()
    go_end, go = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(ready)
        os.close(go)
        libc = ctypes.CDLL(None)
        libc.prctl(1, signal.SIGKILL)
        try:
            internet(folder, ready_end, go_end)
        finally:
            os._exit(1)
    os.close(ready_end)
    os.close(go_end)
    if os.read(ready, 1) != b"n":
        sys.exit("no second network")
    sh("ip", "link", "set", "lo", "up")
    sh("ip", "link", "add", "creance0", "type", "veth", "peer", "name", "creance1", "netns",
       str(child))
    sh("ip", "addr", "add", f"{OWN}/24", "dev", "creance0")
    sh("ip", "addr", "add", "10.7.0.1/24", "dev", "creance0")
    sh("ip", "link", "set", "creance0", "up")
    sh("ip", "route", "add", "default", "via", ALLOWED)
    for name, text in (("hosts", HOSTS), ("resolv.conf", f"nameserver {DENIED}\n"),
                       ("nsswitch.conf", "hosts: files dns\npasswd: files\ngroup: files\n")):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        sh("mount", "--bind", f"{folder}/{name}", os.path.realpath(f"/etc/{name}"))
    # What no sandbox may speak to: the machine's own sockets, one of them in the project.
    machine = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    if os.path.exists(f"{folder}/home/project/machine.sock"):
        os.unlink(f"{folder}/home/project/machine.sock")
    for own, address in zip(machine, ("\0creance-machine", f"{folder}/home/project/machine.sock")):
        own.bind(address)
        own.listen()
    os.write(go, b"g")
    if os.read(ready, 1) != b"s":
        sys.exit("the second network does not come up")
    status = subprocess.run(command, check=False).returncode
    os.kill(child, signal.SIGKILL)
    sys.exit(status if status >= 0 else 128 - status)


main()
