import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadKubeconfig } from "../../kubeconfig/load.ts";
import { HostileApi, json } from "../http/hostile-api.test.support.ts";
import { HttpTransport } from "../http/http-transport.ts";
import { ExecCredentials, type ExecOptions, type ExecPlugin } from "./exec-plugin.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "exec-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const v1 = "client.authentication.k8s.io/v1";
const printing = (status: object): string =>
  `echo '${JSON.stringify({ apiVersion: v1, kind: "ExecCredential", status })}'`;

function script(body: string): string {
  const path = join(folder, "plugin");
  writeFileSync(path, `#!/bin/sh\necho run >> "${folder}/runs"\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

const runs = (): number =>
  existsSync(join(folder, "runs")) ? readFileSync(join(folder, "runs"), "utf8").trim().split("\n").length : 0;

function credentials(body: string, options: ExecOptions = {}, over: Partial<ExecPlugin> = {}): ExecCredentials {
  return new ExecCredentials({ apiVersion: v1, command: script(body), args: [], env: {}, ...over }, options);
}

describe("an exec plugin", () => {
  test("is run once for many requests, with its arguments, environment and cluster information", async () => {
    const source = credentials(
      `printf '%s|%s|%s' "$1" "$X" "$KUBERNETES_EXEC_INFO" > "${folder}/told"\n${printing({ token: "t" })}`,
      {},
      {
        args: ["login"],
        env: { X: "y" },
        cluster: { server: "https://x" },
      },
    );
    const all = await Promise.all(Array.from({ length: 10 }, () => source.get()));
    expect(new Set(all.map(({ authorization }) => authorization))).toEqual(new Set(["Bearer t"]));
    expect(runs()).toBe(1);
    const info = {
      apiVersion: v1,
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server: "https://x" } },
    };
    expect(readFileSync(join(folder, "told"), "utf8")).toBe(`login|y|${JSON.stringify(info)}`);
  });

  test("is run again just before its credential expires", async () => {
    let now = Date.UTC(2026, 0, 1);
    const source = credentials(printing({ token: "t", expirationTimestamp: "2026-01-01T01:00:00Z" }), {
      now: () => now,
    });
    await source.get();
    now += 3_589_000;
    await source.get();
    expect(runs()).toBe(1);
    now += 1_000;
    await source.get();
    expect(runs()).toBe(2);
  });

  test("is run again when the server rejects the credential, but not every time", async () => {
    let now = 0;
    const source = credentials(printing({ token: "t" }), { now: () => now });
    const refused = await source.get();
    await source.renew(refused);
    expect(runs()).toBe(2);
    now = 4_999;
    await source.renew(refused);
    expect(runs()).toBe(2);
    now = 5_000;
    await source.renew(refused);
    await source.renew(refused);
    expect(runs()).toBe(3);
  });

  test.for<[string, string, RegExp]>([
    [
      "fails",
      "echo 'please log in' >&2; exit 3",
      /Cannot get a credential from ".*plugin": it ended with exit code 3; it printed to stderr: please log in/,
    ],
    ["prints text", "echo hello", /it did not print valid JSON/],
    ["kills itself", "kill -9 $$", /it ended with SIGKILL/],
    ["prints without end", "yes", /it printed more than 1048576 bytes/],
    ["prints endless errors", "head -c 5000000 /dev/zero | tr '\\0' e >&2; exit 1", /it printed to stderr: e{2048}$/],
    [
      "hangs with its child processes",
      "echo wait >&2; sleep 600 & sleep 600",
      /it did not end within 2000 ms; it printed to stderr: wait/,
    ],
    [
      "leaves a process that keeps its output open",
      `setsid sh -c "while [ -e '$0' ]; do sleep 0.1; done" &`,
      /it did not end within 2000 ms/,
    ],
  ])("that %s gives one clear error", async ([, body, message]) => {
    const source = credentials(body, { timeoutMs: body.includes("sleep") ? 2_000 : 30_000 });
    await expect(source.get()).rejects.toMatchObject({
      reason: "Unreachable",
      message: expect.stringMatching(message),
    });
  });

  test("that is missing gives an error with the install hint", async () => {
    const source = credentials(
      "",
      {},
      { command: join(folder, "absent"), installHint: "install it from the app store" },
    );
    await expect(source.get()).rejects.toThrow(/command not found; install it from the app store/);
  });

  test("is found relative to the kubeconfig and run again on 401", async () => {
    script(
      `test -f "${folder}/second" && ${printing({ token: "new" })} || ${printing({ token: "old" })}; touch "${folder}/second"`,
    );
    await using api = await HostileApi.start((request, response) =>
      json(response, {}, request.headers.authorization === "Bearer new" ? 200 : 401),
    );
    const path = join(folder, "config");
    const config = {
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server: api.url } }],
      users: [{ name: "u", user: { exec: { apiVersion: v1, command: "./plugin", provideClusterInfo: true } } }],
    };
    writeFileSync(path, JSON.stringify(config));
    const { access } = await loadKubeconfig({ path });
    if (!access) throw new Error("no access");
    const transport = new HttpTransport(access);
    expect((await transport.send({ method: "GET", path: "/" })).status).toBe(200);
    await transport.close();
    expect(runs()).toBe(2);
  });
});
