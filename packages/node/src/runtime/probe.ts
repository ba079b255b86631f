import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { arch } from "node:os";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { tryCommand } from "../system/run-command.ts";
import type { OciRuntime } from "./oci-runtime.ts";
import { runtimeMessage } from "./runtime-message.ts";
import { exitCode, staticProgram } from "./static-program.ts";

const probeTimeoutMs = 20_000;

/** Runs a container that does nothing. Undefined when it did; else why this runtime is of no use on this machine. */
export async function whyNotWorking(runtime: OciRuntime, runDir: string): Promise<string | undefined> {
  const id = `probe-${runtime.name}-${process.pid}`;
  const bundle = join(runDir, id);
  try {
    await writeBundle(bundle, `/agent-sandbox-${id}`);
    const { program, args } = runtime.startCommand;
    const result = await tryCommand(program, [...args, "run", "--bundle", bundle, id], { timeoutMs: probeTimeoutMs });
    if (result.code === exitCode) return undefined;
    return runtimeMessage(result.stderr) || `a container that should end with ${exitCode} ended with ${result.code}`;
  } catch (error) {
    return messageOf(error);
  } finally {
    await runtime.remove(id).catch(() => undefined);
    await rm(bundle, { recursive: true, force: true });
  }
}

async function writeBundle(bundle: string, cgroupsPath: string): Promise<void> {
  const program = join(bundle, "rootfs", "probe");
  await mkdir(join(bundle, "rootfs", "proc"), { recursive: true });
  await writeFile(program, staticProgram(arch()));
  await chmod(program, 0o755);
  await writeFile(join(bundle, "config.json"), JSON.stringify(probeSpec(cgroupsPath)));
}

const probeSpec = (cgroupsPath: string): object => ({
  ociVersion: "1.0.2",
  process: { terminal: false, user: { uid: 0, gid: 0 }, args: ["/probe"], env: [], cwd: "/" },
  root: { path: "rootfs", readonly: true },
  mounts: [{ destination: "/proc", type: "proc", source: "proc" }],
  linux: { cgroupsPath, namespaces: ["pid", "mount", "ipc", "uts", "network"].map((type) => ({ type })) },
});
