"""A server that counts in memory. It answers each message of a WebSocket, and each line of a TCP connection, with the
number of messages on that connection, the number of all messages, and the message itself. `GET /open` is answered with the
number of open connections."""

import asyncio
import base64
import contextlib
import hashlib
import os

# Memory that a suspension must give back to the machine: random, so that no page can be left out.
ballast = os.urandom(64 * 1024 * 1024)
total = 0
open_connections = 0


async def answers(reader, writer):
    count = 0
    with counted():
        while line := await reader.readline():
            count += 1
            await answer(writer, count, line.rstrip(b"\n"), lambda text: text + b"\n")
        writer.close()


@contextlib.contextmanager
def counted():
    """Counts a connection while it is open."""
    global open_connections
    open_connections += 1
    try:
        yield
    except (ConnectionError, EOFError):
        pass
    finally:
        open_connections -= 1


async def answer(writer, count, text, frame):
    global total
    total += 1
    writer.write(frame(b"%d %d %s" % (count, total, text)))
    await writer.drain()


async def serve(reader, writer):
    head = await reader.readuntil(b"\r\n\r\n")
    lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
    key = next((line.split(b": ", 1)[1] for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key")), None)
    if key is None:
        body = b"%d" % open_connections if head.startswith(b"GET /open ") else b"%d %s" % (total, lines.get(b"x-sandbox-epoch", b"none"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
        writer.close()
        return
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept)
    with counted():
        await frames(reader, writer)


async def frames(reader, writer):
    count = 0
    while True:
        first, second = await reader.readexactly(2)
        size = second & 127
        if size == 126:
            size = int.from_bytes(await reader.readexactly(2), "big")
        mask = await reader.readexactly(4)
        data = bytes(byte ^ mask[at % 4] for at, byte in enumerate(await reader.readexactly(size)))
        if first & 15 == 8:
            writer.close()
            return
        count += 1
        await answer(writer, count, data, lambda text: bytes([0x81, len(text)]) + text)


async def main():
    await asyncio.start_server(answers, "0.0.0.0", 9000)
    await asyncio.start_server(serve, "0.0.0.0", 8000)
    await asyncio.Event().wait()


asyncio.run(main())
