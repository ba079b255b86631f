import { randomBytes } from "node:crypto";
import { describeTrouble, findCondition, type Sandbox, sandboxes } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube/requests";
import { CommandError } from "../command-error.ts";
import { awaitObject, type Outcome } from "./await-object.ts";
import type { Connection } from "./connect.ts";
import { defaultImage } from "./default-image.ts";
import { latestStep } from "./events.ts";
import { type NewSandboxOptions, newSandbox } from "./new-sandbox.ts";
import { podTrouble } from "./pod-trouble.ts";
import { Progress } from "./progress.ts";
import { resumeOutcome } from "./sandbox-state.ts";

/** Creates a Sandbox, with these further fields of its spec. */
export async function createSandbox(
  connection: Connection,
  options: NewSandboxOptions,
  fields: object = {},
): Promise<Sandbox> {
  const { client, namespace } = connection;
  const name = options.name ?? `run-${randomBytes(4).toString("hex")}`;
  const { image = await defaultImage(connection) } = options;
  const manifest = newSandbox(name, { ...options, image });
  try {
    const body = { ...manifest, metadata: { ...manifest.metadata, namespace }, spec: { ...manifest.spec, ...fields } };
    return await client.create(sandboxes, body);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    throw new CommandError(
      `sandbox "${name}" already exists: choose another --name, or run commands in it with "exec"`,
    );
  }
}

/** Reasons of a waiting container that trying again rarely changes. */
const hopeless =
  /MountVolume\.SetUp failed|ErrImage|ImagePullBackOff|InvalidImageName|CreateContainerError|CreateContainerConfigError|CrashLoopBackOff/;
const lookEveryMs = 1000;

/** Waits until a Sandbox can run commands. Throws as soon as its Pod is refused or its container cannot start. */
export async function untilReady(
  connection: Connection,
  name: string,
  { timeoutMs, interrupted }: { readonly timeoutMs: number; readonly interrupted?: AbortSignal },
): Promise<void> {
  using progress = new Progress();
  const shown = `sandbox "${name}"`;
  const ended = new AbortController();
  const judge = startOutcome;
  const signal = AbortSignal.any([ended.signal, ...(interrupted ? [interrupted] : [])]);
  const ready = awaitObject(connection, { resource: sandboxes, name, shown, timeoutMs, progress, judge, signal });
  // An interrupted wait says so.
  const explain = (error: unknown): never => {
    interrupted?.throwIfAborted();
    throw error;
  };
  // It rejects later when trouble is found first.
  ready.catch(() => undefined);
  try {
    for (;;) {
      using look = lookAgain();
      const first = await Promise.race([ready.then(() => "ready" as const).catch(explain), look.later]);
      if (first === "ready") return;
      const found = await podTrouble(connection, name);
      const trouble = found === undefined ? "" : describeTrouble(found);
      if (!hopeless.test(`${found?.reason}: ${trouble}`)) {
        if (found === undefined && progress.isVisible) {
          const step = await latestStep(connection, name).catch(() => undefined);
          if (step !== undefined) progress.show(`${shown}: ${step}`);
        }
        continue;
      }
      throw new CommandError(`${shown} does not start: ${trouble}${await hintFor(connection, name, trouble)}`);
    }
  } finally {
    ended.abort();
  }
}

/** How the operator allows a folder that the node refuses. */
async function hintFor({ client, namespace }: Connection, name: string, trouble: string): Promise<string> {
  if (!/hostPath.*this node's configuration/.test(trouble)) return "";
  const [, quoted] = /hostPath "([^"]+)"/.exec(trouble) ?? [];
  const [, index = "0"] = /volumes\[(\d+)\]/.exec(trouble) ?? [];
  const { spec } = await client.get(sandboxes, { name, namespace });
  const folder = quoted ?? spec.podTemplate?.spec?.volumes?.[Number(index)]?.hostPath?.path;
  return `. To allow it, restart the box with --allow-host-path ${folder}`;
}

function lookAgain(): Disposable & { readonly later: Promise<"later"> } {
  const { promise, resolve } = Promise.withResolvers<"later">();
  const timer = setTimeout(() => resolve("later"), lookEveryMs);
  return { later: promise, [Symbol.dispose]: () => clearTimeout(timer) };
}

const finalReasons = new Set(["PodFailed", "PodSucceeded", "InvalidConfiguration", "SandboxExpired"]);

/** Whether a new Sandbox is ready, or never will be. */
export function startOutcome(sandbox: Sandbox): Outcome<unknown> {
  const ready = findCondition(sandbox.status?.conditions, "Ready");
  const isRefused = ready?.reason === "ReconcilerError" && /is forbidden|is invalid/.test(ready.message ?? "");
  if (ready?.status === "False" && (isRefused || finalReasons.has(ready.reason))) {
    const message = ready.message || ready.reason;
    const hint = /RuntimeClass "[^"]+" not found/.test(message)
      ? "; list the runtimes with: agent-sandbox get runtimeclasses"
      : "";
    return { type: "failed", why: `it does not start: ${message}${hint}` };
  }
  return resumeOutcome(sandbox);
}
