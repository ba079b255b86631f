import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { file, type TestEntry, writeTestArchive } from "../../../packages/node/src/testing/test-image.ts";
import { containerdSocket } from "./configuration.ts";
import { nodeProcess } from "./node-process.ts";
import type { Programs } from "./programs.ts";
import { run } from "./run.ts";
import { busyboxImage, corednsImage, folder, metricsServerImage, pauseImage } from "./settings.ts";

/** Makes the images that every cluster has, each of one static program, and gives them to containerd. */
export async function loadOwnImages(programs: Programs): Promise<void> {
  const images: readonly (readonly [name: string, entries: readonly TestEntry[], config: object])[] = [
    [pauseImage, [program(programs.pause, "pause")], { Entrypoint: ["/pause"], User: "65535:65535" }],
    [corednsImage, [program(programs.coredns, "coredns")], { Entrypoint: ["/coredns"], User: "65532:65532" }],
    [
      metricsServerImage,
      [program(programs.metricsServer, "metrics-server")],
      { Entrypoint: ["/metrics-server"], User: "65532:65532" },
    ],
    [busyboxImage, busyboxEntries(), { Cmd: ["sh"], Env: ["PATH=/bin"] }],
  ];
  for (const [name, entries, config] of images) {
    const scratch = mkdtempSync(join(tmpdir(), "cluster-image-"));
    try {
      // Compressing takes longer than all the rest.
      await loadArchive(await writeTestArchive(scratch, { layers: [entries], config, encode: (layer) => layer }, name));
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
}

const program = (path: string, name: string): TestEntry => file(name, readFileSync(path) as never, { mode: 0o755 });

const applets =
  "cat chmod cp date dd df dmesg echo env false find grep head hostname httpd id kill ln ls mkdir mount mv nc nslookup ping printf ps pwd rm sed seq sh sleep stat sync tail test touch tr true uname wc".split(
    " ",
  );

function busyboxEntries(): TestEntry[] {
  return [
    { name: "bin", type: "directory", mode: 0o755 },
    { name: "tmp", type: "directory", mode: 0o1777 },
    { name: "etc", type: "directory", mode: 0o755 },
    file("etc/passwd", "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n"),
    program("/bin/busybox", "bin/busybox"),
    ...applets.map((name): TestEntry => ({ name: `bin/${name}`, type: "symlink", linkname: "busybox" })),
  ];
}

interface Listed {
  readonly manifests: readonly { readonly annotations?: { readonly [name: string]: string } }[];
}

/** Imports an OCI archive under the name that its index gives it. Returns the name. */
export async function loadArchive(archive: string): Promise<string> {
  const member = (await run("tar", ["-tf", archive])).split("\n").find((name) => /^(\.\/)?index\.json$/.test(name));
  if (member === undefined)
    throw new Error(`Cannot load "${archive}": it is not an archive of an OCI image (no index.json)`);
  const { manifests } = JSON.parse(await run("tar", ["-xOf", archive, member])) as Listed;
  const annotations = manifests[0]?.annotations ?? {};
  const given = annotations["io.containerd.image.name"] ?? annotations["org.opencontainers.image.ref.name"];
  if (given === undefined || !given.includes(":")) {
    throw new Error(
      `Cannot load "${archive}": index.json gives no image name with a tag (org.opencontainers.image.ref.name)`,
    );
  }
  const name = canonicalName(given);
  // For an image that replaces another one of the same name, containerd would not record its digest, which image volumes need.
  await ctr("images", "remove", name);
  // Without `--local`, containerd would keep the image under its digest alone.
  await ctr("images", "import", "--local", "--index-name", name, archive);
  return name;
}

/** The full name, as the kubelet asks for it: `busybox:1` is `docker.io/library/busybox:1`. */
function canonicalName(name: string): string {
  const [first = ""] = name.split("/", 1);
  if (!name.includes("/")) return `docker.io/library/${name}`;
  return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`;
}

function ctr(...words: string[]): Promise<string> {
  const { pid } = nodeProcess();
  return run(`${folder}/bin/ctr`, [
    "--address",
    `/proc/${pid}/root${containerdSocket}`,
    "--namespace",
    "k8s.io",
    ...words,
  ]);
}

/** The cluster's own copy of ctr. */
export function keepCtr({ containerd }: Programs): void {
  copyFileSync(`${containerd}/ctr`, `${folder}/bin/ctr`);
}
