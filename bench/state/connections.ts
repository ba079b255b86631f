/** Connections that stay open while their Sandbox sleeps. */
import type { Socket } from "node:net";
import { createInterface } from "node:readline";
import type { Figures } from "../report.ts";
import type { StateBox } from "./box.ts";
import { lineServerCommand } from "./program.ts";

const many = 50;
const cycles = Number(process.env["BENCH_CYCLES"] ?? 10);

/** A connection on which every line is answered with its number and itself. */
class Conversation {
  readonly #socket: Socket;
  readonly #answers: AsyncIterator<string>;
  #sent = 0;
  #received = 0;

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay();
    this.#answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  }

  send(): void {
    this.#sent += 1;
    this.#socket.write(`line ${this.#sent}\n`);
  }

  /** Reads one answer. Returns the number of bytes that differ from the expected answer. */
  async wrongBytes(): Promise<number> {
    this.#received += 1;
    const expected = `${this.#received} line ${this.#received}`;
    const { value, done } = await this.#answers.next();
    if (done === true || value === undefined) return expected.length;
    return value === expected ? 0 : Math.max(value.length, expected.length);
  }

  close(): void {
    this.#socket.destroy();
  }
}

/**
 * Suspends and resumes a Sandbox with open connections. On half of them a line is sent while the Sandbox sleeps, on the others
 * when it runs again.
 */
export async function measureConnections(box: StateBox): Promise<Figures> {
  const name = "connections";
  await box.createWithConnections(name, lineServerCommand);
  const conversations = await Promise.all(
    Array.from({ length: many }, async () => new Conversation(await box.connect(name))),
  );
  let wrong = 0;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    await box.suspend(name);
    for (const [index, one] of conversations.entries()) if (index % 2 === 0) one.send();
    await box.resume(name);
    for (const [index, one] of conversations.entries()) if (index % 2 === 1) one.send();
    for (const one of conversations) wrong += await one.wrongBytes();
  }
  for (const one of conversations) one.close();
  await box.delete(name);
  return { connection_survival_cycles: cycles, connection_survival_wrong_bytes: wrong };
}
