import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { checkPorts } from "./check-ports.ts";
import { findPortHolder } from "./port-holder.ts";

test("finds the process that listens on a port, and nobody on a free one", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  expect(findPortHolder(port)).toMatch(new RegExp(`^process ${process.pid} \\(node`));
  await expect(checkPorts([{ host: "127.0.0.1", port }])).rejects.toMatchObject({ code: "EADDRINUSE", port });
  await new Promise((resolve) => server.close(resolve));
  expect(findPortHolder(port)).toBeUndefined();
  await checkPorts([{ host: "127.0.0.1", port }]);
});
