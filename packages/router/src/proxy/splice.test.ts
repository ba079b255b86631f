import { Duplex } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Backlog } from "./backlog.ts";
import { Splice } from "./splice.ts";

/** One end of a splice: the test plays the program behind it. */
class End extends Duplex {
  received = "";
  hasEnded = false;

  override _read(): void {}

  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.received += chunk.toString();
    done();
  }

  override _final(done: () => void): void {
    this.hasEnded = true;
    done();
  }

  /** What the program behind it sends. */
  send(text: string): void {
    this.push(text);
  }

  stopSending(): void {
    this.push(null);
  }
}

function splice() {
  const [client, sandbox] = [new End(), new End()];
  const seen = { transfers: 0, held: 0 };
  const joined = new Splice(client, sandbox, {
    backlog: new Backlog(2 ** 20),
    onTransfer: () => (seen.transfers += 1),
  });
  joined.onHeld = () => (seen.held += 1);
  joined.start(Buffer.alloc(0));
  return { client, sandbox, joined, seen };
}

test("whatever is sent while the sandbox falls asleep and wakes arrives once and in order", async () => {
  const step = fc.oneof(fc.constantFrom("sleep", "wake", "turn"), fc.nat({ max: 99 }));
  await fc.assert(
    fc.asyncProperty(fc.array(step), fc.boolean(), async (steps, ends) => {
      const { client, sandbox, joined } = splice();
      let [up, down] = ["", ""];
      for (const [index, each] of steps.entries()) {
        if (each === "sleep") joined.sleep();
        else if (each === "wake") joined.wake();
        else if (each === "turn") await turn();
        else if (each % 2 === 0) client.send(((up += `${index} `), `${index} `));
        else sandbox.send(((down += `${index} `), `${index} `));
      }
      if (ends) client.stopSending();
      await turn();
      joined.wake();
      await turn();
      await turn();
      expect([sandbox.received, client.received, sandbox.hasEnded]).toEqual([up, down, ends]);
      joined.destroy();
    }),
  );
});

describe("while the sandbox is asleep", () => {
  test("a client with held bytes is not read any further", async () => {
    const { client, sandbox, joined, seen } = splice();
    joined.sleep();
    for (let count = 0; count < 100; count += 1) {
      client.send("x".repeat(1000));
      await turn();
    }
    expect([sandbox.received, seen, joined.isHolding]).toEqual(["", { transfers: 0, held: 1 }, true]);
    expect(client.readableLength).toBe(99_000);
    joined.destroy();
  });

  test("what the sandbox still sends reaches the client and does not count as a transfer", async () => {
    const { client, sandbox, joined, seen } = splice();
    joined.sleep();
    sandbox.send("late");
    await turn();
    expect([client.received, seen.transfers]).toEqual(["late", 0]);
    joined.destroy();
  });

  test("the connection to the sandbox outlives a client that fails, until the sandbox is awake", async () => {
    const { client, sandbox, joined } = splice();
    joined.sleep();
    client.destroy(new Error("reset"));
    await joined.ended;
    expect(sandbox.destroyed).toBe(false);
    joined.wake();
    await joined.released;
    expect(sandbox.destroyed).toBe(true);
  });

  test("a sandbox that fails ends the connection of the client", async () => {
    const { client, sandbox, joined } = splice();
    joined.sleep();
    sandbox.destroy(new Error("timed out"));
    await joined.released;
    expect([client.destroyed, await joined.ended]).toEqual([true, undefined]);
  });
});

test("a connection that the router closes reports why", async () => {
  const { client, joined } = splice();
  const why = { reason: "SandboxStopped", message: "stopped" } as const;
  joined.close(why);
  joined.destroy();
  expect([await joined.ended, client.destroyed]).toEqual([why, true]);
});
