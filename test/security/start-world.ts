import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Resource } from "@agent-sandbox/kube";
import { BoxOnMachine } from "./box-on-machine.ts";
import { enterNetworkOf } from "./enter-network.ts";
import { Machine } from "./machine.ts";
import type { Runtime } from "./tenant.ts";
import { Victim } from "./victim.ts";
import { administrator, makeTenant, type WorldRecord } from "./world.ts";

const runtimeClasses: Resource = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
};

/**
 * Starts a box on a machine in `folder`, with the victim. The calling thread is in the machine's network afterwards.
 * `settings` is the content of the box's config.json.
 */
export async function startWorld(folder: string, settings: object = {}): Promise<StartedWorld> {
  await using undo = new AsyncDisposableStack();
  const { machine, processes } = await Machine.start(folder);
  undo.defer(() => Promise.all(processes.map(endOf)).then(() => undefined));
  enterNetworkOf(machine.pid);
  const box = new BoxOnMachine(machine, folder);
  undo.defer(async () => {
    await box.run("down", "--purge");
  });
  await box.up(settings);
  await using admin = administrator(box);
  const { items } = await admin.client.list(runtimeClasses);
  const present = items.map(({ metadata }) => metadata?.name);
  const runtimes = (["gvisor", "runc"] as const satisfies readonly Runtime[]).filter((name) => present.includes(name));
  const victim = await Victim.settle(await makeTenant(admin, "alice"), runtimes);
  const stack = undo.move();
  const record: WorldRecord = { folder, machinePid: machine.pid, runtimes, victim };
  return { record, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

export interface StartedWorld extends AsyncDisposable {
  readonly record: WorldRecord;
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
