import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** The paths of the four programs, all of the Kubernetes release that go.mod pins. */
export interface Binaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly kubectl: string;
}

/** Builds what is not there yet, which takes minutes once per machine; progress goes to stderr. */
export async function ensureBinaries(): Promise<Binaries> {
  const folder = await pathFrom("build.sh");
  const at = (name: string): string => `${folder}/${name}`;
  return {
    etcd: at("etcd"),
    apiServer: at("kube-apiserver"),
    controllerManager: at("kube-controller-manager"),
    kubectl: at("kubectl"),
  };
}

/** The path of the kubectl that Debian ships, 1.20, fetched when it is not there yet. */
export function ensureOlderKubectl(): Promise<string> {
  return pathFrom("debian-kubectl.sh");
}

/** What a script of this folder prints. */
async function pathFrom(script: string): Promise<string> {
  const child = spawn(`${import.meta.dirname}/${script}`, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const [path, code] = await Promise.all([text(child.stdout), exited]);
  if (code !== 0) throw new Error(`Cannot find what test/kube-apiserver/${script} makes: it exited with ${code}`);
  return path.trim();
}
