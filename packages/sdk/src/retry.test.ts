import { describe, expect, test } from "vitest";
import { Deadline } from "./deadline.ts";
import { SandboxError } from "./errors.ts";
import { ConnectionLost } from "./http/exchange.ts";
import { retry, TransientError } from "./retry.ts";

/** Fails with these errors, then succeeds. */
function failing(...errors: Error[]): { readonly attempts: () => number; readonly attempt: () => Promise<string> } {
  let attempts = 0;
  return {
    attempts: () => attempts,
    attempt: async () => {
      const error = errors[attempts++];
      if (error !== undefined) throw error;
      return "done";
    },
  };
}

const refused = new ConnectionLost(false, new Error("connection refused"));
const reset = new ConnectionLost(true, new Error("connection reset"));
const busy = new TransientError("LimitExceeded", "too many", { sent: false });
const final = new SandboxError("NotFound", "not found");

function run(
  errors: readonly Error[],
  isRepeatable: boolean,
  timeoutMs = 10_000,
): { attempts: () => number; end: Promise<string> } {
  const { attempt, attempts } = failing(...errors);
  const deadline = new Deadline({ timeoutMs }, 0, "Cannot do it");
  return { attempts, end: retry(attempt, { deadline, isRepeatable, doing: "Cannot do it" }) };
}

describe("a call that may be repeated", () => {
  test.for([
    ["the server cannot be reached", [refused, refused]],
    ["the connection is lost", [reset]],
    ["the server is busy", [busy]],
  ] as const)("is repeated if %s", async ([, errors]) => {
    const { end, attempts } = run(errors, true);
    expect(await end).toBe("done");
    expect(attempts()).toBe(errors.length + 1);
  });

  test("is not repeated if the server refused it", async () => {
    const { end, attempts } = run([final], true);
    await expect(end).rejects.toBe(final);
    expect(attempts()).toBe(1);
  });

  test("reports the last failure when its time is over", async () => {
    const { end } = run(
      Array.from({ length: 100 }, () => refused),
      true,
      200,
    );
    await expect(end).rejects.toMatchObject({ reason: "Unreachable", message: "Cannot do it: connection refused" });
  });
});

test.for([
  [true, "Unreachable"],
  [false, "OutcomeUnknown"],
] as const)(
  "a call that reads (%s) and was lost on the way reports %s when its time is over",
  async ([isRead, reason]) => {
    const { attempt } = failing(reset, ...Array.from({ length: 100 }, () => refused));
    const deadline = new Deadline({ timeoutMs: 200 }, 0, "Cannot do it");
    const end = retry(attempt, { deadline, isRepeatable: true, isRead, doing: "Cannot do it" });
    await expect(end).rejects.toMatchObject({ reason });
  },
);

describe("a call that must not be repeated", () => {
  test("is repeated if the server has not received it", async () => {
    const { end, attempts } = run([refused, busy], false);
    expect(await end).toBe("done");
    expect(attempts()).toBe(3);
  });

  test("is not repeated if the server may have received it, and the error says so", async () => {
    const { end, attempts } = run([reset], false);
    await expect(end).rejects.toMatchObject({ reason: "OutcomeUnknown" });
    expect(attempts()).toBe(1);
  });
});

test("an aborted signal ends the call with its reason", async () => {
  const controller = new AbortController();
  const deadline = new Deadline({ signal: controller.signal }, 60_000, "Cannot do it");
  const end = retry(() => Promise.reject(refused), { deadline, isRepeatable: true, doing: "Cannot do it" });
  const why = new Error("no longer needed");
  controller.abort(why);
  await expect(end).rejects.toBe(why);
});

test.for([0, -1, Number.NaN])("a timeout of %s is refused", (timeoutMs) => {
  expect(() => new Deadline({ timeoutMs }, 1000, "Cannot do it")).toThrow(
    expect.objectContaining({ reason: "InvalidArgument" }),
  );
});

test("a deadline has a clear reason", async () => {
  using deadline = new Deadline({ timeoutMs: 20 }, 0, "Cannot do it");
  await expect(deadline.sleep(10_000)).rejects.toMatchObject({
    reason: "TimedOut",
    message: "Cannot do it: it took longer than 20 ms",
  });
});
