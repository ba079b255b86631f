import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods } from "../../src/resources.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { nodeName } from "../../src/testing/test-api.ts";
import { openTestBox, soon, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf, makeSandbox } from "./saved-pods.ts";

/** Tells each client the number that it chose when it started. */
const program = `
import os, socket
number = os.urandom(8).hex().encode()
server = socket.create_server(("", 7000))
while True:
    peer, _ = server.accept()
    peer.sendall(number)
    peer.close()
`;
const spec = {
  containers: [
    {
      name: "main",
      image: "host",
      command: ["python3", "-c", program],
      readinessProbe: { tcpSocket: { port: 7000 }, periodSeconds: 1 },
    },
  ],
};

describe.skipIf(cannotRun)("a suspended Sandbox whose address is taken", () => {
  let box: TestBox;
  beforeAll(async () => {
    // Five addresses for Pods.
    box = await openTestBox({ subnet: "10.231.213.0/29" });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const addressOf = async (place: { namespace: string; name: string }): Promise<string | undefined> =>
    (await box.api.client.get(pods, place)).status?.podIP;

  async function numberAt(address = ""): Promise<string> {
    const socket = connect(7000, address);
    const [data] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    return String(data);
  }

  test("continues with its memory at another address", async () => {
    const sandbox = await makeSandbox(box, "moved", spec);
    const before = (await sandbox.start()).status?.podIP;
    const number = await numberAt(before);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    // A namespace never gets more addresses than are left for the others.
    const places = ["a", "b", "c", "d", "e"].map((namespace) => ({ namespace, name: "taker" }));
    for (const place of places) {
      const containers = [{ name: "main", image: "host", command: ["sleep", "infinity"] }];
      await box.api.client.create(pods, { metadata: place, spec: { nodeName, runtimeClassName: "runc", containers } });
      await expect.poll(() => addressOf(place), soon).toBeDefined();
    }
    const last = places.at(-1) ?? { namespace: "", name: "" };
    expect(await addressOf(last)).toBe(before);
    await box.api.client.delete(pods, places[0] ?? last, { gracePeriodSeconds: 0 });
    const restored = await sandbox.restore();
    expect(answerOf(restored, "PodRestored")).toBe("True");
    expect(restored.status?.podIP).not.toBe(before);
    expect(await numberAt(restored.status?.podIP)).toBe(number);
  });
});
