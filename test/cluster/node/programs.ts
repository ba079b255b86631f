import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { ensureBinaries } from "../../kube-apiserver/binaries.ts";

const repository = `${import.meta.dirname}/../../..`;

/** The paths of all programs of the cluster. */
export interface Programs {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly kubectl: string;
  readonly scheduler: string;
  readonly kubelet: string;
  readonly kubeProxy: string;
  /** The folder with containerd, its shim for runc and ctr. */
  readonly containerd: string;
  /** The folder with gVisor's shim. */
  readonly gvisorShim: string;
  readonly coredns: string;
  readonly metricsServer: string;
  readonly pause: string;
  readonly runc: string;
  readonly runsc: string;
}

/** Builds missing programs one after the other: 25 minutes for each machine, once. Progress goes to stderr. */
export async function ensurePrograms(): Promise<Programs> {
  const { etcd, apiServer, controllerManager, kubectl } = await ensureBinaries();
  const kubernetes = await build("kubernetes");
  const containerd = await build("containerd");
  const [coredns, metricsServer, gvisorShim, pause] = [
    await build("coredns"),
    await build("metrics-server"),
    await build("gvisor-shim"),
    await build("pause"),
  ];
  const dist = `${repository}/dist`;
  for (const runtime of ["gvisor", "runc"]) await output(`${repository}/packages/node/${runtime}/build.sh`, dist);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  return {
    etcd,
    apiServer,
    controllerManager,
    kubectl,
    scheduler: `${kubernetes}/kube-scheduler`,
    kubelet: `${kubernetes}/kubelet`,
    kubeProxy: `${kubernetes}/kube-proxy`,
    containerd,
    gvisorShim,
    coredns: `${coredns}/coredns`,
    metricsServer: `${metricsServer}/metrics-server`,
    pause: `${pause}/pause`,
    runc: `${dist}/runc-linux-${architecture}`,
    runsc: `${dist}/runsc-linux-${architecture}`,
  };
}

const build = (part: string): Promise<string> => output(`${import.meta.dirname}/build.sh`, part);

/** Runs a script and returns what it prints. Its progress goes to our stderr. */
async function output(script: string, ...words: string[]): Promise<string> {
  const child = spawn(script, words, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  const [printed, code] = await Promise.all([text(child.stdout), exited]);
  if (code !== 0) throw new Error(`Cannot build the test cluster: ${script} exited with status ${code}`);
  return printed.trim();
}
