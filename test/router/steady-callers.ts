import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

export interface CallerOptions {
  /** Addresses of routers. A client uses the next one if its own fails. */
  readonly urls: readonly string[];
  readonly callers: number;
  /** Of all clients together. */
  readonly requestsPerSecond: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface Outcome {
  readonly id: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly isGood: boolean;
}

/**
 * Clients that send requests at a steady rate over persistent connections, two of three with a method that must not be
 * repeated. They never retry. The expected response is the id of the request.
 */
export async function callSteadily(options: CallerOptions): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const periodMs = (options.callers / options.requestsPerSecond) * 1000;
  const caller = async (number: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let at = 0;
    await sleep((number / options.callers) * periodMs);
    for (let turn = 0; !options.signal.aborted; turn += 1) {
      const id = `${number}-${turn}`;
      const startedMs = performance.now();
      const isGood = await ask(options, { id, agent, url: options.urls[at % options.urls.length] ?? "" });
      const endedMs = performance.now();
      outcomes.push({ id, startedMs, endedMs, isGood });
      if (!isGood) at += 1;
      await sleep(Math.max(0, startedMs + periodMs - endedMs));
    }
    agent.destroy();
  };
  await Promise.all(Array.from({ length: options.callers }, (_, number) => caller(number)));
  return outcomes;
}

function ask(
  { headers }: CallerOptions,
  { id, agent, url }: { id: string; agent: Agent; url: string },
): Promise<boolean> {
  const method = Number(id.split("-")[1]) % 3 === 0 ? "GET" : "POST";
  return new Promise((resolve) => {
    const asked = request(url, { agent, method, headers, path: `/${id}` });
    asked.on("error", () => resolve(false));
    asked.on("response", (answer) => {
      text(answer).then(
        (said) => resolve(answer.statusCode === 200 && said === id),
        () => resolve(false),
      );
    });
    asked.end(method === "POST" ? "do it" : undefined);
  });
}
