import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openSealed, sealFile } from "./seal-file.ts";
import { StateKeys, stateKeyOf } from "./state-keys.ts";

const chunkBytes = 64;
const header = 52;
const sealedChunk = chunkBytes + 16;
const key = stateKeyOf(randomBytes(32));
const keys = new StateKeys([key]);
const name = "image/pages.img";

describe("sealed files", () => {
  let folder: string;
  let files = 0;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "sealed-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const seal = async (content: Uint8Array, sealName = name, sealKey = key): Promise<Buffer> => {
    const path = join(folder, `${files++}`);
    // Parts that do not fit the chunks, as a stream gives them.
    const parts = Array.from({ length: Math.ceil(content.length / 37) }, (_, i) =>
      content.subarray(37 * i, 37 * i + 37),
    );
    const bytes = await sealFile(Readable.from(parts), path, { key: sealKey, name: sealName, chunkBytes });
    expect(bytes).toBe(content.length);
    return readFile(path);
  };
  const unseal = async (sealed: Uint8Array, openName = name, openKeys = keys): Promise<Buffer> => {
    const path = join(folder, `${files++}`);
    await writeFile(path, sealed);
    return buffer(openSealed(path, { keys: openKeys, name: openName }));
  };
  const isDamaged = expect.objectContaining({ reason: "ImageDamaged" });

  test.for([0, 1, 63, 64, 65, 127, 128, 129, 1000])("%i bytes come back", async (length) => {
    const content = randomBytes(length);
    const sealed = await seal(content);
    expect(sealed.length).toBe(header + length + 16 * Math.max(1, Math.ceil(length / chunkBytes)));
    expect((await unseal(sealed)).equals(content)).toBe(true);
  });

  test("the content does not appear in the file, and no two files are equal", async () => {
    const content = Buffer.from("a secret that fills more than one chunk ".repeat(10));
    const [first, second] = [await seal(content), await seal(content)];
    expect(first.includes("secret")).toBe(false);
    expect(first.subarray(header).equals(second.subarray(header))).toBe(false);
  });

  test("a file that ends early is refused, wherever it ends", async () => {
    const sealed = await seal(Buffer.alloc(3 * chunkBytes, 1));
    for (let length = 0; length < sealed.length; length++) {
      await expect(unseal(sealed.subarray(0, length)), `${length} bytes`).rejects.toEqual(isDamaged);
    }
  });

  test("every flipped bit is found", async () => {
    const sealed = await seal(Buffer.alloc(chunkBytes + 10, 1));
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      const isKeyId = at >= 8 && at < 16;
      const reason = isKeyId ? "KeyUnavailable" : "ImageDamaged";
      await expect(unseal(changed), `byte ${at}`).rejects.toMatchObject({ reason });
    }
  });

  const chunk = (sealed: Buffer, index: number): Buffer =>
    sealed.subarray(header + index * sealedChunk, header + (index + 1) * sealedChunk);

  test.for([
    ["left out", (s: Buffer) => [chunk(s, 0), chunk(s, 2)]],
    ["exchanged", (s: Buffer) => [chunk(s, 1), chunk(s, 0), chunk(s, 2)]],
    ["repeated", (s: Buffer) => [chunk(s, 0), chunk(s, 0), chunk(s, 1), chunk(s, 2)]],
    ["added at the end", (s: Buffer) => [chunk(s, 0), chunk(s, 1), chunk(s, 2), chunk(s, 2)]],
    ["added as bytes", (s: Buffer) => [chunk(s, 0), chunk(s, 1), chunk(s, 2), Buffer.from("x")]],
  ] as const)("a chunk that is %s is found", async ([, change]) => {
    const sealed = await seal(randomBytes(3 * chunkBytes));
    await expect(unseal(Buffer.concat([sealed.subarray(0, header), ...change(sealed)]))).rejects.toEqual(isDamaged);
  });

  test("a chunk of another file, and a file under another name, are refused", async () => {
    const [own, other] = [await seal(randomBytes(3 * chunkBytes)), await seal(randomBytes(3 * chunkBytes))];
    const mixed = Buffer.concat([own.subarray(0, header), chunk(own, 0), chunk(other, 1), chunk(own, 2)]);
    await expect(unseal(mixed)).rejects.toEqual(isDamaged);
    await expect(unseal(own, "image/checkpoint.img")).rejects.toEqual(isDamaged);
    await expect(unseal(own, "other/pages.img")).rejects.toEqual(isDamaged);
  });

  test("without its key a file cannot be read; an older key still reads", async () => {
    const older = stateKeyOf(randomBytes(32));
    const sealed = await seal(Buffer.from("content"), name, older);
    await expect(unseal(sealed)).rejects.toMatchObject({
      reason: "KeyUnavailable",
      message: `Cannot read the image: it is encrypted with the key ${older.id}, and this node has other keys (see --state-key-file)`,
    });
    await expect(unseal(sealed, name, new StateKeys([]))).rejects.toMatchObject({ reason: "KeyUnavailable" });
    expect(String(await unseal(sealed, name, new StateKeys([key, older])))).toBe("content");
  });

  test.for(["", "ASSEAL1\n", "x".repeat(200)])("%j is not a sealed file", async (content) => {
    await expect(unseal(Buffer.from(content))).rejects.toEqual(isDamaged);
  });
});
