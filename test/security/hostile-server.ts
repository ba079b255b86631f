import type { Tenant, WantedPod } from "./tenant.ts";

const port = 8000;

/** Responds with the headers of the request as a JSON body, and with the response headers that the query contains. */
const program = `
import http.server, json, urllib.parse
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        body = json.dumps({"headers": self.headers.items()}).encode()
        self.send_response(200)
        for name, value in json.loads(query.get("answer", ["[]"])[0]):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.ThreadingHTTPServer(("0.0.0.0", ${port}), Handler).serve_forever()
`;

const server: WantedPod = {
  spec: {
    containers: [
      {
        name: "main",
        image: "host",
        command: ["python3", "-c", program],
        readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
      },
    ],
  },
};

/** A sandbox of an attacker whose responses are chosen by the request. */
export const hostileServer: { readonly port: number; start(tenant: Tenant, name: string): Promise<void> } = {
  port,
  start: async (tenant, name) => void (await tenant.runSandbox(name, server)),
};

/** The request target for a response with these headers. */
export function answering(...headers: readonly (readonly [name: string, value: string])[]): string {
  return `/?answer=${encodeURIComponent(JSON.stringify(headers))}`;
}
