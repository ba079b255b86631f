import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { imagesIn } from "../../packages/cli/src/operator/settings.ts";
import { type ImageContent, writeMultiArchive } from "../oci/archive.ts";
import { type Layer, writeLayer } from "../oci/layer.ts";
import { listTree } from "../oci/tree.ts";
import { version } from "../version.ts";
import { debianFiles } from "./debian-packages.ts";
import { architectures, makeNodeRoot, makeProgramRoot, makeRuntimeRoot, makeSystemRoot } from "./image-roots.ts";

const root = join(import.meta.dirname, "../..");

export interface BuiltArchive {
  readonly file: string;
  readonly name: string;
  /** Of the index. */
  readonly digest: string;
  readonly images: readonly BuiltImage[];
}

export interface BuiltImage extends ImageContent {
  readonly sizeBytes: number;
  readonly unpackedBytes: number;
}

/** The flags of the launcher for the manager (scripts/program.ts). */
const nodeFlags = ["--min-semi-space-size=16", "--max-semi-space-size=32", "--enable-source-maps"];

/** Like the reference's image, this one starts the manager: arguments are its flags. */
const operatorDefaults = {
  User: "65532:65532",
  WorkingDir: "/",
  Env: ["SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
  Entrypoint: ["/app/node", ...nodeFlags, "--disable-warning=ExperimentalWarning", "/app/lib/main.mjs", "manager"],
};
const runtimeDefaults = { User: "65532:65532", WorkingDir: "/", Entrypoint: ["/sandboxd"] };

/** Builds both images for both architectures into `folder`. The same commit and packages give the same digests. */
export async function buildOperatorImages(folder: string, commit: Commit = lastCommit()): Promise<BuiltArchive[]> {
  mkdirSync(folder, { recursive: true });
  const work = mkdtempSync(join(folder, "build-"));
  try {
    const operator: BuiltImage[] = [];
    const runtime: BuiltImage[] = [];
    const { image, runtimeImage } = imagesIn();
    const program = await layerOf(join(work, "program"), makeProgramRoot);
    for (const architecture of architectures) {
      const debian = debianFiles(architecture.go);
      const [system, node, daemon] = await Promise.all([
        layerOf(join(work, `system-${architecture.go}`), (made) => makeSystemRoot(made, architecture, debian)),
        layerOf(join(work, `node-${architecture.go}`), (made) => makeNodeRoot(made, architecture)),
        layerOf(join(work, `runtime-${architecture.go}`), (made) => makeRuntimeRoot(made, architecture), ["sandboxd"]),
      ]);
      operator.push(
        imageOf(commit, image, {
          architecture: architecture.go,
          layers: [system, node, program],
          defaults: operatorDefaults,
        }),
      );
      runtime.push(
        imageOf(commit, runtimeImage, {
          architecture: architecture.go,
          layers: [daemon],
          defaults: runtimeDefaults,
        }),
      );
    }
    return [operator, runtime].map((images) => archiveOf(images, folder));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function archiveOf(images: readonly BuiltImage[], folder: string): BuiltArchive {
  const name = images[0]?.name ?? "";
  const file = join(folder, `${name.replace(/^.*\//, "").replace(":", "-")}.oci.tar`);
  return { file, name, digest: writeMultiArchive(images, file), images };
}

/** All files are from 1970, so that a layer changes only with its content. */
async function layerOf(
  folder: string,
  make: (folder: string) => void | Promise<void>,
  only?: readonly string[],
): Promise<Layer> {
  mkdirSync(folder);
  chmodSync(folder, 0o755);
  await make(folder);
  const paths = only ?? [...(await listTree(folder)).keys()];
  return await writeLayer({ root: folder, paths, newest: 0 }, `${folder}.layer`);
}

/** What the images record about their sources. */
export interface Commit {
  readonly revision: string;
  /** In seconds since 1970. */
  readonly time: number;
}

export function lastCommit(): Commit {
  const text = execFileSync("git", ["log", "-1", "--format=%H %ct"], { cwd: root, encoding: "utf8" }).trim();
  const [revision = "", time] = text.split(" ");
  return { revision, time: Number(time) };
}

function imageOf(
  { revision, time }: Commit,
  name: string,
  { architecture, layers, defaults }: Pick<ImageContent, "architecture" | "layers" | "defaults">,
): BuiltImage {
  const Labels = {
    "org.opencontainers.image.title": name.replace(/^.*\/|:.*$/g, ""),
    "org.opencontainers.image.version": version,
    "org.opencontainers.image.revision": revision,
    "org.opencontainers.image.licenses": "Apache-2.0",
  };
  return {
    name,
    architecture,
    layers,
    defaults: { ...defaults, Labels },
    created: time,
    sizeBytes: layers.reduce((sum, { file }) => sum + statSync(file).size, 0),
    unpackedBytes: layers.reduce((sum, layer) => sum + layer.unpackedBytes, 0),
  };
}
