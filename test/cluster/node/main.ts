import { loadArchive } from "./images.ts";
import { missingForKubelet } from "./requirements.ts";
import { kubeconfig } from "./settings.ts";
import { startCluster } from "./start.ts";
import { describeCluster } from "./status.ts";
import { stopCluster } from "./stop.ts";

/**
 * The test cluster, for manual use and for the Makefile:
 *
 *   node --conditions=source test/cluster/node/main.ts up|down|status
 *   node --conditions=source test/cluster/node/main.ts can-run
 *   node --conditions=source test/cluster/node/main.ts load <OCI archive>...
 */
const [verb, ...words] = process.argv.slice(2);
const started = Date.now();
const seconds = (): string => ((Date.now() - started) / 1000).toFixed(1);

async function up(): Promise<void> {
  await startCluster((progress) => console.error(`cluster: ${progress} after ${seconds()} s`));
  console.log(`The test cluster is running. Use it with: export KUBECONFIG=${kubeconfig}`);
}

const verbs: { readonly [verb: string]: () => Promise<void> } = {
  up,
  down: stopCluster,
  "can-run": async () => {
    const missing = missingForKubelet();
    if (missing.length > 0) throw new Error(`No Kubernetes node runs on this machine: ${missing.join("; ")}.`);
  },
  status: async () => console.log(await describeCluster()),
  load: async () => {
    for (const archive of words) console.log(`Loaded ${await loadArchive(archive)}`);
  },
};

const action = verbs[verb ?? ""];
if (action === undefined) {
  console.error("usage: main.ts up|down|can-run|status|load <OCI archive>...");
  process.exitCode = 2;
} else {
  await action().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  });
}
