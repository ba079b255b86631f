import { execFile, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ImageConfig } from "../../scripts/operator-images/unpack.ts";

const root = join(import.meta.dirname, "../..");
const runc = join(root, `dist/runc-linux-${process.arch === "arm64" ? "arm64" : "amd64"}`);

export interface ContainerRun {
  readonly args: readonly string[];
  /** Folders of the machine that the container can read, by their path in it. */
  readonly mounts?: Readonly<Record<string, string>>;
}

/**
 * The image in `<folder>/rootfs` as a container with the security settings of the Deployment: a read-only root, no capabilities, no new
 * privileges, the user of the image. It shares the network of the machine.
 */
export class ImageContainer implements AsyncDisposable {
  readonly #id: string;
  readonly #ended: Promise<number>;
  output = "";

  constructor(folder: string, { config }: ImageConfig, { args, mounts = {} }: ContainerRun) {
    this.#id = `operator-test-${process.pid}-${Math.random().toString(36).slice(2, 8)}`;
    const [uid, gid] = (config.User ?? "0:0").split(":").map(Number);
    const bind = Object.entries(mounts).map(([destination, source]) => ({
      destination,
      source,
      type: "bind",
      options: ["rbind", "ro"],
    }));
    const bundle = join(folder, this.#id);
    mkdirSync(bundle);
    const spec = {
      ociVersion: "1.0.2",
      process: {
        user: { uid, gid },
        args: [...(config.Entrypoint ?? []), ...args],
        env: [...(config.Env ?? []), "PATH=/"],
        cwd: "/",
        capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
        noNewPrivileges: true,
      },
      root: { path: join(folder, "rootfs"), readonly: true },
      mounts: [
        { destination: "/proc", type: "proc", source: "proc" },
        { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "mode=755"] },
        ...bind,
      ],
      linux: { namespaces: ["pid", "mount", "ipc", "uts"].map((type) => ({ type })) },
    };
    writeFileSync(join(bundle, "config.json"), JSON.stringify(spec));
    const child = spawn(runc, ["--root", join(folder, "runc"), "run", "--bundle", bundle, this.#id], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    const keep = (chunk: Buffer): void => void (this.output += chunk.toString("utf8"));
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    this.#ended = new Promise((resolve) => child.once("close", (code) => resolve(code ?? -1)));
    this.#kill = async (signal) => {
      await promisify(execFile)(runc, ["--root", join(folder, "runc"), "kill", this.#id, signal]).catch(
        () => undefined,
      );
    };
  }

  readonly #kill: (signal: string) => Promise<void>;

  /** Its exit status. */
  get ended(): Promise<number> {
    return this.#ended;
  }

  async stop(): Promise<number> {
    await this.#kill("TERM");
    return await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#kill("KILL");
    await this.#ended;
  }
}
