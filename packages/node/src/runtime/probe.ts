import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { arch } from "node:os";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { tryCommand } from "../system/run-command.ts";
import type { OciRuntime } from "./oci-runtime.ts";
import { runtimeMessage } from "./runtime-message.ts";
import { fineCode, flawedCode, staticProgram } from "./static-program.ts";

const probeTimeoutMs = 20_000;

/** The result of testing a runtime. Empty if it works. */
export interface Trial {
  /** Why it does not work on this machine. */
  readonly failure?: string;
  /** Why it should not be the default. */
  readonly flaw?: string;
}

const flaw =
  "this version does not support a system call of ordinary programs (statx with AT_NO_AUTOMOUNT: ls fails); a newer one does";

export interface TrialPlace {
  /** The folder for the test's files. */
  readonly runDir: string;
  /** The parent of the test's cgroup. */
  readonly cgroupParent: string;
}

/** The prefix of everything that a test creates, so that the next start can remove what a killed process left. */
export const trialPrefix = "probe-";

/** Tests a runtime with a minimal container. */
export async function tryRuntime(runtime: OciRuntime, { runDir, cgroupParent }: TrialPlace): Promise<Trial> {
  const id = `${trialPrefix}${runtime.name}-${process.pid}`;
  const bundle = join(runDir, id);
  try {
    await writeBundle(bundle, `${cgroupParent}/${id}`);
    const { program, args } = runtime.runCommand;
    const result = await tryCommand(program, [...args, "run", "--bundle", bundle, id], { timeoutMs: probeTimeoutMs });
    if (result.code === fineCode) return {};
    if (result.code === flawedCode) return { flaw };
    const failure =
      runtimeMessage(result.stderr) || `the test container exited with status ${result.code} instead of 42`;
    return { failure };
  } catch (error) {
    return { failure: messageOf(error) };
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
