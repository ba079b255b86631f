/** Polls until an action has taken effect. */
import { ApiError } from "../../data/api-client.ts";
import type { Outcome } from "./progress.ts";

/** The server reports that the action failed. After any other error, the action may still be done. */
export class Failure extends Error {
  override readonly name = "Failure";
}

const everyMs = 400;
const longestMs = 300_000;

/** Rejects with a `Failure`, and with another error after five minutes or if the server refuses the read. */
export async function until(read: () => Promise<Outcome>, onProgress: (text: string) => void): Promise<void> {
  const deadline = Date.now() + longestMs;
  for (;;) {
    const outcome = await read().catch(waitForServer);
    if (outcome.type === "done") return;
    if (outcome.type === "failed") throw new Failure(outcome.why);
    onProgress(outcome.why);
    if (Date.now() > deadline) throw new Error(`It takes longer than five minutes: ${outcome.why}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** The action may continue while the server cannot be reached or is too busy. */
function waitForServer(error: unknown): Outcome {
  const isRefused = error instanceof ApiError && error.status < 500 && error.status !== 429;
  if (isRefused || error instanceof Failure) throw error;
  return { type: "waiting", why: "waiting for the server" };
}
