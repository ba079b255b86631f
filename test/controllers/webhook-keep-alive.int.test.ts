import { createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { issueCertificate } from "@agent-sandbox/apiserver";
import { silentLogger } from "@agent-sandbox/kube";
import { expect, onTestFinished, test } from "vitest";
import { serveWebhook } from "../../packages/controllers/src/manager/webhook-server.ts";

const hourMs = 3_600_000;

test("the conversion webhook keeps idle connections longer than kube-apiserver does", async () => {
  const folder = mkdtempSync(join(tmpdir(), "webhook-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const times = { notBeforeMs: Date.now() - hourMs, notAfterMs: Date.now() + hourMs };
  const authority = issueCertificate({ commonName: "authority", ...times });
  const issuer = { commonName: "authority", key: createPrivateKey(authority.key) };
  const pair = issueCertificate({ commonName: "webhook", names: ["127.0.0.1"], ...times }, issuer);
  const files = { certificate: join(folder, "tls.crt"), key: join(folder, "tls.key") };
  writeFileSync(files.certificate, pair.certificate);
  writeFileSync(files.key, pair.key);
  await using webhook = await serveWebhook({ address: { host: "127.0.0.1", port: 0 }, files, log: silentLogger });
  const agent = new Agent({ keepAlive: true, ca: authority.certificate });
  onTestFinished(() => agent.destroy());
  const sent = request({ host: "127.0.0.1", port: webhook.port, path: "/convert", method: "POST", agent }).end("{}");
  const [response] = await once(sent, "response");
  response.resume();
  // Go clients close idle connections after 90 seconds. If the server closes first, a request can meet the reset.
  const [, seconds] = /timeout=(\d+)/.exec(String(response.headers["keep-alive"])) ?? [];
  expect(Number(seconds)).toBeGreaterThan(90);
});
