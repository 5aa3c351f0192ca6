"""Inside the sandbox: tries every way out, and prints what came of each, `name: outcome`."""

import ctypes
import os
import socket
import ssl
import sys
import time
import urllib.request

PROXY = ("127.0.0.1", 61128)
HOST = "api.allowed.test"


def talk(data, *more, until=None):
    """Sends to the proxy; the first line of the answer, or how it ended."""
    stream = socket.create_connection(PROXY, timeout=15)
    try:
        stream.sendall(data)
        for part in more:
            stream.sendall(part)
        answer = b""
        while b"\r\n\r\n" not in answer:
            got = stream.recv(4096)
            if not got:
                break
            answer += got
        return answer
    except OSError as error:
        return type(error).__name__.encode()
    finally:
        stream.close()


def status(answer):
    words = answer.split(b" ")
    return words[1].decode() if answer.startswith(b"HTTP/1.") else (answer.decode() or "closed")


def connect(authority):
    return status(talk(b"CONNECT " + authority + b" HTTP/1.1\r\nHost: " + authority + b"\r\n\r\n"))


def get(url, host, more=b""):
    return status(talk(b"GET " + url + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + more + b"\r\n"))


def tunnel(authority=f"{HOST}:443"):
    stream = socket.create_connection(PROXY, timeout=15)
    stream.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        got = stream.recv(1)
        if not got:
            raise OSError("closed")
        head += got
    if not head.startswith(b"HTTP/1.1 200"):
        raise OSError(head.split(b"\r\n")[0].decode())
    return stream


