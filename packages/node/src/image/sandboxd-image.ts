import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { type Image, sandboxdImageName } from "./image-store.ts";

/**
 * The built-in image with the daemon that runs inside sandboxes: one file. It is named after the file's content, so that
 * a newer one takes nothing away from the Pods that have the one before.
 */
export async function openSandboxdImage(layout: Layout, program: string): Promise<Image> {
  const content = await readFile(program).catch((error: unknown) => {
    const hint = hasCode(error, "ENOENT") ? `there is no "${program}"; run "make build"` : String(error);
    throw new NodeError("ErrImagePull", `Cannot use the image "${sandboxdImageName}": ${hint}`, { cause: error });
  });
  const id = `${sandboxdImageName}-${createHash("sha256").update(content).digest("hex").slice(0, 16)}`;
  const folder = join(layout.imagesDir, id);
  await writeOnce(folder, program);
  return {
    id,
    layers: [folder],
    config: {
      entrypoint: ["/sandboxd"],
      command: [],
      environment: new Map(),
      workingDir: "/",
      mounts: [],
      hiddenPaths: [],
    },
  };
}

async function writeOnce(folder: string, program: string): Promise<void> {
  const temporary = `${folder}.new-${process.pid}`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true, mode: 0o755 });
  await chmod(temporary, 0o755);
  await copyFile(program, join(temporary, "sandboxd"));
  await chmod(join(temporary, "sandboxd"), 0o755);
  await rename(temporary, folder).catch(async (error: unknown) => {
    if (!hasCode(error, "ENOTEMPTY", "EEXIST")) throw error;
    await rm(temporary, { recursive: true, force: true });
  });
}
