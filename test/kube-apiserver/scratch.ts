import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Temporary folders that are removed on disposal, and also if this process is killed. */
export interface Scratch extends AsyncDisposable {
  /** For keys, configuration and logs. */
  readonly folder: string;
  /** For etcd's data. */
  readonly etcdFolder: string;
}

/** `disk`: etcd waits for fsync, as in production. `memory`: on tmpfs, without fsync, for faster tests. */
export type EtcdStorage = "disk" | "memory";

const etcdRoots = { disk: "/var/tmp", memory: "/dev/shm" } as const;
const tmpfsType = 0x01021994;

/** Removes its arguments when its input ends, because we closed it or because the kernel did after this process died. */
const janitor = 'cat >/dev/null; for try in 1 2 3 4 5; do rm -rf "$@" && exit 0; sleep 0.2; done; exit 1';

export function openScratch(storage: EtcdStorage): Scratch {
  const root = etcdRoots[storage];
  const onTmpfs = statfsSync(root).type === tmpfsType;
  if (onTmpfs !== (storage === "memory")) {
    throw new Error(
      `Cannot keep etcd's data ${storage === "memory" ? "in memory" : "on disk"}: "${root}" is ${onTmpfs ? "" : "not "}a tmpfs`,
    );
  }
  const folder = mkdtempSync(join(tmpdir(), "kube-apiserver-"));
  const etcdFolder = mkdtempSync(join(root, "kube-apiserver-etcd-"));
  const child = spawn("sh", ["-c", janitor, "sh", folder, etcdFolder], {
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
  const exited = once(child, "exit");
  return {
    folder,
    etcdFolder,
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      const [code] = (await exited) as [number | null];
      if (code !== 0)
        throw new Error(`Cannot remove "${folder}" and "${etcdFolder}": the cleanup process exited with ${code}`);
    },
  };
}
