import { type MachineReport, machineReportAnnotation, parseMachineReport } from "@agent-sandbox/api";
import { createClient, silentLogger } from "@agent-sandbox/kube";
import { MemoryApiServer, settle, VirtualClock } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { nodes } from "../resources.ts";
import { MachineReporter } from "./machine-reporter.ts";

const second = 1000;
const minute = 60 * second;

/** A reporter of a machine whose disk has `used` bytes, and what it did. */
async function startReporter(registered: Promise<void> = Promise.resolve()) {
  const server = new MemoryApiServer({ resources: [nodes] });
  const client = createClient(server);
  await client.create(nodes, { metadata: { name: "box", annotations: { other: "kept" } } });
  const clock = new VirtualClock();
  const machine = { used: 1, examinations: 0, failures: 0 };
  const report = async (examined: { checkedAt: number }): Promise<MachineReport> => {
    if (machine.failures-- > 0) throw new Error("the disk cannot be read");
    const checkedAt = new Date(examined.checkedAt).toISOString();
    return { checkedAt, checks: [], runtimes: [], amounts: { diskBytes: { used: machine.used } } };
  };
  const reporter = new MachineReporter({
    client,
    nodeName: "box",
    registered,
    examine: async () => {
      machine.examinations++;
      return { checkedAt: clock.date(), checks: [] };
    },
    report,
    log: silentLogger,
    now: () => clock.date(),
    scheduler: clock,
  });
  const node = () => server.read(nodes, { name: "box" })?.metadata;
  const written = () => parseMachineReport(node()?.annotations?.[machineReportAnnotation]);
  return { reporter, clock, machine, node, written };
}

test("writes the report after the start, and again when it changes", async () => {
  const { reporter, clock, machine, node, written } = await startReporter();
  await using _ = reporter;
  await clock.advance(2 * second);
  expect(written()?.amounts).toEqual({ diskBytes: { used: 1 } });
  expect(node()?.annotations?.["other"]).toBe("kept");
  const version = node()?.resourceVersion;
  await clock.advance(5 * minute);
  expect(node()?.resourceVersion).toBe(version);
  machine.used = 2;
  await clock.advance(minute);
  expect(written()?.amounts).toEqual({ diskBytes: { used: 2 } });
  expect(machine.examinations).toBe(1);
});

test("runs the checks again every ten minutes", async () => {
  const { reporter, clock, machine, written } = await startReporter();
  await using _ = reporter;
  await clock.advance(2 * second);
  const first = written()?.checkedAt;
  await clock.advance(11 * minute);
  expect(machine.examinations).toBe(2);
  expect(written()?.checkedAt).not.toBe(first);
});

test("tries again after a failure", async () => {
  const { reporter, clock, machine, written } = await startReporter();
  await using _ = reporter;
  machine.failures = 1;
  await clock.advance(2 * second);
  expect(written()).toBeUndefined();
  await clock.advance(minute);
  expect(written()?.amounts).toEqual({ diskBytes: { used: 1 } });
});

test("stops at once if the node never registers", async () => {
  const { reporter, clock, machine } = await startReporter(new Promise(() => undefined));
  await reporter[Symbol.asyncDispose]();
  await clock.advance(minute);
  expect(machine.examinations).toBe(0);
});

test("does nothing after it was stopped", async () => {
  const registered = Promise.withResolvers<void>();
  const { reporter, clock, machine } = await startReporter(registered.promise);
  await reporter[Symbol.asyncDispose]();
  registered.resolve();
  await settle();
  await clock.advance(minute);
  expect([machine.examinations, clock.pending]).toEqual([0, 0]);
});
