import { sandboxes, sandboxSnapshots } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods, secrets } from "../../packages/node/src/resources.ts";
import { cannotRun, namespace, StateBox, soon } from "./state-box.ts";
import { askIn, type Known, witnessPod } from "./witness.ts";

/** `make test-state-long` sets 100. */
const forks = Number(process.env["STATE_FORKS"] ?? 10);

const spec = { podTemplate: witnessPod };
const from = (name: string) => ({ ...spec, restoreFrom: { snapshotRef: { name } } });

describe.skipIf(cannotRun)("forks of forks, of suspended and of deleted Sandboxes", { timeout: 900_000 }, () => {
  let box: StateBox;
  let source: Known;

  beforeAll(async () => {
    box = await StateBox.start();
  }, 180_000);
  afterAll(() => box?.[Symbol.asyncDispose](), 300_000);

  test("a fork of a fork, and a fork of a Sandbox that is suspended", async () => {
    await box.run("source", spec);
    source = await askIn(box, "source", "count");
    await box.snapshot("first", "source");
    await box.run("child", from("first"));
    await askIn(box, "child", "count");
    await box.suspend("child");
    await box.snapshot("second", "child");
    await box.run("grandchild", from("second"));
    await box.resume("child");
    const { identity } = source;
    expect(await askIn(box, "grandchild")).toMatchObject({ identity, count: 2, file: 2, name: "grandchild", epoch: 2 });
    expect(await askIn(box, "child")).toMatchObject({ identity, count: 2, name: "child", epoch: 2 });
    expect(await askIn(box, "source")).toMatchObject({ identity, count: 1, name: "source", epoch: 0 });
    await Promise.all(["child", "grandchild"].map((name) => box.delete(name)));
  });

  test("a fork whose source and snapshot are deleted meanwhile has its memory, or says what is missing", async () => {
    await box.run("short", spec);
    const { identity } = await askIn(box, "short");
    await box.snapshot("kept", "short", { deletionPolicy: "Retain" });
    await box.snapshot("owned", "short");
    await Promise.all([
      box.create("of-kept", from("kept")),
      box.create("of-owned", from("owned")),
      box.delete("short"),
    ]);
    await box.ready("of-kept");
    expect((await askIn(box, "of-kept")).identity).toBe(identity);
    const outcome = async (): Promise<string | undefined> => {
      const { status, reason } = (await box.condition("of-owned", "Ready")) ?? {};
      return status === "True" ? (await askIn(box, "of-owned")).identity : reason;
    };
    await expect.poll(outcome, soon).toBeOneOf([identity, "SnapshotNotFound"]);
    await expect.poll(() => box.exists(sandboxSnapshots, "owned"), soon).toBe(false);
    await Promise.all(["of-kept", "of-owned"].map((name) => box.delete(name)));
  });

  test(`each of ${forks} forks has its own name, address, token, random numbers and epoch`, async () => {
    await box.run("injected", { ...spec, runtime: "Injected" });
    const { identity } = await askIn(box, "injected", "count");
    const before = await podOfSource();
    await box.snapshot("many", "injected");
    const names = Array.from({ length: forks }, (_, index) => `fork-${index}`);
    await Promise.all(names.map((name) => box.create(name, { ...from("many"), runtime: "Injected" })));
    await box.ready(...names);
    const shortfalls = names.map(async (name) => (await box.condition(name, "Restored"))?.message);
    expect((await Promise.all(shortfalls)).filter((message) => /failed|cannot/i.test(message ?? ""))).toEqual([]);
    const known = await Promise.all(names.map((name) => askIn(box, name)));
    expect(known).toEqual(
      names.map((name) => ({
        identity,
        count: 1,
        file: 1,
        epoch: 1,
        name,
        hostname: name,
        random: expect.any(String),
      })),
    );
    const all = await Promise.all(
      names.map(async (name) => {
        const { metadata, status } = await box.client.get(sandboxes, { namespace, name });
        const { data } = await box.client.get(secrets, { namespace, name: `${name}-runtime` });
        return [metadata.uid, status?.podIPs?.[0], data?.["token"]];
      }),
    );
    const different = [...all.flat(), ...known.map(({ random }) => random)];
    expect(different).not.toContain(undefined);
    expect(new Set(different).size).toBe(4 * forks);
    // The source has noticed nothing of them, and they nothing of what it does now.
    const own = { identity, file: 1, epoch: 0, name: "injected", hostname: "injected" };
    expect(await askIn(box, "injected")).toMatchObject({ ...own, count: 1 });
    expect(await askIn(box, "injected", "count")).toMatchObject({ ...own, count: 2, file: 2 });
    expect(await podOfSource()).toEqual(before);
    expect((await box.read("injected")).status?.suspension?.epoch ?? 0).toBe(0);
    const counts = await Promise.all(names.map(async (name) => (await askIn(box, name)).count));
    expect(counts).toEqual(names.map(() => 1));
  });

  /** What changes when the Pod of the source or one of its containers is started again. */
  async function podOfSource(): Promise<object> {
    const { metadata, status } = await box.client.get(pods, { namespace, name: "injected" });
    const containers = status?.containerStatuses?.map(({ containerID, restartCount, state, ready }) => {
      return { containerID, restartCount, state, ready };
    });
    return { uid: metadata?.uid, podIP: status?.podIP, containers };
  }
});
