import { rm } from "node:fs/promises";
import {
  type Client,
  EventRecorder,
  type Logger,
  type PodStreams,
  type SnapshotArchives,
  silentLogger,
} from "@agent-sandbox/kube";
import { type Examined, examineOwnMachine, reportMachine } from "./doctor/machine-report.ts";
import { Exec } from "./exec/exec.ts";
import { runInContainer } from "./exec/run-in-container.ts";
import { Housekeeping } from "./housekeeping.ts";
import { hostImageName } from "./image/image-store.ts";
import type { Images } from "./image/open-images.ts";
import { removePullNetns } from "./image/pull-network.ts";
import { layoutOf } from "./layout.ts";
import { type MachineOptions, openMachine } from "./machine-setup.ts";
import { nodeMetrics, usageSample } from "./metrics/node-metrics.ts";
import type { DiskUsage } from "./metrics/pod-usage.ts";
import { UsageMeter } from "./metrics/usage-meter.ts";
import { ApiGateway } from "./network/api-gateway.ts";
import { EndpointWriter } from "./network/endpoint-writer.ts";
import { NameServer } from "./network/name-server.ts";
import { NetworkRules, type NetworkRulesOptions } from "./network/network-rules.ts";
import { machineFacts } from "./node-object/machine-facts.ts";
import { MachineReporter } from "./node-object/machine-reporter.ts";
import { readRoom } from "./node-object/pressure.ts";
import { Registration } from "./node-object/registration.ts";
import type { Effects } from "./pod/effects.ts";
import type { Machine } from "./pod/machine.ts";
import { PodController } from "./pod/pod-controller.ts";
import { tearDown } from "./pod/sandbox.ts";
import { DeletedSandboxes } from "./state/deleted-sandboxes.ts";
import { exportSnapshot } from "./state/export-snapshot.ts";
import { importSnapshot } from "./state/import-snapshot.ts";
import { removeContinued } from "./state/restore-pod.ts";
import { endInterruptedCaptures, SnapshotController } from "./state/snapshot-controller.ts";
import { ClaimBinder } from "./storage/claim-binder.ts";
import type { StreamOptions } from "./streams/find-container.ts";
import { Logs } from "./streams/logs.ts";
import { PortForward } from "./streams/port-forward.ts";
import { sweep } from "./sweep.ts";
import { killCgroup, removeCgroup } from "./system/cgroups.ts";
import { lockInstance } from "./system/instance-lock.ts";
import { mountsUnder, unmount } from "./system/mounts.ts";
import { removeTree } from "./system/remove-tree.ts";

export interface NodeOptions extends MachineOptions {
  readonly client: Client;
  readonly nodeName: string;
  readonly logger?: Logger;
  /** Pods reconciled at the same time. Default 8. */
  readonly workers?: number;
}

export interface EmbeddedNode extends AsyncDisposable {
  readonly podStreams: Required<PodStreams>;
  /** Resolves when the Node is registered and the caches are filled. */
  readonly ready: Promise<void>;
  /** Warnings for the operator, one sentence each. */
  readonly warnings: readonly string[];
  /** Stops the node. The Pods continue, and the next start finds them. */
  stop(): Promise<void>;
  /** Stops the node, ends all Pods, and removes everything that the node created on this machine. */
  teardown(): Promise<void>;
}

