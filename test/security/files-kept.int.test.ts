import { sandboxes } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods, type Tenant } from "./tenant.ts";
import { isPodReady, until } from "./until.ts";
import { noWorld } from "./why-no-world.ts";
import { enterWorld, type World } from "./world.ts";

const keepRootfs = "agents.x-k8s.io/keep-rootfs";

describe.skipIf(noWorld)("kept root filesystems and addresses", () => {
  let world: World;
  let mallory: Tenant;
  let victimUid: string;
  beforeAll(async () => {
    world = await enterWorld();
    mallory = await world.tenant();
    victimUid = world.alice.record.uids["web"] ?? "";
  });
  afterAll(async () => {
    await mallory?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test.for(["gvisor", "runc"] as const)(
    "a Pod under %s with the UID of the victim's Sandbox can neither read nor write the victim's files",
    async (runtime, { skip }) => {
      if (!world.runtimes.includes(runtime)) skip();
      const name = `thief-${runtime}`;
      const pod = await mallory.runPod(name, { runtime, metadata: { annotations: { [keepRootfs]: victimUid } } });
      expect(
        await mallory.shell(name, "touch /planted; cat /private/diary 2>/dev/null; ls -d /private 2>&1"),
      ).toContain("No such file");
      await until(async () => ((await mallory.events(name)).join().includes("KeepRootfsIgnored") ? true : undefined));
      expect(Object.values(world.alice.record.pods).map(({ address }) => address)).not.toContain(pod.status?.podIP);
      await mallory.removePod(name);
      expect(await world.alice.shell("web", "ls /planted 2>&1")).toContain("No such file");
    },
  );

  test("an owner reference to the victim's Sandbox is refused", async () => {
    const reference = { apiVersion: sandboxes.apiVersion, kind: "Sandbox", uid: victimUid, controller: true };
    const annotations = { [keepRootfs]: victimUid };
    for (const name of ["web", "mine"]) {
      const metadata = { ownerReferences: [{ ...reference, name }], annotations };
      await expect(mallory.createPod("forged", { metadata })).rejects.toMatchObject({ code: 403 });
    }
    expect(await world.alice.harm()).toEqual([]);
  });

  test("a template's annotation does not give a Sandbox another's files", async () => {
    const metadata = { annotations: { [keepRootfs]: victimUid } };
    await mallory.runSandbox("copycat", { metadata });
    expect(await mallory.shell("copycat", "ls -d /private 2>&1")).toContain("No such file");
    expect((await mallory.pod("copycat")).metadata?.annotations?.[keepRootfs]).not.toBe(victimUid);
    expect(await world.alice.harm()).toEqual([]);
  });

  test("a tenant's own Sandbox finds its files in its next Pod", async () => {
    const { metadata } = await mallory.runSandbox("keeper");
    await mallory.shell("keeper", "echo mine >/mine");
    await mallory.client.delete(pods, { namespace: mallory.namespace, name: "keeper" }, { gracePeriodSeconds: 0 });
    await mallory.podUntil("keeper", (pod) => pod.metadata?.uid !== metadata?.uid && isPodReady(pod));
    expect(await mallory.shell("keeper", "cat /mine")).toBe("mine");
  });
});
