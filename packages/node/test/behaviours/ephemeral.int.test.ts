import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Container, Pod } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode } from "../../src/create-node.ts";
import { pods } from "../../src/resources.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady, namespace, nodeName, openTestApi } from "../../src/testing/test-api.ts";
import { openTestBox, statusOf, type TestBox } from "../../src/testing/test-box.ts";

const idle = (name: string): Container => ({
  name,
  image: "host",
  command: ["sh", "-c", 'trap "exit 0" TERM; sleep 1000 & wait'],
});

/** Ephemeral containers, as `kubectl debug` creates them. */
describe.skipIf(cannotRun)("an ephemeral container", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const add = async (pod: string, container: Partial<Container> & { targetContainerName?: string }): Promise<void> => {
    const ephemeralContainers = [{ name: "look", image: "host", ...container }];
    const body = { spec: { ephemeralContainers } };
    await box.api.client.patch(pods, { namespace, name: pod }, { type: "merge", body });
  };
  /** The container has ended or was refused. */
  const hasSaid = (pod: Pod | undefined): boolean => {
    const { terminated, waiting } = statusOf(pod, "look")?.state ?? {};
    return terminated !== undefined || waiting?.message !== undefined;
  };
  const hasLooked = (pod: Pod | undefined): boolean => statusOf(pod, "look")?.state?.terminated !== undefined;

  describe.each(testedRuntimes)("%s", (runtimeClassName) => {
    test("sees the processes of its target container and does not affect the Pod", async () => {
      const name = `watched-${runtimeClassName}`;
      await box.create(name, { spec: { runtimeClassName, containers: [idle("main")] } });
      const before = await box.api.until(name, isReady);
      const command = ["sh", "-c", "hostname; ps ax | grep -q '[t]rap' && echo seen; cat /proc/1/root/etc/hostname"];
      // kubectl's default profile requests the capability.
      const securityContext = { capabilities: { add: ["SYS_PTRACE"] } };
      await add(name, { command, targetContainerName: "main", securityContext });
      const pod = await box.api.until(name, hasLooked);
      expect(pod.status?.ephemeralContainerStatuses).toMatchObject([
        { name: "look", state: { terminated: { exitCode: 0 } } },
      ]);
      expect([isReady(pod), statusOf(pod)?.containerID]).toEqual([true, statusOf(before)?.containerID]);
      expect(await box.log(name, "look")).toBe(`${name}\nseen\n${name}\n`);
      // The target container still has its network.
      expect(await box.shell(name, `getent hosts ${name} | wc -l`)).toBe("1");
      await box.remove(name);
    });

    test("shares the network of a Pod with several containers and reads stdin", async () => {
      const name = `several-${runtimeClassName}`;
      await box.create(name, { spec: { runtimeClassName, containers: [idle("a"), idle("b")] } });
      await box.api.until(name, isReady);
      await add(name, { stdin: true, stdinOnce: true, command: ["sh", "-c", "read -r word; hostname -i; echo $word"] });
      const { status } = await box.api.until(name, (one) => statusOf(one, "look")?.state?.running !== undefined);
      const session = await box.node.podStreams.attach({
        namespace,
        pod: name,
        container: "look",
        tty: false,
        stdin: true,
      });
      session.stdin.end("typed\n");
      await box.api.until(name, hasLooked);
      expect(await box.log(name, "look")).toBe(`${status?.podIP}\ntyped\n`);
      await box.remove(name);
    });
  });

  test.runIf(testedRuntimes.length > 1)("joins a Pod that started when another runtime was the default", async () => {
    const dataDir = await mkdtemp(join(tmpdir(), "node-int-"));
    const api = openTestApi();
    const start = async (defaultRuntime: string) => {
      const node = await createNode({ client: api.client, nodeName, dataDir, defaultRuntime });
      await node.ready;
      return node;
    };
    {
      await using _before = await start("runc");
      await api.create("older", { containers: [idle("main")] });
      await api.until("older", isReady);
    }
    const node = await start("gvisor");
    const look = { name: "look", image: "host", command: ["hostname"], targetContainerName: "main" };
    const body = { spec: { ephemeralContainers: [look] } };
    await api.client.patch(pods, { namespace, name: "older" }, { type: "merge", body });
    const pod = await api.until("older", hasSaid);
    await node.teardown();
    await rm(dataDir, { recursive: true, force: true });
    expect(statusOf(pod, "look")?.state).toMatchObject({ terminated: { exitCode: 0 } });
  });

  test("that the node refuses has a message, and the Pod continues", async () => {
    await box.create("refused", { spec: { containers: [idle("main")] } });
    await box.api.until("refused", isReady);
    await add("refused", { securityContext: { privileged: true } });
    const pod = await box.api.until("refused", (one) => statusOf(one, "look")?.state?.waiting?.message !== undefined);
    expect(statusOf(pod, "look")?.state?.waiting?.message).toContain(
      "spec.ephemeralContainers[0].securityContext.privileged",
    );
    expect(isReady(pod)).toBe(true);
    await box.remove("refused");
  });
});
