import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../clock.ts";
import { createApiServer } from "../create-api-server.ts";
import { silentLogger } from "../logger.ts";
import { backUpFolder, saveBackup } from "./back-up-folder.ts";
import { openStore } from "./open-store.ts";
import { restoreFolder } from "./restore.ts";
import type { Store } from "./store.ts";

let root: string;
let folder: string;
let file: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "apiserver-backup-"));
  folder = join(root, "data");
  file = join(root, "backup");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const open = (): Store => openStore(folder, { clock: systemClock, logger: silentLogger });

async function put(store: Store, name: string, value: string): Promise<number> {
  return store.write((_view, revision) => {
    const object = { apiVersion: "v1", kind: "T", metadata: { name, resourceVersion: String(revision) }, value };
    return { write: { resource: "things", key: name, object }, result: revision };
  });
}

const values = (store: Store): unknown[] => [...store.list("things")].map(({ object }) => object["value"]);

/** The content of all files of the data folder, except those that merely opening the store changes. */
function contents(): Record<string, string> {
  const idle = new Set(["lock", "server.pid", "store.db-shm"]);
  const isIdle = (name: string): boolean =>
    idle.has(name) || (name === "store.db-wal" && statSync(join(folder, name)).size === 0);
  const names = readdirSync(folder).filter((name) => !isIdle(name));
  return Object.fromEntries(
    names.sort().map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ]),
  );
}

describe("a backup", () => {
  test("of a running server contains its objects, but none that are written later", async () => {
    const store = open();
    await put(store, "a", "1");
    await put(store, "b", "1");
    await saveBackup(await store.backUp(), file);
    await put(store, "a", "2");
    await put(store, "c", "2");
    await store.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const restored = await restoreFolder(folder, file);
    expect(restored.objects).toBe(2);
    const again = open();
    expect(values(again)).toEqual(["1", "1"]);
    expect(again.revision).toBe(restored.revision);
    await again.close();
  });

  test("during writes shows the store at one moment", async () => {
    const store = open();
    const stop = new AbortController();
    const writer = (async () => {
      for (let at = 0; !stop.signal.aborted; at += 1) {
        // Both are in one transaction, so a copy must show both or none.
        await Promise.all([put(store, "left", String(at)), put(store, "right", String(at))]);
      }
    })();
    await put(store, "x", "x".repeat(500_000));
    // A transaction interferes with about one copy in fifty.
    for (let copies = 0; copies < 100; copies += 1) {
      const unwanted = await store.backUp();
      await once(unwanted.destroy(), "close");
    }
    const packed = await store.backUp();
    stop.abort();
    await saveBackup(packed, file);
    await writer;
    await store.close();
    await restoreFolder(folder, file);
    const again = open();
    const [left, right] = values(again);
    expect(left).toBe(right);
    await again.close();
  });

  test("of a stopped or killed server contains its objects", async () => {
    const store = open();
    await put(store, "a", "1");
    await expect(backUpFolder(folder, file)).rejects.toThrow(/it is in use by process/);
    await store.close();
    const before = contents();
    await backUpFolder(folder, file);
    expect(contents()).toEqual(before);
    rmSync(folder, { recursive: true });
    await restoreFolder(folder, file);
    const again = open();
    expect(values(again)).toEqual(["1"]);
    await again.close();
  });

  test("is refused while another one is running", async () => {
    const store = open();
    const first = await store.backUp();
    await expect(store.backUp()).rejects.toMatchObject({ reason: "TooManyRequests" });
    await saveBackup(first, file);
    await saveBackup(await store.backUp(), file);
    await store.close();
    expect(readdirSync(folder)).not.toContain("backup.tmp");
  });

  test("contains all files of the data folder, so that clients trust the restored server", async () => {
    const server = await createApiServer({ dataDir: folder });
    const { authority, token } = await server.listen();
    await server.close();
    await backUpFolder(folder, file);
    const kept = Object.keys(contents());
    rmSync(folder, { recursive: true });
    await restoreFolder(folder, file);
    expect(Object.keys(contents())).toEqual(kept);
    const again = await createApiServer({ dataDir: folder });
    expect(await again.listen()).toMatchObject({ authority, token });
    await again.close();
  });
});

