import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { writeReply } from "./write-reply.ts";

test("a stream for a client that has left is closed", async () => {
  const response = new ServerResponse(new IncomingMessage(new Socket()));
  response.destroy();
  const body = Readable.from(["data"]);
  await writeReply(response, { kind: "stream", status: 200, headers: {}, body }, 1000);
  expect(body.destroyed).toBe(true);
});