def hello(sni):
    """A TLS client hello for a name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = context.wrap_bio(incoming, outgoing, server_hostname=sni)
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def extended(data, kind, content):
    """The same hello with one more extension (RFC 8446, 4.1.2)."""
    body, at = bytearray(data[9:]), 34
    at += 1 + body[at]
    at += 2 + int.from_bytes(body[at:at + 2], "big")
    at += 1 + body[at]
    more = kind.to_bytes(2, "big") + len(content).to_bytes(2, "big") + content
    size = int.from_bytes(body[at:at + 2], "big") + len(more)
    body[at:at + 2] = size.to_bytes(2, "big") + more
    message = b"\x01" + len(body).to_bytes(3, "big") + bytes(body)
    return data[:3] + len(message).to_bytes(2, "big") + message


# The outer half of an encrypted hello (RFC 9849, 5): suite, key, and what hides the name.
HIDDEN = bytes([0, 0, 1, 0, 1, 7, 0, 32]) + b"k" * 32 + bytes([0, 64]) + b"h" * 64


def answers(data, pieces=1, pause=0):
    """Whether anything comes back from behind the tunnel."""
    stream = tunnel()
    try:
        size = max(1, len(data) // pieces)
        for at in range(0, len(data), size):
            stream.sendall(data[at:at + size])
            time.sleep(pause)
        got = stream.recv(16)
        # The kind of a TLS record (RFC 8446, 5.1).
        kinds = {b"\x16": "answered", b"\x15": "alert", b"": "closed"}
        return kinds.get(got[:1], str(got))
    except (OSError, TimeoutError) as error:
        return "closed" if isinstance(error, ConnectionError) else type(error).__name__
    finally:
        stream.close()


def socks(request):
    stream = socket.create_connection(PROXY, timeout=15)
    try:
        stream.sendall(b"\x05\x01\x00")
        if stream.recv(2) != b"\x05\x00":
            return "no socks"
        stream.sendall(request)
        got = stream.recv(10)
        return str(got[1]) if len(got) > 1 else "closed"
    except OSError as error:
        return type(error).__name__
    finally:
        stream.close()


def named(name, port=443, command=1):
    return socks(bytes([5, command, 0, 3, len(name)]) + name + port.to_bytes(2, "big"))


def mapped(address, port):
    six = socket.inet_pton(socket.AF_INET6, "::ffff:" + address)
    return socks(b"\x05\x01\x00\x04" + six + port.to_bytes(2, "big"))


def literal(address, port):
    return socks(b"\x05\x01\x00\x01" + socket.inet_aton(address) + port.to_bytes(2, "big"))


def direct(address, port=443, kind=socket.SOCK_STREAM):
    """Past the proxy."""
    try:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        stream = socket.socket(family, kind)
        stream.settimeout(2)
        stream.connect((address, port))
        stream.send(b"x" * 32)
        return "sent" if kind == socket.SOCK_STREAM else str(stream.recv(1))
    except OSError:
        return "refused"


def family(number, kind=socket.SOCK_STREAM):
    try:
        socket.socket(number, kind)
        return "open"
    except OSError:
        return "refused"


def unix(address):
    """To a socket of the machine."""
    try:
        with socket.socket(socket.AF_UNIX) as stream:
            stream.connect(address)
            return "open"
    except OSError:
        return "refused"


def io_uring():
    """Another way to every system call of a socket (`io_uring_setup`)."""
    ring = ctypes.CDLL(None, use_errno=True).syscall(425, 8, ctypes.create_string_buffer(120))
    return "open" if ring >= 0 else "refused"


def fetch(url, opener=urllib.request.urlopen):
    try:
        with opener(url, timeout=15) as reply:
            return f"{reply.status} {reply.read(5).decode()}"
    except OSError as error:
        return f"failed {getattr(error, 'code', '')}".strip()


def lookup(name):
    try:
        socket.getaddrinfo(name, 443)
        return "found"
    except OSError:
        return "unknown"


def many(count):
    """Tunnels at one time: some are taken, the rest refused, and the proxy goes on."""
    streams = [socket.create_connection(PROXY, timeout=15) for _ in range(count)]
    words = f"CONNECT {HOST}:443 HTTP/1.1\r\nHost: {HOST}:443\r\n\r\n".encode()
    lines = []
    for stream in streams:
        try:
            stream.sendall(words)
        except OSError:
            pass
    for stream in streams:
        try:
            lines.append(stream.recv(12)[9:12])
        except OSError:
            lines.append(b"")
    for stream in streams:
        stream.close()
    taken = lines.count(b"200")
    time.sleep(0.3)
    return f"{'some' if 0 < taken < count else taken}, then {connect(HOST.encode() + b':443')}"


def again():
    """A second request on a connection that stays open, to another host."""
    stream = socket.create_connection(PROXY, timeout=15)
    for host in (HOST, "other.denied.test"):
        stream.sendall(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        time.sleep(0.2)
    answer = b""
    try:
        while True:
            got = stream.recv(4096)
            if not got:
                break
            answer += got
    except OSError:
        pass
    return str(answer.count(b"HTTP/1.1 200"))


def relay():
    """A proxy of the program's own inside changes nothing: it has no other way out than this one."""
    server = socket.create_server(("127.0.0.1", 0))
    pid = os.fork()
    if pid == 0:
        try:
            client, _ = server.accept()
            data = client.recv(4096)
            client.sendall(talk(data))
            client.close()
        finally:
            os._exit(0)
    stream = socket.create_connection(server.getsockname(), timeout=15)
    stream.sendall(b"CONNECT other.denied.test:443 HTTP/1.1\r\nHost: other.denied.test:443\r\n\r\n")
    answer = stream.recv(4096)
    os.waitpid(pid, 0)
    return status(answer)