/** Starts the node: prepares the machine, removes leftovers of a crash, and follows the API. */
export async function createNode(options: NodeOptions): Promise<EmbeddedNode> {
  const { client, nodeName, logger: log = silentLogger } = options;
  await using starting = new AsyncDisposableStack();
  starting.use(await lockInstance(layoutOf(options.dataDir)));
  const machine = await openMachine(options);
  starting.use(machine.pulls);
  starting.use(machine.users);
  // Preparing the image takes a second, so begin before the first Pod needs it. A failure is reported by that Pod.
  const image = machine.images.resolve(hostImageName).then(nothing, nothing);
  starting.defer(() => image);
  await sweep(machine);
  await endInterruptedCaptures(machine);
  await removeContinued(machine);
  await machine.vault.sweep((await machine.records.list()).values());
  starting.use(machine.trash).start((error) => log.warn({ error }, "discarded files not removed"));
  starting.use(machine.suspensions);
  const facts = await machineFacts(machine, nodeName);
  const events = starting.use(new EventRecorder({ client, controller: "agent-sandbox-node", instance: nodeName, log }));
  const room = (): ReturnType<typeof readRoom> => readRoom(machine.layout.dataDir);
  const images = (): ReturnType<Images["list"]> => machine.images.list();
  const registration = starting.use(new Registration({ client, facts, images, room, events, log, now: machine.now }));
  const { podStreams, endSessions } = openStreams(starting, {
    machine,
    snapshots: {
      export: (place, signal) => exportSnapshot({ machine, client }, place, signal),
      import: (content) => importSnapshot({ machine, client }, content),
    },
    uidOf: (namespace, name) => controller.uidOf(namespace, name),
    disk: () => controller.disk,
  });
  const run: Effects["run"] = (place, command, signal) => runInContainer(podStreams, place, command, signal);
  const dial: Effects["dial"] = (place, port) => podStreams.portForward({ ...place, port });
  const { address: hostAddress } = facts;
  const { workers = 8 } = options;
  const controller = starting.use(
    new PodController({ machine, client, nodeName, hostAddress, run, dial, endSessions, log, workers }),
  );
  const rules = await startNetwork(starting, machine, { client, nodeName, events, log });
  starting.use(new Housekeeping({ client, machine, log }));
  starting.use(new DeletedSandboxes({ client, machine, log }));
  starting.use(new ClaimBinder({ client, machine, events, log }));
  starting.use(new SnapshotController({ client, machine, nodeName, events, log }));
  starting.use(new EndpointWriter({ client, nodeName, log }));
  startReporter(starting, { machine, client, nodeName, dataDir: options.dataDir, registered: registration.ready, log });
  const ready = Promise.all([registration.ready, controller.ready, rules.ready]).then(() => undefined);
  // A caller that does not await `ready` must not cause an unhandled rejection.
  ready.catch(() => undefined);

  const owned = starting.move();
  const stop = (): Promise<void> => owned.disposeAsync();
  return {
    podStreams,
    ready,
    warnings: warningsOf(machine),
    stop,
    teardown: async () => {
      await stop();
      await removeNode(options);
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** Starts what enforces the network rules, and the servers that Pods reach: the DNS server and the gateway to the API server. */
async function startNetwork(
  owner: AsyncDisposableStack,
  { network, layout, apiServer }: Machine,
  options: Pick<NetworkRulesOptions, "client" | "nodeName" | "events" | "log">,
): Promise<NetworkRules> {
  const { log } = options;
  const address = network.pool.gateway;
  const namespaceOf = (client: string): string | undefined => rules.namespaceOfApiClient(client);
  const api = apiServer && owner.use(await ApiGateway.start({ address, apiServer, namespaceOf, log }));
  const rules = owner.use(new NetworkRules({ ...options, network, layout, apiPort: api?.port }));
  owner.use(await NameServer.start({ address, names: rules, log }));
  return rules;
}

interface Reporting extends Pick<NodeOptions, "client" | "nodeName" | "dataDir"> {
  readonly machine: Machine;
  readonly registered: Promise<void>;
  readonly log: Logger;
}

function startReporter(owner: AsyncDisposableStack, { machine, dataDir, ...options }: Reporting): void {
  const examine = (): Promise<Examined> => examineOwnMachine(machine, dataDir);
  const report = (examined: Examined): ReturnType<typeof reportMachine> => reportMachine(machine, examined);
  owner.use(new MachineReporter({ ...options, examine, report, now: machine.now }));
}

const nothing = (): void => undefined;

function warningsOf({ sharedKernel, budgetProblems, network }: Machine): string[] {
  const { unlimited } = network;
  return [
    ...(sharedKernel === undefined ? [] : [sharedKernel.message]),
    ...budgetProblems,
    ...(unlimited === undefined ? [] : [`the number of Pods' connections is not limited: ${unlimited}`]),
  ];
}

function openStreams(
  owner: AsyncDisposableStack,
  options: StreamOptions & { readonly disk: () => DiskUsage; readonly snapshots: SnapshotArchives },
): { readonly podStreams: Required<PodStreams>; readonly endSessions: Effects["endSessions"] } {
  const exec = owner.use(new Exec(options));
  const logs = owner.use(new Logs(options));
  const ports = owner.use(new PortForward(options));
  const meter = new UsageMeter(() => usageSample({ machine: options.machine, disk: options.disk() }));
  const podStreams: Required<PodStreams> = {
    exec: (request) => exec.exec(request),
    attach: (request) => logs.attach(request),
    logs: (request) => logs.logs(request),
    portForward: (request) => ports.portForward(request),
    metrics: (path) => nodeMetrics({ machine: options.machine, disk: options.disk() }, path),
    usage: () => meter.figures(),
    snapshots: options.snapshots,
  };
  const endSessions: Effects["endSessions"] = (uid, reason) => {
    for (const sessions of [exec, logs]) sessions.endSessions(uid, reason);
  };
  return { podStreams, endSessions };
}

/** Ends all Pods of a stopped node and removes everything that it created on this machine. */
export async function removeNode(options: MachineOptions): Promise<void> {
  await using _lock = await lockInstance(layoutOf(options.dataDir));
  const machine = await openMachine(options, { tryRuntimes: false });
  for (const record of (await machine.records.list()).values()) {
    if (record !== undefined) await tearDown(machine, record);
  }
  await sweep(machine);
  await removeShared(machine);
}

async function removeShared({ layout, network, cgroups }: Machine): Promise<void> {
  await network.remove();
  await removePullNetns(layout);
  await killCgroup(cgroups, layout.helperCgroup);
  await removeCgroup(cgroups, layout.cgroupParent);
  // gVisor mounts an empty network namespace there.
  await unmount(await mountsUnder(layout.runDir));
  await rm(layout.runDir, { recursive: true, force: true });
  await unmount(await mountsUnder(layout.dataDir));
  await removeTree(layout.dataDir);
}
