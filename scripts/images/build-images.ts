import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { writeArchive } from "../oci/archive.ts";
import type { Layer } from "../oci/layer.ts";
import { packageSources } from "./package-sources.ts";
import { architecture, imageNames, readSource, root, suite } from "./sources.ts";
import type { TakenLayer } from "./take-layer.ts";

export interface BuiltImage {
  readonly reference: string;
  readonly title: string;
  /** Of the manifest. */
  readonly digest: string;
  readonly packages: readonly string[];
  readonly unpackedBytes: number;
}

/** Files that nobody reads in a sandbox: a quarter of the size. */
const leftOut = ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"];
const kept = ["/usr/share/doc/*/copyright", "/usr/share/doc/apt/examples/*"];

/** Builds all images into a folder, as `<image>.tar` and `<image>.json`. One system grows from image to image. */
export async function buildImages(folder: string, say: (line: string) => void): Promise<void> {
  const results = join(folder, "layers");
  mkdirSync(results, { recursive: true });
  await growSystem(results, say);
  const layers: Layer[] = [];
  for (const name of imageNames) {
    const { reference, title, defaults } = readSource(name);
    const { layer, newest, packages } = JSON.parse(readFileSync(join(results, `${name}.json`), "utf8")) as TakenLayer;
    layers.push(layer);
    const Labels = { "org.opencontainers.image.title": title };
    const content = { name: reference, architecture, layers, defaults: { ...defaults, Labels }, created: newest };
    const digest = writeArchive(content, join(folder, `${name}.tar`));
    const unpackedBytes = layers.reduce((sum, each) => sum + each.unpackedBytes, 0);
    const built: BuiltImage = { reference, title, digest, packages, unpackedBytes };
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(built));
  }
  rmSync(results, { recursive: true });
}

async function growSystem(results: string, say: (line: string) => void): Promise<void> {
  const program = [process.execPath, "--conditions=source", join(root, "scripts/images/take-layer.ts")];
  const started = Math.floor(Date.now() / 1000);
  const hooks = imageNames.map((name) => `--customize-hook=${[...program, name, results, started, '"$1"'].join(" ")}`);
  const paths = [...leftOut.map((path) => `path-exclude=${path}`), ...kept.map((path) => `path-include=${path}`)];
  // What an interrupted build leaves is removed, so nothing has to be on the disk at once.
  const options = [
    "--variant=apt",
    "--format=null",
    "--dpkgopt=force-unsafe-io",
    ...paths.map((option) => `--dpkgopt=${option}`),
    ...hooks,
  ];
  // The system needs a gigabyte, and /tmp is often in memory.
  const env = { ...process.env, TMPDIR: process.env["TMPDIR"] ?? "/var/tmp" };
  const child = spawn("mmdebstrap", [...options, suite, "-", ...packageSources(suite)], {
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = new Promise<number | null>((resolve, reject) => child.once("error", reject).once("close", resolve));
  ended.catch(() => undefined);
  const last: string[] = [];
  for await (const line of createInterface({ input: child.stderr })) {
    last.push(line);
    if (last.length > 60) last.shift();
    const [, message] = /^I: (.+)\.\.\.$/.exec(line) ?? [];
    if (message !== undefined && !message.includes("tempdir")) say(message);
  }
  const status = await ended;
  if (status !== 0) throw new Error(`Cannot build the images: mmdebstrap failed\n${last.join("\n")}`);
}
