import { readFileSync } from "node:fs";
import { request } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { type GuardedProcess, logTail } from "./guarded-process.ts";

export interface Endpoint {
  readonly url: string;
  /** The path of the server's certificate authority. */
  readonly authority: string;
  readonly token: string;
}

/** Far above the usual few seconds, because test machines are busy. */
const timeoutMs = 120_000;
const pauseMs = 100;

/** Waits until `/readyz` is ok, and fails as soon as one of the processes has ended. */
export async function untilReady(endpoint: Endpoint, processes: readonly GuardedProcess[]): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  const ca = readFileSync(endpoint.authority);
  for (;;) {
    const state = await readyz(endpoint, ca);
    const dead = processes.find((process) => !process.running);
    if (dead !== undefined) throw new Error(`Cannot start Kubernetes: ${dead.name} exited\n${logTail(dead)}`);
    if (state === "ok") return;
    if (Date.now() > deadline) {
      const words = processes.map((process) => `${process.name}:\n${logTail(process)}`).join("\n");
      throw new Error(
        `Cannot start Kubernetes: not ready after ${timeoutMs / 1000} s, /readyz says "${state}"\n${words}`,
      );
    }
    await sleep(pauseMs);
  }
}

function readyz({ url, token }: Endpoint, ca: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const asked = request(`${url}/readyz`, { ca, headers, agent: false, timeout: 5_000 }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        body += part;
      });
      response.once("end", () => resolve(body)).once("error", (error) => resolve(error.message));
    });
    asked.once("timeout", () => asked.destroy(new Error("no response within 5 s")));
    asked.once("error", (error) => resolve(error.message)).end();
  });
}
