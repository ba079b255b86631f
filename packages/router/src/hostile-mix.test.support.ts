import { once } from "node:events";
import { request } from "node:http";
import { type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { WebSocket } from "ws";

/** What the attacker knows: the router, another tenant's sandboxes, and invalid tokens. */
export interface Prey {
  readonly host: string;
  readonly port: number;
  /** Sandboxes that the attacker may not connect to, and their ports. */
  readonly sandbox: string;
  readonly sandboxPort: number;
  readonly podIp: string;
  /** The attacker's own sandbox and the token for it. */
  readonly own: string;
  readonly ownToken: string;
  /** Expired, forged, or for another sandbox. */
  readonly badTokens: readonly string[];
}

/** An attack. Returns everything that the router sent. */
type Attack = (prey: Prey, turn: number) => Promise<string>;

/** How long a busy machine may take to begin a response, and then a second one to a smuggled request. */
const [beginMs, moreMs] = [5000, 150];

/** Sends bytes and returns the response until the connection ends or a timeout. */
async function raw({ host, port }: Prey, bytes: string): Promise<string> {
  const socket = connect(port, host);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => undefined);
  socket.write(Buffer.from(bytes, "latin1"));
  const closed = new Promise((resolve) => socket.on("close", resolve));
  const begun = new Promise((resolve) => socket.once("data", resolve));
  await Promise.race([closed, begun, sleep(beginMs)]);
  await Promise.race([closed, sleep(moreMs)]);
  socket.destroy();
  return Buffer.concat(chunks).toString("latin1");
}

const head = (...lines: string[]): string => `${lines.join("\r\n")}\r\n\r\n`;
const naming = ({ sandbox, sandboxPort }: Prey): string[] => [
  "Host: x",
  `X-Sandbox-ID: ${sandbox}`,
  `X-Sandbox-Port: ${sandboxPort}`,
];
const ours = ({ own, sandboxPort, ownToken }: Prey): string[] => [
  "Host: x",
  `X-Sandbox-ID: ${own}`,
  `X-Sandbox-Port: ${sandboxPort}`,
  `Authorization: Bearer ${ownToken}`,
];
const pick = <T>(list: readonly T[], turn: number): T => list[turn % list.length] as T;

