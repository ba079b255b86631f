/** A program in Python that answers one message of each WebSocket on port 9000 of loopback. */
export const webSocketServer: string = `
import base64, hashlib, socket
server = socket.socket()
server.bind(("127.0.0.1", 9000))
server.listen()
while True:
    client, _ = server.accept()
    head = part = client.recv(4096)
    while part and b"\\r\\n\\r\\n" not in head:
        part = client.recv(4096)
        head += part
    if not part:
        continue
    lines = [line.split(b": ", 1) for line in head.split(b"\\r\\n")]
    key = next(line[1] for line in lines if line[0].lower() == b"sec-websocket-key")
    accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    client.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Accept: " + accept + b"\\r\\n\\r\\n")
    frame = client.recv(4096)
    mask, data = frame[2:6], frame[6 : 6 + (frame[1] & 127)]
    text = b"you said " + bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
    client.sendall(bytes([0x81, len(text)]) + text)
    client.close()
`;

/** A command that ends when it listens. It does not connect: the program answers one client at a time. */
export const untilListening: string = "until grep -q ':2328 ' /proc/net/tcp; do sleep 0.05; done";
