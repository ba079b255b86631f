import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "@agent-sandbox/kube";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { type Served, TestCluster } from "../../packages/router/src/cluster.test.support.ts";
import { openBrowser } from "../e2e/browser/open-browser.ts";

const cluster = new TestCluster();
const folder = mkdtempSync(join(tmpdir(), "router-browser-"));
const requests: Record<string, unknown>[] = [];
/** Sends messages of several sizes, each over its own WebSocket, and shows the size of the echoes. */
const html = `<script type="module">
  const echoed = (size) => new Promise((resolve) => {
    const socket = new WebSocket(location.origin.replace("http", "ws") + "/echo");
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(new Uint8Array(size));
    socket.onerror = () => resolve("failed");
    socket.onmessage = ({ data }) => {
      socket.close(1000);
      resolve(data.byteLength);
    };
  });
  const lengths = await Promise.all([1, 70000, 3000000].map(echoed));
  document.body.innerHTML = "<p id=echoed>" + lengths + "</p>";
</script>`;
let browser: Browser;
let pod: Served;
let address: string;

/** Collects the access log, which has the method of each request. */
const log: Logger = {
  debug: () => undefined,
  info: (fields, message) => void (message === "request" && requests.push({ ...fields })),
  warn: () => undefined,
  error: () => undefined,
};

beforeAll(async () => {
  const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:*.default.localhost"];
  execFileSync("openssl", ["req", "-x509", ...key, ...names, "-days", "2", "-out", certFile], { stdio: "pipe" });
  pod = await cluster.serve((_, response) => response.setHeader("content-type", "text/html").end(html));
  new WebSocketServer({ server: pod.server }).on("connection", (socket) => {
    socket.on("message", (data, binary) => socket.send(data, { binary }));
  });
  await cluster.pod(await cluster.sandbox("box"), pod.ip);
  const router = await cluster.router({ secure: { port: 0, certFile, keyFile, mtls: "off" }, log });
  address = `${pod.port}-box.default.localhost:${router.secureAddress?.port}`;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await cluster[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

test("a browser opens WebSockets over its HTTP/2 connection", async () => {
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  await page.goto(`https://${address}/`);
  const shown = await page.textContent("#echoed");
  const answers = () =>
    requests.filter(({ path }) => path === "/echo").map(({ method, status }) => [method, status].join(" "));
  // Compared together: a failure shows how the router answered.
  await expect
    .poll(() => ({ shown, answers: answers() }))
    .toEqual({ shown: "1,70000,3000000", answers: Array(3).fill("CONNECT 200") });
});
