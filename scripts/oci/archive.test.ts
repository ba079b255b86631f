import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeArchive, writeMultiArchive } from "./archive.ts";
import { writeLayer } from "./layer.ts";
import { addedPaths, listTree } from "./tree.ts";

const scratch = mkdtempSync(join(tmpdir(), "oci-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const packed = 1_700_000_000;

/** Like an installed system: files of packages have the times of the packages, and the installation wrote others at `installed`. */
function makeRoot(name: string, installed = packed + 1000): string {
  const root = join(scratch, name);
  mkdirSync(join(root, "usr/bin"), { recursive: true });
  writeFileSync(join(root, "usr/bin/tool"), "tool\n");
  chmodSync(join(root, "usr/bin/tool"), 0o755);
  utimesSync(join(root, "usr/bin/tool"), packed, packed);
  linkSync(join(root, "usr/bin/tool"), join(root, "usr/bin/same"));
  symlinkSync("tool", join(root, "usr/bin/link"));
  writeFileSync(join(root, "status"), "written by the installation\n");
  utimesSync(join(root, "status"), installed, installed);
  return root;
}

const digestOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

async function build(name: string, installed?: number): Promise<string> {
  const root = makeRoot(name, installed);
  const layer = await writeLayer({ root, paths: [...(await listTree(root)).keys()], newest: packed }, `${root}.layer`);
  const file = `${root}.tar`;
  writeArchive(
    { name: "localhost/tool:v1", architecture: "amd64", layers: [layer], defaults: { Cmd: ["tool"] }, created: packed },
    file,
  );
  return file;
}

test("the same files give the same archive, whenever they were installed", async () => {
  const first = await build("first", packed + 1000);
  const second = await build("second", packed + 2000);
  expect(digestOf(second)).toBe(digestOf(first));
});

test("an archive contains the files with their links, modes and times", async () => {
  const file = await build("third");
  const extracted = join(scratch, "extracted");
  mkdirSync(extracted);
  execFileSync("tar", ["--extract", "--file", file, "--directory", extracted]);
  const blob = (digest: string): string => join(extracted, "blobs", digest.replace(":", "/"));
  const read = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));
  const index = read(join(extracted, "index.json")) as { manifests: { digest: string }[] };
  const manifest = read(blob(index.manifests[0]?.digest ?? "")) as {
    config: { digest: string };
    layers: { digest: string }[];
  };
  const config = read(blob(manifest.config.digest)) as { created: string; rootfs: { diff_ids: string[] } };
  const layer = blob(manifest.layers[0]?.digest ?? "");
  const listed = execFileSync("tar", ["--list", "--verbose", "--utc", "--gzip", "--file", layer], { encoding: "utf8" });
  const owner = "root/root";
  const time = "2023-11-14 22:13";
  expect(listed.replaceAll(/ +/g, " ").replaceAll(/ \d+\/\d+ /g, ` ${owner} `)).toContain(
    `-rwxr-xr-x ${owner} 5 ${time} usr/bin/same`,
  );
  expect(listed).toContain("usr/bin/link -> tool");
  expect(listed).toContain("usr/bin/tool link to usr/bin/same");
  expect(listed).toContain(`${time} status`);
  expect(config.created).toBe("2023-11-14T22:13:20.000Z");
  const plain = execFileSync("gzip", ["--decompress", "--stdout", layer]);
  expect(config.rootfs.diff_ids).toEqual([`sha256:${createHash("sha256").update(plain).digest("hex")}`]);
});

test("an upper layer has the paths that are new or changed, and removes none", async () => {
  const root = makeRoot("layers");
  const lower = await listTree(root);
  writeFileSync(join(root, "usr/bin/tool"), "changed\n");
  mkdirSync(join(root, "opt"));
  const upper = await listTree(root);
  expect(addedPaths(lower, upper)).toEqual(["opt", "usr/bin/same", "usr/bin/tool"]);
  rmSync(join(root, "status"));
  expect(() => addedPaths(lower, new Map([...upper].filter(([path]) => path !== "status")))).toThrow(
    "it would remove status of the layer below",
  );
});

test("a folder that is left out is left out with its content", async () => {
  const root = makeRoot("left-out");
  const tree = await listTree(root, (path) => path === "usr/bin");
  expect([...tree.keys()]).toEqual(["status", "usr"]);
});

test("a path that does not exist fails the layer", async () => {
  const root = makeRoot("missing");
  const made = writeLayer({ root, paths: ["nothing"], newest: packed }, `${root}.layer`);
  await expect(made).rejects.toThrow("nothing: Cannot stat");
});

test("an archive for several architectures has one index with a manifest for each", async () => {
  const root = makeRoot("several");
  const layer = await writeLayer({ root, paths: ["status"], newest: packed }, `${root}.layer`);
  const image = { name: "localhost/tool:v1", layers: [layer], defaults: {}, created: packed };
  const file = `${root}.tar`;
  const digest = writeMultiArchive(
    [
      { ...image, architecture: "amd64" },
      { ...image, architecture: "arm64" },
    ],
    file,
  );
  const read = (path: string): unknown =>
    JSON.parse(execFileSync("tar", ["--extract", "--to-stdout", "--file", file, path], { encoding: "utf8" }));
  const annotations = { "io.containerd.image.name": image.name };
  expect(read("index.json")).toMatchObject({ manifests: [{ digest, annotations }] });
  expect(read(`blobs/${digest.replace(":", "/")}`)).toMatchObject({
    manifests: [
      { platform: { architecture: "amd64", os: "linux" } },
      { platform: { architecture: "arm64", os: "linux" } },
    ],
  });
});
