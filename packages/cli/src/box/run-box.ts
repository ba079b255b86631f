import { hostname } from "node:os";
import {
  type ApiServer,
  accountIdentity,
  createApiServer,
  type Identity,
  nodeIdentity,
} from "@agent-sandbox/apiserver";
import { startControllers } from "@agent-sandbox/controllers";
import { type Client, createClient, KubeError, type Logger, type PodStreams } from "@agent-sandbox/kube";
import { createNode, type EmbeddedNode } from "@agent-sandbox/node";
import { pino } from "pino";
import type { StartReport } from "./background.ts";
import type { BoxPaths } from "./box-paths.ts";
import { forgetRunningBox, recordRunningBox } from "./running-box.ts";
import { sandboxdPath } from "./sandboxd-path.ts";

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
  const nodeClient = clientAs(server, nodeIdentity(nodeName));
  node = starting.use(
    await createNode({
      client: nodeClient,
      nodeName,
      dataDir: paths.dataDir,
      sandboxd: sandboxdPath(),
      logger: log,
    }),
  );
  const controllers = starting.use(
    startControllers({
      client: clientAs(server, accountIdentity(controllerAccount)),
      log,
      instance: nodeName,
      settings: { keepRootFilesystem: true, runtime: { image: "sandboxd", delivery: "ImageVolume" } },
    }),
  );

  const listening = await server.listen(address);
  listening.writeKubeconfig(paths.kubeconfig);
  await Promise.all([node.ready, controllers.ready]);
  const owned = starting.move();
  return { url: listening.url, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const controllerAccount = { namespace: "agent-sandbox-system", name: "agent-sandbox-controller" };

/** Each part of the box may do what its role says, and no more. */
function clientAs(server: ApiServer, identity: Identity): Client {
  return createClient(server.transportAs(identity), { fieldManager: "agent-sandbox" });
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
