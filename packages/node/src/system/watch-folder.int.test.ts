import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Runs a command in a user namespace without inotify instances, as if a sandbox had used them all up. */
const inNamespace = [
  "--user",
  "--map-root-user",
  "sh",
  "-c",
  'echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"',
  "sh",
];
const cannot = spawnSync("unshare", [...inNamespace, "true"]).status !== 0;
if (cannot) console.warn("skipped: it needs user namespaces");

test.skipIf(cannot)("a folder is followed when a sandbox has used up all watches of the kernel", async () => {
  const folder = await mkdtemp(join(tmpdir(), "watch-folder-int-"));
  try {
    const script = `
      import { watch } from "node:fs";
      import { watchFolder } from ${JSON.stringify(join(import.meta.dirname, "watch-folder.ts"))};
      try { watch(${JSON.stringify(folder)}); } catch (error) { console.log(error.code); }
      const watching = watchFolder(${JSON.stringify(folder)}, (name) => { console.log(String(name)); process.exit(); });
      setInterval(() => watching, 1000);
    `;
    const args = ["--conditions=source", "--input-type=module", "--eval", script];
    const { stdout, stderr } = spawnSync("unshare", [...inNamespace, process.execPath, ...args], { encoding: "utf8" });
    expect({ stdout, stderr }).toEqual({ stdout: "EMFILE\nundefined\n", stderr: "" });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
