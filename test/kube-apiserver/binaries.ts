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
  const child = spawn(`${import.meta.dirname}/build.sh`, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const [folder, code] = await Promise.all([text(child.stdout), exited]);
  if (code !== 0) throw new Error(`Cannot build Kubernetes: test/kube-apiserver/build.sh exited with ${code}`);
  const at = (name: string): string => `${folder.trim()}/${name}`;
  return {
    etcd: at("etcd"),
    apiServer: at("kube-apiserver"),
    controllerManager: at("kube-controller-manager"),
    kubectl: at("kubectl"),
  };
}
