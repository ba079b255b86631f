import { type IncomingMessage, request } from "node:http";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Pod, runtimeRestPort, runtimeTokenKey, runtimeTokenVolume } from "@agent-sandbox/api";
import { type Client, isReason, type ObjectKey } from "@agent-sandbox/kube";
import { messageOf, NodeError } from "../errors.ts";
import type { Effects } from "../pod/effects.ts";
import { secrets } from "../resources.ts";
import { connectTcp } from "../system/connect-tcp.ts";

/**
 * What sandboxd is told about the state of its Pod:
 * - `before-suspend`: the Pod is about to be saved and stopped. Runs the hook of that name.
 * - `after-resume`: the Pod continues from the image of its suspension. Runs the hook of that name.
 * - `before-snapshot`: an image is about to be taken. Stops all processes except sandboxd.
 * - `after-snapshot`: the image was taken, or was given up. Continues the processes.
 * - `after-fork`: the Pod continues from an image of a snapshot, as a fork or after a rollback. Refreshes the identity, runs the
 *   hook of that name, then continues the processes.
 *
 * Each can be repeated.
 */
export type LifecycleEvent = "before-suspend" | "after-resume" | "before-snapshot" | "after-snapshot" | "after-fork";

export interface LifecycleReport {
  /** The epoch that sandboxd read from the environment file. */
  readonly epoch: number;
  /**
   * True if the processes continued before this event, because the time limit of a snapshot had passed. An image taken in between
   * may contain running processes.
   */
  readonly expired: boolean;
  /** Hooks that failed and parts of the identity that could not be refreshed. Written by the tenant: for events and logs only. */
  readonly failures: readonly string[];
}

export interface LifecycleCall {
  readonly client: Client;
  readonly pod: Pod;
  /** The address of the Pod. Its link must be up. */
  readonly address: string;
  readonly event: LifecycleEvent;
  readonly signal?: AbortSignal;
}

/** sandboxd ends hooks after 10 s. The rest is for stopping processes and for the answer. */
const limitMs = 12_000;
/** A tenant can make sandboxd write any answer. */
const answerLimit = 64 * 1024;
const headerLimit = 16 * 1024;
const mostFailures = 16;
const failureLength = 512;

/**
 * Tells sandboxd about an event and waits until it has done its part. Returns undefined if the Pod does not run sandboxd, or a
 * version without lifecycle events. Throws a NodeError if sandboxd does not answer: the Pod then continues without hooks.
 */
export async function tellSandboxd(call: LifecycleCall): Promise<LifecycleReport | undefined> {
  const secret = runtimeSecret(call.pod);
  if (secret === undefined) return undefined;
  const timeout = AbortSignal.timeout(limitMs);
  const signal = call.signal === undefined ? timeout : AbortSignal.any([call.signal, timeout]);
  try {
    const token = await readToken(call.client, secret, signal);
    return token === undefined ? undefined : await post(call, token, signal);
  } catch (cause) {
    const why = timeout.aborted ? `no answer within ${limitMs / 1000} s` : messageOf(cause);
    throw new NodeError("RunContainerError", `Cannot tell sandboxd about "${call.event}": ${why}`, { cause });
  }
}

/**
 * Tells sandboxd about an event that runs a hook of the user. What fails becomes an event of the Pod: hooks hold up neither a
 * suspension nor a resume. Throws only if the signal is aborted.
 */
export async function runHooks(call: LifecycleCall, recordEvent: Effects["recordEvent"]): Promise<void> {
  const report = (text: string): void => recordEvent(call.pod, { type: "Warning", reason: "HookFailed", text });
  try {
    const failures = (await tellSandboxd(call))?.failures ?? [];
    if (failures.length > 0) report(failures.join("; "));
  } catch (error) {
    call.signal?.throwIfAborted();
    report(messageOf(error));
  }
}

/** Whether the first container of the Pod runs sandboxd. */
export function runsSandboxd(pod: Pod): boolean {
  return runtimeSecret(pod) !== undefined;
}

/** The Secret with the token of sandboxd, or undefined for a Pod without sandboxd. */
function runtimeSecret({ metadata, spec }: Pod): ObjectKey | undefined {
  const mounts = spec?.containers[0]?.volumeMounts ?? [];
  if (!mounts.some(({ name }) => name === runtimeTokenVolume)) return undefined;
  const name = spec?.volumes?.find((volume) => volume.name === runtimeTokenVolume)?.secret?.secretName;
  return name === undefined ? undefined : { namespace: metadata?.namespace ?? "", name };
}

/**
 * Whoever created the Pod could mount any Secret of its namespace, so nobody learns a token that they could not read. Undefined if
 * the Secret does not exist or is not a token.
 */
async function readToken(client: Client, key: ObjectKey, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { data } = await client.get(secrets, key, { signal });
    const token = Buffer.from(data?.[runtimeTokenKey] ?? "", "base64")
      .toString("latin1")
      .trim();
    return /^[\x21-\x7e]+$/.test(token) ? token : undefined;
  } catch (error) {
    if (isReason(error, "NotFound")) return undefined;
    throw error;
  }
}

async function post(
  { address, event }: LifecycleCall,
  token: string,
  signal: AbortSignal,
): Promise<LifecycleReport | undefined> {
  const socket = await connect(address, signal);
  try {
    const response = await send(socket, { path: `/v1/lifecycle/${event}`, host: address, token, signal });
    const text = await read(response);
    if (response.statusCode === 404) return undefined;
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}: ${oneLine(text)}`);
    return parseReport(text);
  } finally {
    socket.destroy();
  }
}

/** A sandbox that was just restored may lose the first packets, or not accept connections yet. */
const connectWithinMs = 3000;
/** Shorter than the second after which the kernel repeats a lost packet. */
const attemptMs = 250;
const pauseMs = 20;

async function connect(address: string, signal: AbortSignal): Promise<Duplex> {
  for (const began = performance.now(); ; await sleep(pauseMs, undefined, { signal })) {
    try {
      const attempt = AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]);
      return await connectTcp(address, runtimeRestPort, { signal: attempt });
    } catch (error) {
      if (signal.aborted || performance.now() - began > connectWithinMs) throw error;
    }
  }
}

interface Post {
  readonly path: string;
  readonly host: string;
  readonly token: string;
  readonly signal: AbortSignal;
}

function send(socket: Duplex, { path, host, token, signal }: Post): Promise<IncomingMessage> {
  const headers = { Host: `${host}:${runtimeRestPort}`, "X-Sandbox-Token": token, "Content-Length": "0" };
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    // With an `agent` option, even `false`, Node would open its own connection.
    const options = {
      createConnection: () => socket,
      method: "POST",
      path,
      headers,
      signal,
      maxHeaderSize: headerLimit,
    };
    request(options).once("response", resolve).once("error", reject).end();
  });
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > answerLimit) throw new Error(`the answer is longer than ${answerLimit} bytes`);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseReport(text: string): LifecycleReport {
  const { epoch, expired, failures } = parseObject(text);
  if (typeof epoch !== "number" || !Number.isSafeInteger(epoch) || epoch < 0)
    throw new Error("the answer has no epoch");
  const lines = Array.isArray(failures) ? failures.filter((line) => typeof line === "string") : [];
  return { epoch, expired: expired === true, failures: lines.slice(0, mostFailures).map(oneLine) };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new Error("the answer is not a JSON object");
}

/** Fit for an event or a log line. */
function oneLine(text: string): string {
  return text
    .slice(0, failureLength)
    .replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
}
