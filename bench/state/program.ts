/** The program whose memory is saved: a web server that holds memory and counts its requests. */
import { connect } from "node:net";
import { text } from "node:stream/consumers";

export const port = 8080;

// No page is zero: zero pages are not saved. The response is one packet, and the connection ends with it.
const source = `
import os, socket, sys
memory = bytearray(os.urandom(1 << 20)) * int(sys.argv[1])
server = socket.create_server(("", ${port}), backlog=128)
count = 0
while True:
    client, _ = server.accept()
    client.recv(65536)
    count += 1
    body = str(count).encode()
    client.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    client.close()
`;

/** The command of a server that holds that much memory, in addition to its interpreter's. */
export function serverCommand(memoryMib: number): readonly string[] {
  return ["python3", "-c", source, String(memoryMib)];
}

/** The number of requests that the server at this address has answered, this one included. */
export async function countedRequests(address: string): Promise<number> {
  const socket = connect({ host: address, port, noDelay: true });
  socket.end("GET / HTTP/1.1\r\nHost: bench\r\n\r\n");
  const response = await text(socket);
  const count = /\r\n\r\n(\d+)$/.exec(response)?.[1];
  if (count === undefined) throw new Error(`Cannot measure: the server answered ${JSON.stringify(response)}`);
  return Number(count);
}
