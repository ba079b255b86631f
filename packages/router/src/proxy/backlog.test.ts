import { Duplex } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Backlog } from "./backlog.ts";

/** A stream to a receiver that reads only on request. */
class Line extends Duplex {
  #taken: (() => void)[] = [];

  constructor() {
    super({ writableHighWaterMark: 10, read: () => undefined });
  }

  override _write(_: Buffer, _encoding: string, taken: () => void): void {
    this.#taken.push(taken);
  }

  async readAll(): Promise<void> {
    for (let taken = this.#taken.shift(); taken !== undefined; taken = this.#taken.shift()) {
      taken();
      await nextTurn();
    }
  }
}

function write(backlog: Backlog, line: Line, bytes: number): Line {
  line.write(Buffer.alloc(bytes));
  backlog.wrote(line);
  return line;
}

test("aborts the stream that has been stalled for longest if the total is too large", () => {
  const backlog = new Backlog(100);
  const lines = Array.from({ length: 10 }, () => write(backlog, new Line(), 30));
  expect(lines.map(({ destroyed }) => destroyed)).toEqual([...Array(7).fill(true), false, false, false]);
  expect(backlog.bytes).toBe(90);
});

test("counts the queued bytes of a stream once, however often it is written to", () => {
  const backlog = new Backlog(100);
  const line = new Line();
  for (let turn = 0; turn < 4; turn += 1) write(backlog, line, 20);
  expect([backlog.bytes, line.destroyed]).toEqual([80, false]);
});

test("a stream that was read counts as newly stalled, and a closed one does not count", async () => {
  const backlog = new Backlog(100);
  const [slow, still] = [write(backlog, new Line(), 40), write(backlog, new Line(), 40)];
  await slow.readAll();
  expect(backlog.bytes).toBe(40);
  write(backlog, slow, 40);
  const last = write(backlog, new Line(), 40);
  expect([slow, still, last].map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
  last.destroy();
  await nextTurn();
  expect(backlog.bytes).toBe(40);
});

test("bytes that are sent at once do not count", () => {
  const backlog = new Backlog(0);
  const line = write(backlog, new Line(), 5);
  expect([backlog.bytes, line.destroyed]).toEqual([0, false]);
});

test("aborts streams of the namespace with the most queued bytes, even if others are stalled for longer", () => {
  const backlog = new Backlog(100);
  const of = (namespace: string): Line => {
    const line = new Line();
    backlog.assign(line, namespace);
    return write(backlog, line, 30);
  };
  const victim = of("victim");
  const greedy = Array.from({ length: 10 }, () => of("greedy"));
  expect([victim.destroyed, greedy.filter(({ destroyed }) => !destroyed).length]).toEqual([false, 2]);
});
