import type { TestProject } from "vitest/node";
import { findNodeProcess } from "./node/node-process.ts";
import { missingForKubelet } from "./node/requirements.ts";
import { busyboxImage, folder, kubeconfig, pauseImage } from "./node/settings.ts";
import { startCluster } from "./node/start.ts";
import { stopCluster } from "./node/stop.ts";
import { installProduct, loadProductImages } from "./product.ts";
import { type ProvidedCluster, usesExisting } from "./settings.ts";

/**
 * Starts the cluster that all files of the suite share, with the manager and the router as users install them. A cluster that was
 * running before keeps running.
 */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const provide = (cluster: ProvidedCluster): void => project.provide("cluster", cluster);
  if (usesExisting) {
    const existing = process.env["KUBECONFIG"] ?? `${process.env["HOME"]}/.kube/config`;
    const image = process.env["TEST_CLUSTER_IMAGE"] ?? "busybox:1.37";
    const sleeper = process.env["TEST_CLUSTER_SLEEPER"] ?? "";
    provide({ kubeconfig: existing, kubectl: "kubectl", image, sleeper, missing: undefined });
    return undefined;
  }
  const missing = missingForKubelet();
  if (missing.length > 0) {
    const reason = missing.join("; ");
    console.warn(
      `No Kubernetes node runs on this machine: ${reason}. Only the files shared-*.int.test.ts run, on kube-apiserver with fake nodes.`,
    );
    provide({ kubeconfig: "", kubectl: "", image: "", sleeper: "", missing: reason });
    return undefined;
  }
  const wasRunning = findNodeProcess() !== undefined;
  const stop = wasRunning ? undefined : stopCluster;
  try {
    await startCluster(() => undefined);
    const kubectl = `${folder}/bin/kubectl`;
    const cluster = { kubeconfig, kubectl, image: busyboxImage, sleeper: pauseImage, missing: undefined };
    await loadProductImages();
    await installProduct(cluster);
    provide(cluster);
  } catch (error) {
    await stop?.();
    throw error;
  }
  return stop;
}
