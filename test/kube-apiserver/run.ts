import { once } from "node:events";
import { startConversionWebhook } from "./conversion-webhook.ts";
import { installCrds } from "./install-crds.ts";
import { startKubernetes } from "./start.ts";

/**
 * Starts a cluster with our CRDs for manual use, prints its addresses as one line of JSON, and runs until Ctrl-C.
 *
 *   node --conditions=source test/kube-apiserver/run.ts
 */
await using kubernetes = await startKubernetes();
await using webhook = await startConversionWebhook(kubernetes.authority);
await installCrds(kubernetes, { webhook });
const { url, admin, binaries, folder, etcdFolder, etcd, apiServer, controllerManager } = kubernetes;
const pids = [etcd.pid, apiServer.pid, controllerManager?.pid];
console.log(JSON.stringify({ url, kubeconfig: admin.kubeconfig, kubectl: binaries.kubectl, pids, folder, etcdFolder }));
await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
