import { setTimeout as sleep } from "node:timers/promises";
import type { Container, Pod } from "@agent-sandbox/api";
import { messageOf, NodeError } from "../errors.ts";
import { httpGet } from "../probe/http-get.ts";
import { podConnection } from "../probe/pod-connection.ts";
import { portNumber } from "../probe/port-number.ts";
import type { Effects } from "./effects.ts";
import { memberNamed } from "./members.ts";
import { hookTask } from "./plan-stop.ts";
import type { PodRecord } from "./record.ts";

type Handler = NonNullable<NonNullable<Container["lifecycle"]>["postStart"]>;

const eventReasons = { postStart: "FailedPostStartHook", preStop: "FailedPreStopHook" } as const;
const eventNames = { postStart: "PostStartHook", preStop: "PreStopHook" } as const;
/** The timeout of a hook's HTTP request. */
const requestTimeoutMs = 60_000;

/** Runs a hook in the background. A hook that a restart of the node interrupts runs again. */
export async function runHook(
  effects: Effects,
  pod: Pod,
  record: PodRecord,
  { container: name, hook }: { readonly container: string; readonly hook: "postStart" | "preStop" },
): Promise<void> {
  const container = memberNamed(pod, name)?.container;
  const handler = container?.lifecycle?.[hook];
  const attempt = record.containers[name]?.attempt ?? 0;
  if (container === undefined || handler === undefined) return;
  await effects.tasks.begin(record.uid, hookTask(hook, name, attempt), async (signal) => {
    try {
      await handle(effects, handler, { container, record, signal });
    } catch (error) {
      // An aborted hook's container has ended, or the node is stopping: no event.
      if (!signal.aborted) {
        const text = `${eventNames[hook]} failed: ${messageOf(error)}`;
        effects.recordEvent(pod, { type: "Warning", reason: eventReasons[hook], text, container: name });
      }
      throw error;
    }
  });
}

async function handle(
  effects: Effects,
  { exec, httpGet: request, sleep: pause }: Handler,
  { container, record, signal }: { container: Container; record: PodRecord; signal: AbortSignal },
): Promise<void> {
  if (pause !== undefined) await sleep(1000 * pause.seconds, undefined, { signal });
  else if (exec !== undefined) {
    const place = { namespace: record.namespace, pod: record.name, container: container.name };
    const { code, output } = await effects.run(place, exec.command ?? [], signal);
    if (code !== 0) throw new NodeError("RunContainerError", `command ended with exit code ${code}: ${output.trim()}`);
  } else if (request !== undefined) {
    const port = portNumber(request.port, container);
    const place = { namespace: record.namespace, pod: record.name };
    const target = { address: record.address, dial: (to: number) => effects.dial(place, to) };
    const timeout = AbortSignal.any([signal, AbortSignal.timeout(requestTimeoutMs)]);
    const { status } = await httpGet({ ...request, port }, podConnection(request.host, target), timeout);
    if (status >= 400) throw new NodeError("RunContainerError", `HTTP answer with status ${status}`);
  }
}
