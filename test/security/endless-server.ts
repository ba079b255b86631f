import type { Tenant, WantedPod } from "./tenant.ts";

/** Answers in place of sandboxd, on its ports, with one line or message that never ends. */
const program = `
import http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True: self.wfile.write(b"x" * 65536)
        except OSError: pass
        self.close_connection = True
    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer
threading.Thread(target=server(("0.0.0.0", 8080), Handler).serve_forever).start()
server(("0.0.0.0", 9090), Handler).serve_forever()
`;

const wanted: WantedPod = {
  spec: {
    containers: [
      {
        name: "main",
        image: "host",
        command: ["python3", "-c", program],
        readinessProbe: { tcpSocket: { port: 9090 }, periodSeconds: 1 },
      },
    ],
  },
};

/** A sandbox of an attacker that answers calls of the runtime API itself. */
export const endlessServer: { start(tenant: Tenant, name: string): Promise<void> } = {
  start: async (tenant, name) => void (await tenant.runSandbox(name, wanted)),
};
