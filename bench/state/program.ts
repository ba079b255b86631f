/** The program whose memory is saved: a web server that holds memory and counts its requests. */
import { connect } from "node:net";
import { text } from "node:stream/consumers";

export const port = 8080;

// No page of the memory is zero, because zero pages are not saved. A request reads a byte of each page of the mapped file.
const source = `
import mmap, os, socket, sys
memory = bytearray(os.urandom(1 << 20)) * int(sys.argv[1])
mapped = b""
if len(sys.argv) > 2:
    with open(sys.argv[2], "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
server = socket.create_server(("", ${port}), backlog=128)
count = 0
while True:
    client, _ = server.accept()
    client.recv(65536)
    count += 1
    for page in range(0, len(mapped), 4096):
        mapped[page]
    body = str(count).encode()
    client.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n%s" % (len(body), body))
    client.close()
`;

export interface ServerMemory {
  /** Memory that the server fills, in addition to its interpreter's. */
  readonly memoryMib: number;
  /** A file that the server maps and reads. */
  readonly mappedFile?: string;
}

export function serverCommand({ memoryMib, mappedFile }: ServerMemory): readonly string[] {
  return ["python3", "-c", source, String(memoryMib), ...(mappedFile === undefined ? [] : [mappedFile])];
}

// A thread for each connection answers every line with the number of lines on this connection so far.
const lineSource = `
import socketserver
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        for count, line in enumerate(self.rfile, 1):
            self.wfile.write(b"%d %s" % (count, line))
class Server(socketserver.ThreadingTCPServer):
    request_queue_size = 128
Server(("", ${port}), Handler).serve_forever()
`;

/** The command of a server that numbers the lines of each connection. */
export const lineServerCommand: readonly string[] = ["python3", "-c", lineSource];

/** The number of requests that the server at this address has answered, this one included. */
export async function countedRequests(address: string): Promise<number> {
  const socket = connect({ host: address, port, noDelay: true });
  socket.end("GET / HTTP/1.1\r\nHost: bench\r\n\r\n");
  const response = await text(socket);
  const count = /\r\n\r\n(\d+)$/.exec(response)?.[1];
  if (count === undefined) throw new Error(`Cannot measure: the server answered ${JSON.stringify(response)}`);
  return Number(count);
}
