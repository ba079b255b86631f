import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type EmbeddedNode } from "../create-node.ts";
import { pods } from "../resources.ts";
import { isGone, isReady, namespace, nodeName, openTestApi, type TestApi } from "../testing/test-api.ts";
import { findTraces, noTraces } from "../testing/traces.ts";

describe("Pods under gVisor", () => {
  let dataDir: string;
  let api: TestApi;
  let node: EmbeddedNode;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "gvisor-int-"));
    api = openTestApi();
    node = await createNode({ client: api.client, nodeName, dataDir });
    await node.ready;
  });

  afterAll(async () => {
    await node?.teardown();
    await rm(dataDir, { recursive: true, force: true });
  });

  const run = async (
    pod: string,
    command: string[],
    input?: string,
  ): Promise<{ out: string; err: string; code: number }> => {
    const session = await node.podStreams.exec({ namespace, pod, command, tty: false, stdin: input !== undefined });
    session.stdin.end(input);
    const [out, err, { code }] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
    return { out, err, code };
  };
  const shell = async (pod: string, script: string): Promise<string> =>
    (await run(pod, ["sh", "-c", script])).out.trim();
  const remove = async (name: string, gracePeriodSeconds = 5): Promise<void> => {
    await api.client.delete(pods, { namespace, name }, { gracePeriodSeconds });
    await api.until(name, isGone);
  };

  test("is what a Pod gets that names no runtime, and its kernel answers", async () => {
    await api.create("first");
    const pod = await api.until("first", isReady);
    expect(pod.status?.containerStatuses?.[0]?.containerID).toMatch(/^gvisor:\/\//);
    expect(await shell("first", "dmesg | head -1")).toContain("Starting gVisor");
    expect(await shell("first", "hostname; hostname -I")).toBe(`first\n${pod.status?.podIP}`);
    expect(await run("first", ["sh", "-c", "echo out; echo err >&2; exit 7"])).toEqual({
      out: "out\n",
      err: "err\n",
      code: 7,
    });
    expect(await run("first", ["cat"], "through")).toEqual({ out: "through", err: "", code: 0 });
    await expect(run("first", ["no-such-program"])).rejects.toThrow(
      'Cannot run "no-such-program" in Pod "default/first"',
    );
    await remove("first");
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });
});
