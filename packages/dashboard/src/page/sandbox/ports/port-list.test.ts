import type { Sandbox } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { mostPorts, readPort, shownPorts } from "./port-list.ts";

const sandbox = {
  spec: {
    podTemplate: {
      spec: {
        containers: [
          {
            name: "web",
            ports: [
              { containerPort: 8080, name: "http" },
              { containerPort: 53, protocol: "UDP" },
            ],
          },
          { name: "api", ports: [{ containerPort: 9000 }] },
        ],
      },
    },
  },
} as unknown as Sandbox;
const nothing = { spec: {} } as Sandbox;

test("puts together what listens and what containers declare", () => {
  const open = [
    { port: 8080, address: "0.0.0.0", command: "node server.js" },
    { port: 8080, address: "::", command: "node server.js" },
    { port: 3000, address: "127.0.0.1", command: "" },
  ];
  expect(shownPorts(open, sandbox)).toEqual([
    { port: 3000, addresses: ["127.0.0.1"], commands: [], declared: [], isRuntime: false },
    {
      port: 8080,
      addresses: ["0.0.0.0", "::"],
      commands: ["node server.js"],
      declared: ["web (http)"],
      isRuntime: false,
    },
    { port: 9000, addresses: [], commands: [], declared: ["api"], isRuntime: false },
  ]);
});

test("lists the ports of the runtime API last", () => {
  const open = [80, 8080, 9090].map((port) => ({ port, address: "::", command: port === 80 ? "nginx" : "sandboxd" }));
  const shown = shownPorts(open.toReversed(), nothing).map(({ port, isRuntime }) => [port, isRuntime]);
  expect(shown).toEqual([
    [80, false],
    [8080, true],
    [9090, true],
  ]);
});

test("ignores what is not a list of ports", () => {
  const open = [null, 7, "x", {}, { port: "80" }, { port: 0 }, { port: 65_536 }, { port: 1.5 }, { port: {} }];
  for (const list of [undefined, null, "ports", { length: 3 }, open]) expect(shownPorts(list, nothing)).toEqual([]);
  expect(shownPorts([{ port: 80, address: { toString: 1 }, command: ["x"] }], nothing)).toEqual([
    { port: 80, addresses: [""], commands: [], declared: [], isRuntime: false },
  ]);
});

test("limits the number of ports and the length of their texts", () => {
  const open = Array.from({ length: 5000 }, (_, index) => ({
    port: index + 1,
    address: "::",
    command: "x".repeat(9999),
  }));
  const shown = shownPorts(open, nothing);
  expect([shown.length, shown[0]?.commands[0]?.length]).toEqual([mostPorts, 301]);
});

test("reads numbers of ports", () => {
  const texts = ["8000", " 80 ", "0", "65536", "-1", "1e3", "0x50", "", "80 81", "٨٠"];
  expect(texts.map(readPort)).toEqual([8000, 80, ...Array.from({ length: 8 }, () => undefined)]);
});
