import { expect, test } from "vitest";
import { portNumber } from "./port-number.ts";

const container = { name: "main", ports: [{ name: "web", containerPort: 8080 }] };

test.for([
  [80, 80],
  ["80", 80],
  ["web", 8080],
] as const)("%s is %d", ([port, number]) => {
  expect(portNumber(port, container)).toBe(number);
});

test.for(["other", 0, 65_536, "-1"])("%s is not a port of the container", (port) => {
  expect(() => portNumber(port, container)).toThrow(`container "main" has no port "${port}"`);
});
