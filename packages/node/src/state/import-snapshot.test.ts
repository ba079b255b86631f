import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { sandboxSnapshots } from "@agent-sandbox/api";
import { pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { layoutOf } from "../layout.ts";
import type { Machine } from "../pod/machine.ts";
import { namespaces } from "../resources.ts";
import { openTestApi, type TestApi } from "../testing/test-api.ts";
import { manifestOf, sources } from "./archive.test.support.ts";
import { writeArchive } from "./archive-stream.ts";
import { ImageVault } from "./image-vault.ts";
import { importSnapshot } from "./import-snapshot.ts";
import type { PlainMemory } from "./plain-memory.ts";
import { SnapshotRoom } from "./snapshot-room.ts";
import { SnapshotStore } from "./snapshot-store.ts";
import { StateKeys } from "./state-keys.ts";

const quota = {
  snapshots: 9,
  snapshotsPerNamespace: 9,
  snapshotsPerSandbox: 1,
  snapshotBytes: 2 ** 30,
  snapshotBytesPerNamespace: 5 << 20,
};

describe("archives that are imported at the same time", () => {
  let dataDir: string;
  let api: TestApi;
  let machine: Machine;
  let archive: Uint8Array;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "import-"));
    api = openTestApi();
    const layout = layoutOf(dataDir);
    const room = new SnapshotRoom({ quota, folder: dataDir, reserve: { diskFreeBytes: 0, inodesFree: 0 } });
    const vault = new ImageVault(new StateKeys([]), {} as PlainMemory);
    machine = { layout, vault, snapshots: new SnapshotStore(layout), snapshotRoom: room } as unknown as Machine;
    for (const name of ["one", "two"]) await api.client.create(namespaces, { metadata: { name } });
    const layer = pack();
    layer.entry({ name: "data", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }, Buffer.alloc(2 << 20, 7));
    layer.finalize();
    const members = sources({ "layers/main.tar": await buffer(layer) });
    archive = await buffer(writeArchive(await manifestOf(members), members));
  });
  afterEach(() => rm(dataDir, { recursive: true, force: true }));

  /** Sends an archive, whose last part waits for `rest`. */
  async function* slowly(rest: Promise<void>): AsyncGenerator<Uint8Array> {
    yield archive.subarray(0, 64 << 10);
    await rest;
    yield archive.subarray(64 << 10);
  }
  const load = (name: string, rest: Promise<void>, namespace = "one"): Promise<unknown> =>
    importSnapshot({ machine, client: api.client }, { namespace, name, content: slowly(rest) });
  const refusal = expect.objectContaining({ reason: "QuotaExceeded" });
  const names = (): (string | undefined)[] => api.server.readAll(sandboxSnapshots).map(({ metadata }) => metadata.name);

  test("exceed no limit together, and a refused one leaves nothing", async () => {
    const sent = Promise.withResolvers<void>();
    const loading = ["a", "b", "c"].map((name) => load(name, sent.promise));
    // The third is refused while the first two are still being sent.
    const refused = await Promise.any(
      loading.map((one) =>
        one.then(
          () => Promise.reject(new Error("imported")),
          (error: unknown) => error,
        ),
      ),
    );
    expect(refused).toEqual(refusal);
    sent.resolve();
    const results = await Promise.allSettled(loading);
    // Which one is the last to be admitted is open.
    const imported = ["a", "b", "c"].filter((_name, index) => results[index]?.status === "fulfilled");
    expect(imported).toHaveLength(2);
    expect(new Set(names())).toEqual(new Set(imported));
    expect(await readdir(join(machine.layout.stateDir, "snapshots"))).toHaveLength(2);
    await expect(load("d", sent.promise)).rejects.toEqual(refusal);
    await load("d", sent.promise, "two");
  });

  test("one that fails gives its room back", async () => {
    const closed = Promise.withResolvers<void>();
    const failed = load("a", closed.promise);
    closed.promise.catch(() => undefined);
    closed.reject(new Error("the connection was closed"));
    await expect(failed).rejects.toThrow("the connection was closed");
    await load("b", Promise.resolve());
    await load("c", Promise.resolve());
    expect(names()).toEqual(["b", "c"]);
  });
});
