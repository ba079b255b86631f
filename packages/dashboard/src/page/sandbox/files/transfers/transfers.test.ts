import { describe, expect, test } from "vitest";
import { FileExists, type Job, mostTransfers, type Run, Transfers } from "./transfers.ts";

/** Jobs that end when the test says so. */
class Jobs {
  readonly started: { readonly name: string; readonly run: Run; readonly end: PromiseWithResolvers<void> }[] = [];

  make(name: string): Job {
    const run = (given: Run): Promise<void> => {
      const end = Promise.withResolvers<void>();
      this.started.push({ name, run: given, end });
      given.signal.addEventListener("abort", () => end.reject(given.signal.reason));
      return end.promise;
    };
    return { kind: "upload", name, size: 10, run };
  }

  at(index: number) {
    const found = this.started[index];
    if (found === undefined) throw new Error(`${this.started.length} jobs were started`);
    return found;
  }

  get names(): string {
    return this.started.map(({ name }) => name).join("");
  }
}

const states = (transfers: Transfers): string =>
  transfers
    .snapshot()
    .map(({ job, state }) => `${job.name}:${state}`)
    .join(" ");
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("transfers", () => {
  test("run two at a time, in their order, and report when they are active", async () => {
    const jobs = new Jobs();
    const active: boolean[] = [];
    const transfers = new Transfers({ onActive: (isActive) => active.push(isActive) });
    transfers.add(["a", "b", "c"].map((name) => jobs.make(name)));
    expect(states(transfers)).toBe("a:active b:active c:waiting");
    jobs.at(1).end.resolve();
    await settled();
    expect(states(transfers)).toBe("a:active b:done c:active");
    jobs.at(0).end.resolve();
    jobs.at(2).end.reject(new Error("no space"));
    await settled();
    expect(states(transfers)).toBe("a:done b:done c:failed");
    expect(active).toEqual([true, false]);
    transfers.removeEnded();
    expect(transfers.snapshot()).toEqual([]);
  });

  test("are cancelled while they wait and while they run", async () => {
    const jobs = new Jobs();
    const transfers = new Transfers();
    transfers.add(["a", "b", "c", "d"].map((name) => jobs.make(name)));
    transfers.cancel(3);
    transfers.cancel(1);
    await settled();
    expect(states(transfers)).toBe("a:cancelled b:active c:cancelled d:active");
    transfers.cancelAll();
    await settled();
    expect(states(transfers)).toBe("a:cancelled b:cancelled c:cancelled d:cancelled");
    expect(jobs.names).toBe("abd");
  });

  test("ask before they replace a file", async () => {
    const jobs = new Jobs();
    const transfers = new Transfers();
    transfers.add([jobs.make("a")]);
    expect(jobs.at(0).run.replaces).toBe(false);
    jobs.at(0).end.reject(new FileExists());
    await settled();
    expect(states(transfers)).toBe("a:exists");
    transfers.retry(1, true);
    expect(jobs.at(1).run.replaces).toBe(true);
    jobs.at(1).end.resolve();
    await settled();
    expect(states(transfers)).toBe("a:done");
  });

  test("show the last progress when they end", async () => {
    const jobs = new Jobs();
    const transfers = new Transfers();
    transfers.add([jobs.make("a")]);
    jobs.at(0).run.onProgress(4);
    jobs.at(0).run.onProgress(7);
    jobs.at(0).end.resolve();
    await settled();
    expect(transfers.snapshot()).toMatchObject([{ moved: 7, state: "done" }]);
  });

  test("keep those that are not done when ended ones are removed", () => {
    const jobs = new Jobs();
    const transfers = new Transfers();
    transfers.add([jobs.make("a")]);
    transfers.remove(1);
    transfers.removeEnded();
    transfers.retry(1, true);
    expect(states(transfers)).toBe("a:active");
    expect(jobs.names).toBe("a");
  });

  test("are refused beyond the limit", () => {
    const jobs = new Jobs();
    const transfers = new Transfers();
    const many = Array.from({ length: mostTransfers }, () => jobs.make("a"));
    transfers.add(many);
    expect(() => transfers.add([jobs.make("b")])).toThrow("At most 1000 files");
    expect(transfers.snapshot()).toHaveLength(mostTransfers);
  });
});
