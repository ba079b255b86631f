import { createHash } from "node:crypto";
import { chmod, copyFile, mkdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { hasCode, messageOf, NodeError } from "../errors.ts";
import type { Layout } from "../layout.ts";
import { namesIn } from "../system/folders.ts";
import { type Image, sandboxdImageName } from "./image-store.ts";
import { imagesInUse } from "./in-use.ts";

/**
 * The built-in image with one file, the daemon that runs inside sandboxes. The image is named after the file's digest, so
 * that a new build, which may appear while the node runs, does not affect Pods that use an earlier one.
 */
export function sandboxdImage(layout: Layout, program: string): () => Promise<Image> {
  // Pods that start together share one copy: each of two copies would remove the other as unused.
  let opened: { readonly mark: string; readonly image: Promise<Image> } | undefined;
  return async () => {
    const { ino, size, mtimeMs } = await stat(program).catch((error: unknown) => {
      const hint = hasCode(error, "ENOENT") ? `"${program}" does not exist; run "make build"` : messageOf(error);
      throw new NodeError("ErrImagePull", `Cannot use the image "${sandboxdImageName}": ${hint}`, { cause: error });
    });
    const mark = `${ino} ${size} ${mtimeMs}`;
    if (opened?.mark !== mark) opened = { mark, image: openAfter(opened?.image, layout, program) };
    const current = opened;
    return await current.image.catch((error: unknown) => {
      if (opened === current) opened = undefined;
      throw error;
    });
  };
}

/** Waits for the previous copy, so that only one runs at a time. */
async function openAfter(before: Promise<Image> | undefined, layout: Layout, program: string): Promise<Image> {
  await before?.catch(() => undefined);
  return await openImage(layout, program);
}

async function openImage(layout: Layout, program: string): Promise<Image> {
  const digest = createHash("sha256")
    .update(await readFile(program))
    .digest("hex");
  const id = `${sandboxdImageName}-${digest.slice(0, 16)}`;
  const folder = join(layout.imagesDir, id);
  await writeOnce(folder, program);
  await removeOthers(layout, id);
  return {
    id,
    layers: [folder],
    config: {
      entrypoint: ["/sandboxd"],
      command: [],
      environment: new Map(),
      workingDir: "/",
      mounts: [],
    },
  };
}

async function removeOthers(layout: Layout, id: string): Promise<void> {
  const needed = new Set([...(await imagesInUse(layout)), id]);
  const others = (await namesIn(layout.imagesDir)).filter(
    (name) => name.startsWith(`${sandboxdImageName}-`) && !needed.has(name),
  );
  await Promise.all(others.map((name) => rm(join(layout.imagesDir, name), { recursive: true, force: true })));
}

async function writeOnce(folder: string, program: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined)) !== undefined) return;
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
