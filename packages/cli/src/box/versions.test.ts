import { createApiServer } from "@agent-sandbox/apiserver";
import { nodeVersion } from "@agent-sandbox/node";
import { expect, test } from "vitest";

test("the node names the version of the API that it is made for", async () => {
  await using server = await createApiServer();
  const { body } = await server.transport.send({ method: "GET", path: "/version" });
  expect(body).toMatchObject({ gitVersion: nodeVersion });
});
