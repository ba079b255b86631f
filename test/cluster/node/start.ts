import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { addons } from "./addons.ts";
import { createCgroups } from "./cgroups.ts";
import { writeConfiguration } from "./configuration.ts";
import { makeClusterIdentities } from "./identities.ts";
import { keepCtr, loadOwnImages } from "./images.ts";
import { findNodeProcess, saveNodeProcess } from "./node-process.ts";
import { ensurePrograms, type Programs } from "./programs.ts";
import { missingForKubelet } from "./requirements.ts";
import { run } from "./run.ts";
import { copiedRuntimes, writeServices } from "./services.ts";
import {
  apiServerUrl,
  cgroupName,
  folder,
  hostAddress,
  hostLink,
  kubeconfig,
  linkPrefix,
  nodeAddress,
  nodeLink,
  nodeName,
  podNetwork,
  serviceNetwork,
} from "./settings.ts";
import { stopCluster } from "./stop.ts";

/** Starts the cluster and waits until its node is ready. Does nothing if it runs. Whatever a failed start left is removed. */
export async function startCluster(say: (progress: string) => void): Promise<void> {
  if (findNodeProcess() !== undefined) return;
  const missing = missingForKubelet();
  if (missing.length > 0) throw new Error(`Cannot start a Kubernetes node on this machine: ${missing.join("; ")}`);
  const programs = await ensurePrograms();
  await stopCluster();
  try {
    await start(programs, say);
  } catch (error) {
    const logs = endOfLogs();
    await stopCluster();
    throw new Error(
      `Cannot start the test cluster: ${error instanceof Error ? error.message : String(error)}\n${logs}`,
      {
        cause: error,
      },
    );
  }
}

async function start(programs: Programs, say: (progress: string) => void): Promise<void> {
  mkdirSync(`${folder}/bin`, { recursive: true });
  for (const [from, to] of copiedRuntimes(programs)) copyFileSync(from, to);
  copyFileSync(programs.kubectl, `${folder}/bin/kubectl`);
  keepCtr(programs);
  const identities = makeClusterIdentities();
  writeServices({ identities, programs, configuration: writeConfiguration(identities, programs) });
  createCgroups();
  await startNode();
  say("started the services of the node");
  const imagesLoaded = until("containerd accepts images", () => loadOwnImages(programs));
  await until("kube-apiserver is ready", () => kubectl(["get", "--raw", "/readyz"]));
  say("kube-apiserver is ready");
  // The first requests of a new API server can fail while it creates its own objects.
  await until("kube-apiserver accepts objects", () => kubectl(["apply", "-f", "-"], JSON.stringify(addons())));
  await imagesLoaded;
  await until("the node exists", () => kubectl(["get", "node", nodeName]));
  await kubectl(["wait", "--for=condition=Ready", `node/${nodeName}`, "--timeout=120s"]);
  say(`node ${nodeName} is ready`);
  await kubectl(["-n", "kube-system", "rollout", "status", "deployment/coredns", "--timeout=120s"]);
  say("CoreDNS is ready");
}

/** Starts the node's first process in its own namespaces and connects it with the machine. */
async function startNode(): Promise<void> {
  const log = openSync(`${folder}/logs/node.log`, "a");
  const namespaces = ["--fork", "--kill-child", "--pid", "--mount", "--mount-proc", "--net", "--uts", "--ipc"];
  const script = [
    `${import.meta.dirname}/node.sh`,
    folder,
    `${nodeAddress}/${linkPrefix}`,
    hostAddress,
    nodeLink,
    cgroupName,
  ];
  const named = ["sh", "-c", 'hostname "$1" && shift && exec "$@"', "sh", nodeName, ...script];
  const unshared = spawn("unshare", [...namespaces, ...named], { detached: true, stdio: ["ignore", log, log] });
  unshared.unref();
  const pid = await until("the node's first process runs", async () => {
    const child = (await run("pgrep", ["--parent", String(unshared.pid)])).trim();
    return Number(child);
  });
  saveNodeProcess(pid);
  await run("ip", ["link", "add", hostLink, "type", "veth", "peer", "name", nodeLink, "netns", String(pid)]);
  await run("ip", ["address", "add", `${hostAddress}/${linkPrefix}`, "dev", hostLink]);
  await run("ip", ["link", "set", hostLink, "up"]);
  // Programs on the machine reach Pods and Services, as a load balancer would.
  for (const network of [podNetwork, serviceNetwork]) await run("ip", ["route", "add", network, "via", nodeAddress]);
}

/** kubectl of the cluster's release, as its administrator. */
export function kubectl(words: readonly string[], input = ""): Promise<string> {
  return run(`${folder}/bin/kubectl`, ["--kubeconfig", kubeconfig, ...words], input);
}

const timeoutMs = 120_000;

/** Repeats something until it succeeds. */
async function until<T>(what: string, attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`waited ${timeoutMs / 1000} s until ${what} (${apiServerUrl}): ${reason}`, { cause: error });
      }
      await sleep(100);
    }
  }
}

/** The last lines of the logs that tell most about a failed start. */
function endOfLogs(): string {
  return ["node", "containerd", "kube-apiserver", "kubelet"]
    .map((name) => {
      try {
        const lines = readFileSync(`${folder}/logs/${name}.log`, "utf8")
          .trimEnd()
          .split("\n")
          .slice(-5)
          .map((line) => line.slice(0, 300));
        return `--- ${name}:\n${lines.join("\n")}`;
      } catch {
        return `--- ${name}: no log`;
      }
    })
    .join("\n");
}
