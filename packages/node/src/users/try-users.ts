import { chmod, mkdir, rm, writeFile } from "node:fs/promises";
import { arch } from "node:os";
import { join } from "node:path";
import { messageOf } from "../errors.ts";
import { mountMappedLayers } from "../image/mapped-layers.ts";
import type { Layout } from "../layout.ts";
import type { OciRuntime } from "../runtime/oci-runtime.ts";
import { trialPrefix } from "../runtime/probe.ts";
import { runtimeMessage } from "../runtime/runtime-message.ts";
import { fineCode, staticProgram } from "../runtime/static-program.ts";
import { mountMapped } from "../system/mount-tree.ts";
import { mountsUnder, mountTmpfs, unmount } from "../system/mounts.ts";
import { tryCommand } from "../system/run-command.ts";
import { type NamespaceFiles, withUserNamespace } from "../system/user-namespace.ts";
import { commonIds, freeRange } from "./id-range.ts";
import { openUsers } from "./pod-users.ts";

/** Whether a runtime can start a container in an existing user namespace. */
export function canHaveUsers({ kind, startsAtOnce }: OciRuntime): boolean {
  return kind === "runc" && startsAtOnce;
}

const trialTimeoutMs = 20_000;

/**
 * Runs a minimal container with the setup of a Pod with a user namespace: layers in the data folder and files in memory.
 * Returns why that does not work on this machine, or undefined if it works.
 */
export async function tryUsers(runtime: OciRuntime, layout: Layout): Promise<string | undefined> {
  const id = `${trialPrefix}users-${runtime.name}-${process.pid}`;
  const [run, data] = [join(layout.runDir, id), join(layout.dataDir, id)];
  const root = freeRange(new Set(), Math.random) ?? 0;
  const ids = [{ inside: 0, outside: root, count: commonIds }];
  try {
    for (const folder of [layout.runDir, run]) await mkdir(folder, { recursive: true });
    for (const folder of [layout.runDir, run]) await chmod(folder, 0o711);
    return await withUserNamespace({ ids, creator: root, network: true }, async (files) => {
      await using users = await openUsers(files.user, root);
      await mountTrial({ run, data }, layout, users);
      await writeFile(join(run, "config.json"), JSON.stringify(specFor(`${layout.cgroupParent}/${id}`, run, files)));
      const { program, args } = runtime.runCommand;
      const result = await tryCommand(program, [...args, "run", "--bundle", run, id], { timeoutMs: trialTimeoutMs });
      if (result.code === fineCode) return undefined;
      return runtimeMessage(result.stderr) || `the test container exited with status ${result.code} instead of 42`;
    });
  } catch (error) {
    return messageOf(error);
  } finally {
    await runtime.remove(id).catch(() => undefined);
    await unmount(await mountsUnder(run)).catch(() => undefined);
    for (const folder of [run, data]) await rm(folder, { recursive: true, force: true });
  }
}

async function mountTrial(
  { run, data }: { readonly run: string; readonly data: string },
  layout: Layout,
  users: Awaited<ReturnType<typeof openUsers>>,
): Promise<void> {
  const [layer, upper, work] = ["layer", "upper", "work"].map((name) => join(data, name)) as [string, string, string];
  const [rootfs, memory, mapped] = ["root", "memory", "mapped"].map((name) => join(run, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [join(layer, "proc"), upper, work, rootfs, memory, mapped])
    await mkdir(folder, { recursive: true });
  await writeFile(join(layer, "probe"), staticProgram(arch()));
  await chmod(join(layer, "probe"), 0o700);
  await mountMappedLayers(rootfs, [layer], {
    layout: { ...layout, imagesDir: data },
    users,
    writable: { upper, work },
  });
  mountTmpfs(memory, { sizeBytes: 4096, mode: 0o700 });
  mountMapped({ source: memory, target: mapped, userNamespace: users.descriptor });
}

const specFor = (cgroupsPath: string, run: string, { user, net }: NamespaceFiles): object => ({
  ociVersion: "1.0.2",
  process: { terminal: false, user: { uid: 0, gid: 0 }, args: ["/probe"], env: [], cwd: "/" },
  root: { path: join(run, "root"), readonly: true },
  mounts: [
    { destination: "/proc", type: "proc", source: "proc" },
    { destination: "/mapped", type: "bind", source: join(run, "mapped"), options: ["bind"] },
  ],
  linux: {
    cgroupsPath,
    namespaces: [
      { type: "user", path: user },
      { type: "network", path: net },
      ...["pid", "mount", "ipc", "uts"].map((type) => ({ type })),
    ],
  },
});
