import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { extract } from "tar-stream";
import { beforeAll, describe, expect, test } from "vitest";
import { manifestOf, sources } from "./archive.test.support.ts";
import { type Manifest, memberHeader } from "./archive-format.ts";
import { measureMembers, readArchive, writeArchive } from "./archive-stream.ts";

const contents = {
  "layers/main.tar": randomBytes(3000),
  "claims/data.tar": randomBytes(1024),
  "volumes/scratch.tar": new Uint8Array(),
};

describe("the archive of a snapshot", () => {
  let manifest: Manifest;
  let archive: Buffer;
  beforeAll(async () => {
    manifest = await manifestOf(sources(contents));
    archive = await buffer(writeArchive(manifest, sources(contents)));
  });

  /** What a receiver of these bytes gets. Parts do not fit the blocks. */
  const receive = async (bytes: Uint8Array): Promise<Record<string, Buffer>> => {
    const received: Record<string, Buffer> = {};
    const parts = Array.from({ length: Math.ceil(bytes.length / 700) }, (_, i) =>
      bytes.subarray(700 * i, 700 * i + 700),
    );
    await readArchive(Readable.from(parts), {
      begin: async () => undefined,
      receive: async ({ name }, content) => {
        received[name] = await buffer(content);
      },
    });
    return received;
  };
  const refusal = async (bytes: Uint8Array): Promise<string> => {
    const error: unknown = await receive(bytes).catch((one: unknown) => one);
    expect(error).toMatchObject({ reason: "ArchiveInvalid" });
    return (error as Error).message;
  };
  const written = async (more: object, members: Readonly<Record<string, Uint8Array>> = contents): Promise<Buffer> => {
    const changed = { ...(await manifestOf(sources(members))), ...more } as Manifest;
    return buffer(writeArchive(changed, sources(members)));
  };

  test("its members come back, and it is a tar archive", async () => {
    expect(await receive(archive)).toEqual(
      Object.fromEntries(Object.entries(contents).map(([k, v]) => [k, Buffer.from(v)])),
    );
    const entries = extract();
    Readable.from([archive]).pipe(entries);
    const names: string[] = [];
    for await (const entry of entries) {
      names.push(entry.header.name);
      entry.resume();
    }
    expect(names).toEqual(["manifest.json", ...Object.keys(contents)]);
  });

  test("members that are larger than allowed are not measured to their end", async () => {
    await expect(measureMembers(sources(contents), { mostBytes: 3500 })).rejects.toMatchObject({
      reason: "QuotaExceeded",
    });
    expect((await measureMembers(sources(contents), { mostBytes: 4024 })).length).toBe(3);
  });

  test("an archive that ends early is refused, wherever it ends", async () => {
    for (let length = 0; length < archive.length; length += 97) {
      expect(await refusal(archive.subarray(0, length))).toContain("Cannot import the archive");
    }
    expect(await refusal(archive.subarray(0, -1))).toContain("it ends early");
  });

  test("every changed byte is found, except in the text of the manifest", async () => {
    const afterManifest = archive.indexOf(memberHeader("layers/main.tar", 3000));
    for (let at = afterManifest; at < archive.length; at += 61) {
      const changed = Buffer.from(archive);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(await refusal(changed)).toContain("Cannot import the archive");
    }
  });

  test.for([
    ["data after the end", () => Buffer.concat([archive, Buffer.from("x")]), "continues after its end"],
    ["an archive after the end", () => Buffer.concat([archive, archive]), "continues after its end"],
    ["no manifest", () => memberHeader("layers/main.tar", 3), "does not begin with a manifest"],
    ["a huge manifest", () => memberHeader("manifest.json", 2 ** 30), "does not begin with a manifest"],
    ["another format", () => written({ format: "tar" }), "not the archive of a snapshot"],
    ["a newer version", () => written({ version: 2 }), "format version 2"],
    ["another total size", () => written({ totalBytes: 1 }), "another total size"],
    ["an absolute path", () => written({}, { "/etc/passwd": randomBytes(3) }), 'invalid member "/etc/passwd"'],
    ["a path that leaves the folder", () => written({}, { "layers/../../x.tar": randomBytes(3) }), "invalid member"],
    [
      "a name that is too long",
      () => written({}, { [`layers/${"a".repeat(64)}.tar`]: randomBytes(3) }),
      "invalid member",
    ],
    ["a file of the store", () => written({}, { "snapshot.json": randomBytes(3) }), "invalid member"],
    [
      "memory in a snapshot without it",
      () => written({}, { ...contents, "checkpoint/pages.img": randomBytes(3) }),
      "depth Filesystem",
    ],
    ["no layer of the container", () => written({}, { "claims/data.tar": randomBytes(3) }), "layers are not those"],
    [
      "the layer of no container",
      () => written({}, { ...contents, "layers/other.tar": randomBytes(3) }),
      "layers are not those",
    ],
  ] as const)("refuses %s", async ([, make, message]) => {
    expect(await refusal(await make())).toContain(message);
  });

  test.for([
    ["depth", "Everything", "depth of the snapshot is unknown"],
    ["depth", "Memory", "depth Memory"],
    ["containers", [{ name: "../main", reference: "a", image: "b" }], "name of a container"],
    ["epoch", -1, "epoch"],
    ["sandbox", "a\nb", "Sandbox"],
    ["namespace", "../x", "namespace"],
    ["memoryVolumes", ["other"], "volume that the archive does not have"],
    ["name", "a\u0000b", "name"],
  ] as const)("refuses a manifest with %s = %j", async ([field, value, message]) => {
    const bytes = await written({ snapshot: { ...manifest.snapshot, [field]: value } });
    expect(await refusal(bytes)).toContain(message);
  });

  test("refuses a member that is named twice, or is larger than its header says", async () => {
    const twice = {
      ...manifest,
      members: [...manifest.members, ...manifest.members],
      totalBytes: 2 * manifest.totalBytes,
    };
    expect(await refusal(await buffer(writeArchive(twice, [...sources(contents), ...sources(contents)])))).toContain(
      "twice",
    );
    const larger = Buffer.from(archive);
    larger.write("00000007777\0", larger.indexOf(memberHeader("layers/main.tar", 3000)) + 124, "latin1");
    expect(await refusal(larger)).toContain("unexpected header");
  });
});
