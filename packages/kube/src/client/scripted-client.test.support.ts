import type { Pod } from "@agent-sandbox/api";
import type { Client } from "../client.ts";
import type { Clock } from "../clock.ts";
import type { KubeObject, Resource } from "../resource.ts";
import type { Transport, TransportRequest, TransportResponse } from "../transport.ts";
import { type ClientOptions, createClient } from "./create-client.ts";

export const pods: Resource<Pod & KubeObject> = { apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true };
export const nodes: Resource = { apiVersion: "v1", kind: "Node", plural: "nodes", namespaced: false };

export interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** Returns the responses in turn and records the requests. Sleeping advances its clock. */
export function scripted(
  answers: readonly Answer[],
  options: ClientOptions = {},
): { client: Client; asked: TransportRequest[]; slept: number[] } {
  const asked: TransportRequest[] = [];
  const slept: number[] = [];
  let now = 0;
  const clock: Clock = {
    now: () => now,
    sleep: async (ms) => {
      slept.push(ms);
      now += ms;
    },
  };
  const answer = async (request: TransportRequest): Promise<TransportResponse> => {
    asked.push(request);
    const { status = 200, headers = {}, body = {} } = answers[asked.length - 1] ?? {};
    return { status, headers, body };
  };
  const transport: Transport = { send: answer, stream: answer, close: async () => undefined };
  return { client: createClient(transport, { clock, random: () => 0, ...options }), asked, slept };
}

export const status = (code: number, reason: string, message: string): unknown => ({
  kind: "Status",
  status: "Failure",
  code,
  reason,
  message,
});
