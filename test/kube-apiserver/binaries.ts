import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/** The paths of the four programs, built for the release that go.mod pins. */
export interface Binaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly kubectl: string;
}

/** Builds missing programs, which takes minutes once for each machine. Progress goes to stderr. */
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

/** The path of Debian's kubectl 1.20, which is downloaded if missing. */
export function ensureOlderKubectl(): Promise<string> {
  return pathFrom("debian-kubectl.sh");
}

/** Runs a script of this folder and returns the path that it prints. */
async function pathFrom(script: string): Promise<string> {
  const child = spawn(`${import.meta.dirname}/${script}`, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const [path, code] = await Promise.all([text(child.stdout), exited]);
  if (code !== 0) throw new Error(`Cannot run test/kube-apiserver/${script}: it exited with ${code}`);
  return path.trim();
}
