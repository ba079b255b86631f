import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type EmbeddedNode, removeNode } from "../create-node.ts";
import { findProgram } from "../system/find-program.ts";
import { cannotRun } from "../testing/runtimes.ts";
import { isReady, namespace, nodeName, openTestApi } from "../testing/test-api.ts";
import { statusOf } from "../testing/test-box.ts";
import { builtProgram } from "./built-program.ts";
import type { RuntimeRegistration } from "./oci-runtime.ts";

/** A working runc that reports the version of Debian 12. */
async function oldRunc(folder: string): Promise<string> {
  const program = join(folder, "runc");
  const real = await findProgram(builtProgram("runc") ?? "runc");
  const script = `#!/bin/sh\n[ "$1" != --version ] || { echo "runc version 1.1.5+ds1"; exit; }\nexec ${real} "$@"\n`;
  await writeFile(program, script);
  await chmod(program, 0o755);
  return program;
}

describe.skipIf(cannotRun)("a runc with known vulnerabilities", () => {
  const api = openTestApi();
  let folder: string;
  let dataDir: string;
  let registration: RuntimeRegistration;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "old-runc-"));
    dataDir = join(folder, "data");
    registration = { name: "old", program: await oldRunc(folder) };
  });
  afterAll(async () => {
    await removeNode({ dataDir, runtimes: [registration] });
    await rm(folder, { recursive: true, force: true });
  });

  function start(allowVulnerable: boolean, allowedRuntimes: readonly string[] = []): Promise<EmbeddedNode> {
    const runtimes = [{ ...registration, allowVulnerable }];
    return createNode({ client: api.client, nodeName, dataDir, runtimes, allowedRuntimes });
  }

  test("cannot be the default", async () => {
    const runtimes = [registration];
    const started = createNode({ client: api.client, nodeName, dataDir, runtimes, defaultRuntime: "old" });
    await expect(started).rejects.toThrow(
      'Cannot use runtime "old" by default: runc 1.1.5+ds1 has known vulnerabilities (CVE-2024-21626, CVE-2025-31133',
    );
  });

  test("starts Pods only with allowVulnerable, and keeps the containers it has", async () => {
    const spec = { runtimeClassName: "old" };
    const before = await start(true);
    await api.create("early", spec);
    expect(statusOf(await api.until("early", isReady))?.containerID).toMatch(/^old:/);
    await before.stop();

    await using after = await start(false, ["old"]);
    await after.ready;
    await api.create("late", spec);
    const late = await api.until("late", (pod) => statusOf(pod)?.state?.waiting?.message !== undefined);
    expect(statusOf(late)?.state?.waiting?.message).toContain('"old" is not supported by this node');
    const place = { namespace, pod: "early", command: ["echo", "still here"], tty: false, stdin: false };
    const session = await after.podStreams.exec(place);
    expect(await text(session.stdout)).toBe("still here\n");
    expect(statusOf(api.read("early"))?.state?.running).toBeDefined();
  });
});
