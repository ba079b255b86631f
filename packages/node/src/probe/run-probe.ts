import type { Container } from "@agent-sandbox/api";
import { isReason } from "@agent-sandbox/kube";
import { messageOf } from "../errors.ts";
import type { CommandResult } from "../pod/effects.ts";
import { grpcCheck } from "./grpc-check.ts";
import { httpGet } from "./http-get.ts";
import { type PodTarget, podConnection } from "./pod-connection.ts";
import { portNumber } from "./port-number.ts";
import type { Probe } from "./probe-state.ts";

export interface ProbeTarget extends PodTarget {
  readonly container: Container;
  readonly run: (command: readonly string[], signal: AbortSignal) => Promise<CommandResult>;
}

/** Errors of the node, which say nothing about the container. */
const nodeTrouble = ["TooManyRequests", "NotFound", "InternalError"] as const;

/** Runs a probe once. Returns undefined for success, or the failure message. Throws when the node could not run the probe. */
export async function runProbe(probe: Probe, target: ProbeTarget, signal: AbortSignal): Promise<string | undefined> {
  try {
    return await ask(probe, target, signal);
  } catch (error) {
    if (isReason(error, ...nodeTrouble)) throw error;
    return signal.aborted && signal.reason instanceof Error && signal.reason.name === "TimeoutError"
      ? `no answer within ${probe.timeoutSeconds || 1}s`
      : messageOf(error);
  }
}

async function ask(
  { exec, httpGet: http, tcpSocket, grpc }: Probe,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { container, run } = target;
  if (exec !== undefined) {
    const { code, output } = await run(exec.command ?? [], signal);
    return code === 0 ? undefined : output.trim() || `command ended with exit code ${code}`;
  }
  if (http !== undefined) {
    const port = portNumber(http.port, container);
    const { status } = await httpGet({ ...http, port }, podConnection(http.host, target), signal);
    return status >= 200 && status < 400 ? undefined : `HTTP probe failed with statuscode: ${status}`;
  }
  if (tcpSocket !== undefined) {
    const port = portNumber(tcpSocket.port, container);
    const socket = await podConnection(tcpSocket.host, target).connect(port, signal);
    socket.destroy();
  }
  if (grpc !== undefined) await grpcCheck(podConnection("", target), grpc.port, grpc.service ?? "", signal);
  return undefined;
}
