import { once } from "node:events";
import { startConversionWebhook } from "./conversion-webhook.ts";
import { installCrds } from "./install-crds.ts";
import { startKubernetes } from "./start.ts";

/**
 * A cluster to look at by hand, with our CRDs installed: prints where it is as one line of JSON, and lives until Ctrl-C.
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
