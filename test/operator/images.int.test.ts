import { execFileSync } from "node:child_process";
import { existsSync, globSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { elfArchitecture, foreignPrograms } from "../../scripts/elf.ts";
import { type BuiltArchive, buildOperatorImages, lastCommit } from "../../scripts/operator-images/build-images.ts";
import { type ImageConfig, unpackImage } from "../../scripts/operator-images/unpack.ts";
import { version } from "../../scripts/version.ts";
import { freePort } from "../free-port.ts";
import { installCrds } from "../kube-apiserver/install-crds.ts";
import { type Kubernetes, startKubernetes } from "../kube-apiserver/start.ts";
import { ImageContainer } from "./image-container.ts";

const work = mkdtempSync(join(tmpdir(), "operator-images-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const commit = lastCommit();
let operator: BuiltArchive;
let runtime: BuiltArchive;
const configs = new Map<string, ImageConfig>();

beforeAll(async () => {
  const built = await buildOperatorImages(join(work, "first"), commit);
  [operator, runtime] = built as [BuiltArchive, BuiltArchive];
  for (const { file, name } of built) {
    for (const architecture of ["amd64", "arm64"]) {
      const folder = folderOf(name, architecture);
      mkdirSync(folder);
      configs.set(folder, unpackImage(file, architecture, folder));
    }
  }
}, 600_000);

const folderOf = (name: string, architecture: string): string =>
  join(work, `${basename(name).replace(":", "-")}-${architecture}`);
const filesIn = (folder: string): string[] =>
  globSync("**", { cwd: join(folder, "rootfs") }).filter((path) => lstatSync(join(folder, "rootfs", path)).isFile());
const elfNames = { amd64: "x86_64", arm64: "arm64" } as const;

test("the same commit gives the same digests", async () => {
  const again = await buildOperatorImages(join(work, "second"), commit);
  expect(again.map(({ digest }) => digest)).toEqual([operator.digest, runtime.digest]);
  for (const [index, { file }] of [operator, runtime].entries()) {
    expect(readFileSync(again[index]?.file ?? "").equals(readFileSync(file))).toBe(true);
  }
}, 600_000);

describe.each(["amd64", "arm64"] as const)("the images for %s", (architecture) => {
  test("contain no shell, no other architecture, nothing that others may write and nothing with special rights", () => {
    for (const { name } of [operator, runtime]) {
      const folder = folderOf(name, architecture);
      const rootfs = join(folder, "rootfs");
      expect(configs.get(folder)?.architecture).toBe(architecture);
      expect(configs.get(folder)?.config.User).toBe("65532:65532");
      expect(configs.get(folder)?.config.Labels?.["org.opencontainers.image.version"]).toBe(version);
      expect(foreignPrograms(rootfs, elfNames[architecture])).toEqual([]);
      const files = filesIn(folder);
      const programs = files.filter((path) => (lstatSync(join(rootfs, path)).mode & 0o111) !== 0);
      const loaders = architecture === "amd64" ? "lib64/ld-linux-x86-64.so.2" : "lib/ld-linux-aarch64.so.1";
      expect(programs.sort()).toEqual(name.includes("runtime") ? ["sandboxd"] : ["app/node", loaders]);
      const modes = files.map((path) => lstatSync(join(rootfs, path)).mode & 0o7777);
      expect([...new Set(modes)].filter((mode) => (mode & 0o7022) !== 0)).toEqual([]);
    }
  });

  test("contain every library that their programs are linked with", () => {
    const rootfs = join(folderOf(operator.name, architecture), "rootfs");
    const files = filesIn(folderOf(operator.name, architecture));
    const elf = files.filter((path) => elfArchitecture(join(rootfs, path)) !== undefined);
    expect(elf).toContain("app/node");
    for (const path of elf) {
      const headers = execFileSync("readelf", ["--dynamic", "--program-headers", join(rootfs, path)], {
        encoding: "utf8",
      });
      const needed = [...headers.matchAll(/Shared library: \[(.+)\]/g)].map(([, name]) => name ?? "");
      const loader = /program interpreter: (.+)\]/.exec(headers)?.[1];
      expect(needed.filter((name) => !files.some((file) => basename(file) === name))).toEqual([]);
      expect(loader === undefined || existsSync(join(rootfs, loader))).toBe(true);
    }
    const daemon = join(folderOf(runtime.name, architecture), "rootfs/sandboxd");
    expect(execFileSync("readelf", ["--dynamic", daemon], { encoding: "utf8" })).toContain("no dynamic section");
  });
});

describe("the image of this machine, with a read-only root, no capabilities and another user than root", () => {
  const own = process.arch === "arm64" ? "arm64" : "amd64";
  const run = (image: BuiltArchive, args: readonly string[], mounts: Readonly<Record<string, string>> = {}) => {
    const folder = folderOf(image.name, own);
    return new ImageContainer(folder, configs.get(folder) as ImageConfig, { args, mounts });
  };

  test("knows its version and its flags", async () => {
    const manager = run(operator, ["--version"]);
    expect([await manager.ended, manager.output]).toEqual([0, expect.stringContaining(`manager ${version} `)]);
    const daemon = run(runtime, ["--version"]);
    expect([await daemon.ended, daemon.output]).toEqual([0, expect.stringContaining(version)]);
    const mistaken = run(operator, ["--no-such-flag"]);
    expect([await mistaken.ended, mistaken.output]).toEqual([1, expect.stringContaining("unknown flag")]);
  });

  test("serves a real API server with the flags of the reference, and stops in order", async () => {
    await using kubernetes: Kubernetes = await startKubernetes({ controllers: [] });
    await installCrds(kubernetes);
    await kubernetes.kubectl(["create", "namespace", "agent-sandbox-system"]);
    const access = join(work, "access");
    mkdirSync(access);
    const config = readFileSync(kubernetes.admin.kubeconfig, "utf8");
    // The user of the image may not read files of root, so certificates are embedded.
    const embedded = JSON.parse(config) as {
      clusters: { cluster: Record<string, string> }[];
      users: { user: object }[];
    };
    for (const { cluster } of embedded.clusters) {
      cluster["certificate-authority-data"] = readFileSync(kubernetes.authority.certificate).toString("base64");
      delete cluster["certificate-authority"];
    }
    for (const entry of embedded.users) entry.user = { token: kubernetes.admin.token };
    writeFileSync(join(access, "kubeconfig"), JSON.stringify(embedded), { mode: 0o644 });
    const probes = await freePort();
    const flags = ["--leader-elect=true", "--extensions", "--kubeconfig=/access/kubeconfig"];
    const addresses = [
      `--health-probe-bind-address=127.0.0.1:${probes}`,
      "--metrics-bind-address=0",
      "--webhook-port=0",
    ];
    const home = "--leader-election-namespace=agent-sandbox-system";
    await using manager = run(operator, [...flags, ...addresses, home], { "/access": access });
    await expect.poll(() => manager.output, { timeout: 60_000 }).toContain('"msg":"controllers started"');
    expect((await fetch(`http://127.0.0.1:${probes}/readyz`)).status).toBe(200);
    expect(await manager.stop()).toBe(0);
    const lines = manager.output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { level: number; msg: string });
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
    expect(lines.at(-1)?.msg).toBe("manager stopped");
  }, 180_000);
});
