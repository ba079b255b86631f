import { readFile } from "node:fs/promises";
import {
  builtInImages,
  type ImportProgress,
  type ListedImage,
  NodeError,
  openNodeImages,
  type StoredImage,
} from "@agent-sandbox/node";
import { dataDirFrom } from "../box/box-paths.ts";
import type { GlobalOptions } from "../client/connect.ts";
import { formatAge, formatBytes } from "../client/format-amounts.ts";
import { Progress } from "../client/progress.ts";
import { SignalForwarder } from "../client/signals.ts";
import { formatTable } from "../client/table.ts";
import { CommandError } from "../command-error.ts";

type Images = Awaited<ReturnType<typeof openNodeImages>>;

/** Opens the image store in the data folder. Several processes can share it, so the box can be running or stopped. */
async function withImages<T>(options: GlobalOptions, work: (images: Images) => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) throw new CommandError("only root can manage images: run the command with sudo");
  try {
    return await work(await openNodeImages({ dataDir: dataDirFrom(options.dataDir, process.env) }));
  } catch (error) {
    if (error instanceof NodeError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

export interface ListOptions extends GlobalOptions {
  readonly output?: string;
}

export async function listImages(options: ListOptions): Promise<void> {
  if (options.output !== undefined && options.output !== "json") {
    throw new CommandError(`Cannot print as "${options.output}": the only valid format is json`);
  }
  const images = await withImages(options, (store) => store.list());
  if (options.output === "json") console.log(JSON.stringify(images, undefined, 4));
  else if (images.length === 0) console.error("No images found");
  else console.log(imageTable(images, Date.now()));
}

export interface PullOptions extends GlobalOptions {
  readonly authfile?: string;
}

export async function pullImage(name: string, options: PullOptions): Promise<void> {
  if (builtInImages.includes(name)) {
    throw new CommandError(`Cannot pull "${name}": it is built in`);
  }
  const logins = options.authfile === undefined ? {} : await readLogins(options.authfile);
  await using signals = new SignalForwarder();
  using progress = new Progress();
  progress.show(`pulling ${name}`);
  const onProgress = reporter(progress, `pulling ${name}`);
  const image = await withImages(options, (store) =>
    store.pull(name, { logins, onProgress, signal: signals.interrupted }),
  );
  console.log(`${image.names.find((one) => one.includes(name)) ?? name} pulled (${shortId(image)})`);
}

export interface LoadOptions extends GlobalOptions {
  readonly name?: string;
}

export async function loadImages(file: string, options: LoadOptions): Promise<void> {
  if (file === "-" && process.stdin.isTTY) {
    throw new CommandError("pipe an archive to it, as in: docker save IMAGE | agent-sandbox image load -");
  }
  await using signals = new SignalForwarder();
  using progress = new Progress();
  const onProgress = reporter(progress, `loading ${file}`);
  const { name } = options;
  const signal = signals.interrupted;
  const archive = file === "-" ? process.stdin : file;
  const images = await withImages(options, (store) => store.load(archive, { name, onProgress, signal }));
  for (const image of images) console.log(`${image.names.join(", ") || shortId(image)} loaded (${shortId(image)})`);
}

function reporter(progress: Progress, what: string): (seen: ImportProgress) => void {
  return (seen) =>
    progress.show(
      seen.stage === "fetching"
        ? `${what}: ${formatBytes(seen.bytes)}`
        : `${what}: unpacking layer ${seen.layer} of ${seen.layers}`,
    );
}

export async function removeImages(names: readonly string[], options: GlobalOptions): Promise<void> {
  await withImages(options, async (store) => {
    for (const name of names) {
      const { untagged, removed } = await store.remove(name);
      for (const one of untagged) console.log(`${one} untagged`);
      if (removed !== undefined) console.log(`${removed} removed`);
    }
  });
}

export interface PruneOptions extends GlobalOptions {
  readonly all?: boolean;
}

export async function pruneImages(options: PruneOptions): Promise<void> {
  const gone = await withImages(options, (store) => store.prune(options.all === true ? "unused" : "unnamed"));
  for (const image of gone) console.log(`${image.names.join(", ") || image.id} removed`);
  const bytes = gone.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  console.log(`${gone.length} removed, at most ${formatBytes(bytes)} freed`);
}

/** Prints a row for each tag, and one row for an untagged image. */
export function imageTable(images: readonly ListedImage[], now: number): string {
  const rows = images.flatMap((image) =>
    (image.names.length > 0 ? image.names : [undefined]).map((name) => ({
      cells: [
        name?.slice(0, name.lastIndexOf(":")) ?? "<none>",
        name?.slice(name.lastIndexOf(":") + 1) ?? "<none>",
        shortId(image),
        formatBytes(image.sizeBytes),
        formatAge(now - image.createdAt),
        image.inUse ? "yes" : "no",
      ],
    })),
  );
  const columns = ["Repository", "Tag", "Image ID", "Size", "Age", "In use"];
  return formatTable({ columnDefinitions: columns.map((name) => ({ name })), rows });
}

function shortId({ id }: StoredImage): string {
  return id.slice("sha256:".length, "sha256:".length + 12);
}

/** Reads a credentials file as written by `docker login`, such as `~/.docker/config.json`. */
async function readLogins(path: string): Promise<Record<string, Record<string, unknown>>> {
  try {
    const { auths = {} } = JSON.parse(await readFile(path, "utf8")) as {
      auths?: Record<string, Record<string, unknown>>;
    };
    return auths;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(`Cannot read registry credentials from "${path}": ${why}`, { cause: error });
  }
}
