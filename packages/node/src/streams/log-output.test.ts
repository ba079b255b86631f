import { describe, expect, test } from "vitest";
import { type LogEntry, parseLogLine } from "./log-line.ts";
import { LogOutput, type LogSelection } from "./log-output.ts";

const lines = [
  "2026-01-01T00:00:01.000000001+00:00 stdout F one",
  "2026-01-01T00:00:02.000000002+00:00 stderr F two",
  "2026-01-01T00:00:03.000000003+00:00 stdout P thr",
  "2026-01-01T00:00:04.000000004+00:00 stdout F ee",
  "2026-01-01T00:00:05.000000005+00:00 stdout F ",
];

function show(selection: Partial<LogSelection>, later: readonly string[] = []): string {
  const output = new LogOutput({ timestamps: false, ...selection });
  const entry = (line: string): LogEntry => parseLogLine(Buffer.from(line)) as LogEntry;
  const parts = [
    ...lines.map((line) => output.add(entry(line))),
    output.caughtUp(),
    ...later.map((line) => output.add(entry(line))),
  ];
  return Buffer.concat(parts).toString();
}

describe("LogOutput", () => {
  test.for<[string, Partial<LogSelection>, string]>([
    ["all entries, with partial lines joined", {}, "one\ntwo\nthree\n\n"],
    ["one stream", { stream: "stderr" }, "two\n"],
    ["the last two lines, counted in lines and not in entries", { tailLines: 2 }, "three\n\n"],
    ["the last line of a stream", { tailLines: 1, stream: "stderr" }, "two\n"],
    ["tailLines 0", { tailLines: 0 }, ""],
    ["more lines than the log has", { tailLines: 99 }, "one\ntwo\nthree\n\n"],
    ["entries since a time", { sinceMs: Date.parse("2026-01-01T00:00:05Z") }, "\n"],
    ["limitBytes", { limitBytes: 6 }, "one\ntw"],
    ["limitBytes with tailLines", { limitBytes: 4, tailLines: 2 }, "thre"],
    [
      "the time once a line",
      { timestamps: true, tailLines: 2 },
      "2026-01-01T00:00:03.000000003Z three\n2026-01-01T00:00:05.000000005Z \n",
    ],
  ])("shows %s", ([, selection, expected]) => {
    expect(show(selection)).toBe(expected);
  });

  test("passes all entries after the existing log", () => {
    expect(show({ tailLines: 0 }, ["2026-01-01T00:00:06.000000006+00:00 stdout P new"])).toBe("new");
  });

  test("keeps a bounded part of a long log in memory", () => {
    const output = new LogOutput({ timestamps: false, tailLines: 3 });
    for (let index = 0; index < 1000; index += 1)
      output.add({ time: "", stream: "stdout", partial: false, text: Buffer.from(String(index)) });
    expect(output.caughtUp().toString()).toBe("997\n998\n999\n");
  });
});

test.for([
  "",
  "no time",
  "2026-01-01T00:00:01Z stdin F x",
  "2026-01-01T00:00:01Z stdout X x",
  "2026-01-01T00:00:01Z stdout",
])("%j is no entry of a log", (line) => {
  expect(parseLogLine(Buffer.from(line))).toBeUndefined();
});
