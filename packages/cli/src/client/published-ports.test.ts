import { expect, test } from "vitest";
import type { Connection } from "./connect.ts";
import { newSandbox } from "./new-sandbox.ts";
import { describePort, parsePublished } from "./published-ports.ts";

test.for([
  ["80", { port: 80 }],
  ["8080:80", { port: 80, local: 8080 }],
  [":80", { port: 80, local: 0 }],
  ["65535", { port: 65_535 }],
] as const)("reads %s", ([text, expected]) => {
  expect(parsePublished(text)).toEqual(expected);
});

test.for(["", "0", "65536", "70000:80", "80:", "a:80", "127.0.0.1:80:80", "80/udp", "-1", "8000-8010"])(
  "refuses %j",
  (text) => {
    expect(() => parsePublished(text)).toThrow(`Cannot publish port "${text}"`);
  },
);

test("published ports are declared, each once", () => {
  const { spec } = newSandbox("web", { image: "host", publish: ["8000", "8080:8000", "9000"] });
  const [container] = spec.podTemplate.spec.containers;
  expect(container?.ports).toEqual([{ containerPort: 8000 }, { containerPort: 9000 }]);
});

test("the address of a port is that of the box's router, and otherwise a command", () => {
  const box = { routerUrl: "http://127.0.0.1:7680" } as NonNullable<Connection["box"]>;
  expect(describePort({ box, namespace: "team" }, "web", 8000)).toContain(
    "http://127.0.0.1:7680/sandboxes/team/web/8000/ ",
  );
  expect(describePort({ namespace: "team" }, "web", 8000)).toBe("port 8000: open it with: agent-sandbox open web 8000");
});