describe("restoring", () => {
  test("gives every object a new revision and makes every watch list again", async () => {
    const store = open();
    await put(store, "a", "1");
    await saveBackup(await store.backUp(), file);
    for (let at = 0; at < 50; at += 1) await put(store, "b", String(at));
    const newest = store.revision;
    await store.close();
    await restoreFolder(folder, file);
    const again = open();
    expect(again.get("things", "a")?.revision).toBeGreaterThan(newest + 100_000);
    expect(again.get("things", "a")?.object.metadata.resourceVersion).toBe(String(again.get("things", "a")?.revision));
    for (const resource of ["things", "never-seen"]) {
      expect(again.position(resource, newest)).toBeUndefined();
      expect(again.listAt(resource, newest)).toBeUndefined();
      expect(again.position(resource, again.revision)).toBe(0);
    }
    expect(await put(again, "a", "2")).toBe(again.revision);
    await again.close();
    const third = open();
    expect(third.position("never-seen", newest)).toBeUndefined();
    await third.close();
  });

  test("keeps the replaced store with its write-ahead log", async () => {
    const store = open();
    await saveBackup(await store.backUp(), file);
    await put(store, "late", "1");
    await store.close();
    await restoreFolder(folder, file);
    const old = mkdtempSync(join(root, "old-"));
    writeFileSync(join(old, "store.db"), readFileSync(join(folder, "store.db.before-restore")));
    const before = openStore(old, { clock: systemClock, logger: silentLogger });
    expect(values(before)).toEqual(["1"]);
    await before.close();
  });

  test("replaces a damaged store", async () => {
    const store = open();
    await put(store, "a", "1");
    await saveBackup(await store.backUp(), file);
    await store.close();
    writeFileSync(join(folder, "store.db"), "damaged ".repeat(1000));
    const { revision } = await restoreFolder(folder, file);
    expect(revision).toBeGreaterThan(1_000_000_000);
    const again = open();
    expect(values(again)).toEqual(["1"]);
    await again.close();
  });

  test("is refused while a server is running", async () => {
    const store = open();
    await saveBackup(await store.backUp(), file);
    await expect(restoreFolder(folder, file)).rejects.toThrow(/it is in use by process/);
    await put(store, "a", "1");
    await store.close();
  });

  const changed = (change: (bytes: Buffer) => Buffer): Buffer => gzipSync(change(gunzipSync(readFileSync(file))));

  test.for([
    ["a file of another kind", () => Buffer.from("a letter"), /it is not one, or it is damaged/],
    ["a torn file", () => readFileSync(file).subarray(0, -100), /it is not one, or it is damaged/],
    [
      "a file with changed bytes",
      () => {
        const bytes = readFileSync(file);
        // More than one byte, because a single one may be padding between two compressed blocks.
        const from = bytes.length >> 1;
        for (let at = from; at < from + 16; at += 1) bytes[at] = (bytes[at] ?? 0) ^ 0x40;
        return bytes;
      },
      /damaged/,
    ],
    ["a packed store", () => gzipSync(readFileSync(join(folder, "store.db"))), /belongs to another program/],
    ["nothing, packed", () => gzipSync(""), /is not a database/],
    [
      "a newer format",
      () => changed((bytes) => (bytes.writeUInt32BE(2, 60), bytes)),
      /its format is 2, this program reads 1/,
    ],
    ["a truncated copy", () => changed((bytes) => bytes.subarray(0, bytes.length - 8192)), /damaged/],
  ] as const)("%s is refused and changes nothing", async ([, make, message]) => {
    const store = open();
    // Random content: in the compressed form of repeated bytes, a changed bit may not change the result.
    for (let at = 0; at < 30; at += 1) await put(store, `k${at}`, randomBytes(500).toString("base64"));
    await saveBackup(await store.backUp(), file);
    await store.close();
    const before = contents();
    writeFileSync(file, make());
    await expect(restoreFolder(folder, file)).rejects.toThrow(message);
    expect(contents()).toEqual(before);
  });

  test("an aborted restore changes nothing", async () => {
    const store = open();
    await put(store, "kept", "text");
    await saveBackup(await store.backUp(), file);
    await store.close();
    const before = contents();
    await expect(restoreFolder(folder, file, AbortSignal.abort())).rejects.toThrow(/aborted/);
    expect(contents()).toEqual(before);
  });
});