def without_variables(url):
    """A client that heeds no variables, or is told to heed none."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return fetch(url, opener.open)


def no_proxy_at_all(url):
    """What a program says that wants to go past every proxy."""
    before = dict(os.environ)
    os.environ.update(NO_PROXY="*", no_proxy="*")
    try:
        return fetch(url)
    finally:
        os.environ.update(before)


name = HOST.encode()
ROWS = [
    ("allowed host", lambda: connect(name + b":443")),
    ("allowed host, fetched", lambda: fetch(f"https://{HOST}/")),
    ("allowed host, plain", lambda: fetch(f"http://{HOST}/")),
    ("denied host", lambda: connect(b"other.denied.test:443")),
    ("denied host, plain", lambda: get(b"http://other.denied.test/", b"other.denied.test")),
    ("subdomain", lambda: connect(b"x.api.allowed.test:443")),
    ("parent", lambda: connect(b"allowed.test:443")),
    ("look-alike", lambda: connect(b"evilapi.allowed.test:443")),
    ("suffix of another", lambda: connect(b"api.allowed.test.evil.test:443")),
    ("port not listed", lambda: connect(name + b":8443")),
    ("port 22", lambda: connect(name + b":22")),
    ("port 0", lambda: connect(name + b":0")),
    ("no port", lambda: connect(name)),
    ("trailing dot", lambda: connect(name + b".:443")),
    ("upper case", lambda: connect(name.upper() + b":443")),
    ("punycode", lambda: connect(b"xn--bcher-kva.allowed.test:443")),
    ("Unicode", lambda: connect("bücher.allowed.test:443".encode())),
    ("NUL", lambda: connect(name + b"\0.evil.test:443")),
    ("CRLF", lambda: connect(name + b"\r\nX: y:443")),
    ("space", lambda: connect(name + b" .evil.test:443")),
    ("percent", lambda: connect(b"api%2eallowed.test:443")),
    ("user", lambda: connect(name + b"@other.denied.test:443")),
    ("zone id", lambda: connect(b"[fe80::1%25eth0]:443")),
    ("decimal address", lambda: connect(b"1572394766:443")),
    ("hex address", lambda: connect(b"0x5db8d70e:443")),
    ("octal address", lambda: connect(b"0135.0270.0327.016:443")),
    ("address", lambda: connect(b"93.184.215.14:443")),
    ("mapped address", lambda: connect(b"[::ffff:93.184.215.14]:443")),
    ("loopback", lambda: connect(b"127.0.0.1:443")),
    ("loopback, short", lambda: connect(b"127.1:443")),
    ("localhost", lambda: connect(b"localhost:443")),
    ("metadata", lambda: connect(b"169.254.169.254:80")),
    ("private", lambda: connect(b"10.7.0.5:443")),
    ("name to loopback", lambda: connect(b"loop.inside.test:443")),
    ("name to metadata", lambda: connect(b"meta.inside.test:80")),
    ("name to private", lambda: connect(b"private.inside.test:443")),
    ("name to own address", lambda: connect(b"own.inside.test:443")),
    ("mixed answers", lambda: connect(b"mixed.inside.test:443")),
    ("rebinding, first", lambda: connect(b"rebind.inside.test:443")),
    ("rebinding, second", lambda: connect(b"rebind.inside.test:443")),
    ("name of the list of hosts", lambda: connect(b"listed.inside.test:443")),
    ("the same to private", lambda: connect(b"listed-private.inside.test:443")),
    ("no such name", lambda: connect(b"nothing.inside.test:443")),
    ("SNI as asked", lambda: answers(hello(HOST))),
    ("SNI of another", lambda: answers(hello("other.denied.test"))),
    ("SNI of the same address", lambda: answers(hello("evilapi.allowed.test"))),
    ("no SNI", lambda: answers(hello(None))),
    ("hidden name", lambda: answers(extended(hello(HOST), 0xFE0D, HIDDEN))),
    ("hidden name, draft", lambda: answers(extended(hello(HOST), 0xFFCE, HIDDEN))),
    ("unknown extension", lambda: answers(extended(hello(HOST), 0xFAFA, HIDDEN))),
    ("hello in pieces", lambda: answers(hello(HOST), pieces=10_000, pause=0.0005)),
    ("no TLS on 443", lambda: answers(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")),
    ("SSH on 443", lambda: answers(b"SSH-2.0-x\r\n")),
    ("silent hello", lambda: answers(hello(HOST)[:20])),
    ("slow hello", lambda: answers(hello(HOST), pieces=20, pause=0.4)),
    ("Host of another", lambda: get(b"http://api.allowed.test/", b"other.denied.test")),
    ("two Hosts", lambda: get(b"http://api.allowed.test/", name, b"Host: other.denied.test\r\n")),
    ("two lengths", lambda: get(b"http://api.allowed.test/", name,
                                b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")),
    ("second request elsewhere", again),
    ("WebSocket", lambda: get(b"http://api.allowed.test/", name,
                              b"Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
                              b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                              b"Sec-WebSocket-Version: 13\r\n")),
    ("WebSocket by its address", lambda: get(b"ws://api.allowed.test/", name)),
    ("upgrade, unconnected", lambda: get(b"http://api.allowed.test/", name,
                                         b"Upgrade: websocket\r\n")),
    ("offer of HTTP/2, not passed on", lambda: get(b"http://api.allowed.test/", name,
                                      b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                                      b"HTTP2-Settings: AAMAAABk\r\n")),
    ("no absolute form", lambda: get(b"/", name)),
    ("https in absolute form", lambda: get(b"https://api.allowed.test/", name)),
    ("large head", lambda: get(b"http://api.allowed.test/", name,
                               b"X: " + b"y" * 20_000 + b"\r\n")),
    ("SOCKS, allowed", lambda: named(name)),
    ("SOCKS, denied", lambda: named(b"other.denied.test")),
    ("SOCKS, NUL", lambda: named(b"other.denied.test\0.api.allowed.test")),
    ("SOCKS, NUL behind", lambda: named(name + b"\0.evil.test")),
    ("SOCKS, CRLF", lambda: named(name + b"\r\n.evil.test")),
    ("SOCKS, space", lambda: named(name + b" .evil.test")),
    ("SOCKS, percent", lambda: named(b"api%2eallowed.test")),
    ("SOCKS, Unicode", lambda: named("bücher.allowed.test".encode())),
    ("SOCKS, zone id", lambda: named(b"fe80::1%eth0")),
    ("SOCKS, decimal address", lambda: named(b"1572394766")),
    ("SOCKS, name to private", lambda: named(b"private.inside.test")),
    ("SOCKS, mapped address", lambda: mapped("93.184.215.14", 443)),
    ("SOCKS, address", lambda: literal("93.184.215.14", 443)),
    ("SOCKS, loopback", lambda: literal("127.0.0.1", 443)),
    ("SOCKS, bind", lambda: named(name, command=2)),
    ("SOCKS, UDP", lambda: named(name, command=3)),
    ("direct TCP", lambda: direct("93.184.215.14")),
    ("direct IPv6", lambda: direct("2606:4700::1111")),
    ("direct UDP", lambda: direct("93.184.215.14", 443, socket.SOCK_DGRAM)),
    ("direct DNS", lambda: direct("93.184.215.15", 53, socket.SOCK_DGRAM)),
    ("name lookup", lambda: lookup(HOST)),
    ("lookup of a secret", lambda: lookup("secret.evil.test")),
    ("machine's loopback", lambda: direct("127.0.0.1", int(sys.argv[1]))),
    ("machine's address", lambda: direct("93.184.215.1", int(sys.argv[1]))),
    ("own loopback", lambda: own_loopback()),
    ("raw socket", lambda: family(socket.AF_INET, socket.SOCK_RAW)),
    ("packet socket", lambda: family(socket.AF_PACKET, socket.SOCK_RAW)),
    ("unix socket", lambda: family(socket.AF_UNIX)),
    ("unix socket of the machine", lambda: unix("machine.sock")),
    ("abstract socket of the machine", lambda: unix("\0creance-machine")),
    ("io_uring", io_uring),
    ("vsock", lambda: family(socket.AF_VSOCK)),
    ("client without variables", lambda: without_variables(f"https://{HOST}/")),
    ("NO_PROXY=*", lambda: no_proxy_at_all(f"https://{HOST}/")),
    ("relay inside", relay),
    ("many at once", lambda: many(1_000)),
]


def own_loopback():
    server = socket.create_server(("127.0.0.1", 0))
    return direct("127.0.0.1", server.getsockname()[1])


for row, act in ROWS:
    try:
        outcome = act()
    except OSError as error:
        outcome = f"error {error}"
    print(f"{row}: {outcome}", flush=True)
