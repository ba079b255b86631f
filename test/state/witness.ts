import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { SandboxSpec } from "@agent-sandbox/api";
import { podOf, type StateBox } from "./state-box.ts";

/** What the program `witness.py` in a Sandbox knows. */
export interface Known {
  /** Chosen when the program starts. Forks and resumed programs have that of their past. */
  readonly identity: string;
  /** In memory, and in a file: both must be of the same instant. */
  readonly count: number;
  readonly file: number;
  readonly epoch: number;
  readonly name: string;
  readonly hostname: string;
  /** Different in each answer. */
  readonly random: string;
}

const program = readFileSync(join(import.meta.dirname, "witness.py"), "utf8");

export const witnessPod: SandboxSpec["podTemplate"] = podOf(["python3", "-c", program], {
  readinessProbe: { tcpSocket: { port: 9000 }, periodSeconds: 1 },
});

/** Asks the program at this address, past the router. `count` adds one first. Throws after ten seconds without an answer. */
export async function ask(address: string, command: "count" | "tell"): Promise<Known> {
  const signal = AbortSignal.timeout(10_000);
  const socket = connect(9000, address);
  try {
    await once(socket, "connect", { signal });
    socket.write(`${command}\n`);
    const [line] = (await once(createInterface(socket), "line", { signal })) as [string];
    return JSON.parse(line) as Known;
  } finally {
    socket.destroy();
  }
}

/** Asks the program in a Sandbox that is ready. */
export async function askIn(box: StateBox, name: string, command: "count" | "tell" = "tell"): Promise<Known> {
  const { status } = await box.read(name);
  return ask(status?.podIPs?.[0] ?? "", command);
}
