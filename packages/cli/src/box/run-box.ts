import { hostname } from "node:os";
import { createApiServer } from "@agent-sandbox/apiserver";
import { startSandboxController } from "@agent-sandbox/controllers";
import { createClient, Fence, Informers, KubeError, type Logger, type PodStreams } from "@agent-sandbox/kube";
import { createNode, type EmbeddedNode } from "@agent-sandbox/node";
import { pino } from "pino";
import type { StartReport } from "./background.ts";
import type { BoxPaths } from "./box-paths.ts";
import { forgetRunningBox, recordRunningBox } from "./running-box.ts";

/** Runs the whole box in this process until it is asked to stop. Sandboxes outlive it. */
export async function runBox(paths: BoxPaths, address: { host: string; port: number }): Promise<void> {
  const log = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime });
  const stopped = nextSignal("SIGTERM", "SIGINT");
  try {
    await using box = await startBox(paths, address, log);
    recordRunningBox(paths, box.url);
    log.info({ url: box.url, dataDir: paths.dataDir }, "box started");
    report({ ready: true });
    log.info({ signal: await stopped }, "box stopping");
  } catch (error) {
    report({ ready: false, error: error instanceof Error ? error.message : String(error) });
    throw error;
  }
  forgetRunningBox(paths);
  log.info({}, "box stopped");
}

interface Box extends AsyncDisposable {
  readonly url: string;
}

/** Started from the store upwards; stopped in the opposite order. */
async function startBox(paths: BoxPaths, address: { host: string; port: number }, log: Logger): Promise<Box> {
  await using starting = new AsyncDisposableStack();
  const nodeName = hostname().toLowerCase();
  let node: EmbeddedNode | undefined;
  const podStreams = lateStreams(() => node?.podStreams);
  const server = starting.use(await createApiServer({ dataDir: paths.dataDir, nodeName, podStreams, logger: log }));
  const client = createClient(server.transport, { fieldManager: "agent-sandbox" });
  node = starting.use(await createNode({ client, nodeName, dataDir: paths.dataDir, logger: log }));

  const informers = starting.use(new Informers({ client, log }));
  const fence = new Fence({ informers });
  const sandboxes = starting.use(startSandboxController({ informers, fence, log }));

  const listening = await server.listen(address);
  listening.writeKubeconfig(paths.kubeconfig);
  await Promise.all([node.ready, sandboxes.ready]);
  const owned = starting.move();
  return { url: listening.url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** The API server is there before the node is. */
function lateStreams(current: () => Required<PodStreams> | undefined): PodStreams {
  const streams = async (): Promise<Required<PodStreams>> => {
    const found = current();
    if (found === undefined) throw new KubeError("ServiceUnavailable", "the node is still starting");
    return found;
  };
  return {
    exec: async (request) => (await streams()).exec(request),
    attach: async (request) => (await streams()).attach(request),
    logs: async (request) => (await streams()).logs(request),
    portForward: async (request) => (await streams()).portForward(request),
  };
}

function nextSignal(...names: NodeJS.Signals[]): Promise<string> {
  return new Promise((resolve) => {
    for (const name of names) process.once(name, () => resolve(name));
  });
}

/** Only a box in the background has someone to tell. */
function report(message: StartReport): void {
  process.send?.(message);
}