/** Each smuggles a request to another tenant's sandbox behind one to the attacker's own. */
const smuggle: Attack = (prey, turn) => {
  const hidden = head("GET /hidden HTTP/1.1", ...naming(prey));
  const length = `Content-Length: ${hidden.length}`;
  const [headers, body] = pick(
    [
      [["Content-Length: 6", "Transfer-Encoding: chunked"], "0\r\n\r\n"],
      [["Transfer-Encoding: chunked", "Content-Length: 4"], "0\r\n\r\n"],
      [["Content-Length: 0", length], ""],
      [["Transfer-Encoding: xchunked"], "0\r\n\r\n"],
      [["Transfer-Encoding : chunked"], "0\r\n\r\n"],
      [["Transfer-Encoding:\x0bchunked"], "0\r\n\r\n"],
      [["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], "0\r\n\r\n"],
      [["X-A: a\rTransfer-Encoding: chunked"], "0\r\n\r\n"],
      [["X-A: a\nTransfer-Encoding: chunked"], "0\r\n\r\n"],
      [["Transfer-Encoding: chunked"], "1;a=\x00\r\nx\r\n0\r\n\r\n"],
      [["Transfer-Encoding: chunked"], "0\r\nX-Sandbox-ID: victim\r\n\r\n"],
      [["Transfer-Encoding: chunked"], `1\r\nxx\r\n0\r\n\r\n`],
      [["Connection: content-length", "Content-Length: 0"], ""],
    ] as const,
    turn,
  );
  return raw(prey, head("POST / HTTP/1.1", ...ours(prey), ...headers) + body + hidden);
};

const spoof: Attack = (prey, turn) => {
  const headers = pick(
    [
      [...ours(prey), `X-Sandbox-Pod-IP: ${prey.podIp}`],
      [...ours(prey), `X-Sandbox-ID: ${prey.sandbox}`],
      [...ours(prey), `x-sandbox-id: ${prey.sandbox}`],
      [...ours(prey), `X_Sandbox_ID: ${prey.sandbox}`],
      [...naming(prey), "X-Sandbox-Token: guessed"],
      [...naming(prey), `Authorization: Bearer ${prey.ownToken}`],
      [...naming(prey), `Cookie: agent-sandbox-session=${prey.ownToken}`],
      [`Host: ${prey.sandboxPort}-${prey.sandbox}.default.localhost`, `Authorization: Bearer ${prey.ownToken}`],
      [
        "Host: x",
        "X-Forwarded-Host: router",
        `X-Original-URL: /sandboxes/default/${prey.sandbox}/${prey.sandboxPort}/`,
      ],
    ],
    turn,
  );
  return raw(prey, head("GET /spoof HTTP/1.1", ...headers, "Connection: close"));
};

const badToken: Attack = (prey, turn) => {
  const token = pick(prey.badTokens, turn);
  return raw(prey, head("GET /token HTTP/1.1", ...naming(prey), `Authorization: Bearer ${token}`, "Connection: close"));
};

const path: Attack = (prey, turn) => {
  const { own, sandbox, sandboxPort, ownToken } = prey;
  const target = `/sandboxes/default/${own}/${sandboxPort}`;
  const tricky = pick(
    [
      `${target}/../../${sandbox}/${sandboxPort}/`,
      `/sandboxes/default/${own}%2f..%2f${sandbox}/${sandboxPort}/`,
      `/sandboxes/default/%2e%2e/default/${sandbox}/${sandboxPort}/`,
      `/sandboxes/default/${sandbox}%00/${sandboxPort}/`,
      `/sandboxes//default/${sandbox}/${sandboxPort}/`,
      `http://${sandboxPort}-${sandbox}.default.localhost/`,
      `//${sandbox}.default.localhost/`,
      `${target}/..;/..;/${sandbox}`,
    ],
    turn,
  );
  return raw(prey, head(`GET ${tricky} HTTP/1.1`, "Host: x", `Authorization: Bearer ${ownToken}`, "Connection: close"));
};

const oversize: Attack = (prey, turn) => {
  const count = pick([100_000, 5000, 0], turn);
  const headers = Array.from({ length: count }, (_, index) => `x${index}: 1`);
  return raw(prey, head("GET / HTTP/1.1", ...naming(prey), ...headers, `X-Long: ${"x".repeat(100_000)}`));
};

/** Headers and a body sent byte by byte, and a silent connection. */
const slow: Attack = async (prey) => {
  const socket = connect(prey.port, prey.host);
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1"))).on("error", () => undefined);
  const bytes = head("POST /slow HTTP/1.1", ...ours(prey), "Content-Length: 1000");
  const silent = connect(prey.port, prey.host).on("error", () => undefined);
  for (let index = 0; index < 40 && !socket.destroyed; index += 1) {
    socket.write(bytes.slice(index * 8, index * 8 + 8));
    await sleep(25);
  }
  socket.destroy();
  silent.destroy();
  return text;
};

const socket: Attack = async ({ host, port, sandbox, sandboxPort, badTokens }, turn) => {
  const headers = { "x-sandbox-id": sandbox, "x-sandbox-port": String(sandboxPort) };
  const authorization = `Bearer ${pick(badTokens, turn)}`;
  const attempt = new WebSocket(`ws://${host}:${port}/`, { headers: { ...headers, authorization } });
  return await new Promise((resolve) => {
    attempt.on("error", (error) => resolve(error.message));
    attempt.on("message", (data) => resolve((data as Buffer).toString("latin1")));
    attempt.on("close", () => resolve("closed"));
  });
};

/** HTTP/2: spoofed names, WebSockets and tunnels with invalid tokens, unknown protocols, and streams that are reset at once. */
const http2: Attack = async (prey, turn) => {
  const { host, port, sandbox, sandboxPort, badTokens, own, ownToken } = prey;
  const session = connectHttp2(`http://${host}:${port}`).on("error", () => undefined);
  const victim = { "x-sandbox-id": sandbox, "x-sandbox-port": String(sandboxPort) };
  const [bad, good] = [badTokens, [ownToken]].map((tokens) => ({ authorization: `Bearer ${pick(tokens, turn)}` }));
  const upgrade = { ":method": "CONNECT", ":protocol": "websocket", ":path": "/", "sec-websocket-version": "13" };
  const tunnel = { ":method": "CONNECT", ":authority": `${sandbox}.default.localhost:${sandboxPort}` };
  const ours = { ...victim, "x-sandbox-id": own, ...good };
  const asked = [
    { ":path": "/", ...ours },
    { ":path": "/", ...victim, ...bad },
    { ":path": "/", ...victim, ...good },
    { ":path": "/", ...ours, host: `${sandboxPort}-${sandbox}.default.localhost` },
    { ":path": "/", ...ours, "x-sandbox-pod-ip": prey.podIp },
    { ...upgrade, ...victim, ...bad },
    { ...upgrade, ...victim, ...good },
    { ...upgrade, ...ours, ":protocol": "connect-udp" },
    { ...tunnel, ...bad },
    { ...tunnel, ...good },
    { ...tunnel, "proxy-authorization": bad?.authorization ?? "", ...good },
  ];
  try {
    await Promise.race([once(session, "remoteSettings"), sleep(beginMs)]);
    for (let count = 0; count < 100; count += 1) {
      const quick = session.request({ ":path": "/", ...ours }).on("error", () => undefined);
      quick.close(constants.NGHTTP2_CANCEL);
    }
    const answers = await Promise.all(asked.map((headers) => answerTo(session.request(headers))));
    return answers.join("\n");
  } catch {
    return "";
  } finally {
    session.destroy();
  }
};

/** Reads from a stream for a while. */
async function answerTo(stream: ClientHttp2Stream): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", () => undefined);
  const closed = new Promise((resolve) => stream.on("close", resolve));
  await Promise.race([closed, new Promise((resolve) => stream.once("response", resolve)), sleep(beginMs)]);
  await Promise.race([closed, sleep(moreMs)]);
  return Buffer.concat(chunks).toString("latin1");
}

/** An aborted upload with a huge Content-Length. */
const hangUp: Attack = (prey) =>
  new Promise((resolve) => {
    const headers = Object.fromEntries(ours(prey).map((line) => line.split(": ") as [string, string]));
    const { host, port } = prey;
    const asked = request({
      host,
      port,
      method: "POST",
      agent: false,
      headers: { ...headers, "content-length": 10 ** 10 },
    });
    asked.on("error", () => resolve(""));
    asked.on("close", () => resolve(""));
    asked.write(Buffer.alloc(256 * 1024), () => asked.destroy());
  });

export const attacks: Readonly<Record<string, Attack>> = {
  smuggle,
  spoof,
  badToken,
  path,
  oversize,
  slow,
  socket,
  hangUp,
  http2,
};
