import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { openTestBox, soon, type TestBox } from "../../src/testing/test-box.ts";
import { answerOf } from "./saved-pods.ts";
import { bareSandbox, failureOf, takeSnapshot } from "./snapshots.ts";

/** Each connection has a thread that waits for its bytes in another way, and says how that ended. */
const program = `
import select, socket, threading, time

def in_recv(peer):
    return peer.recv(100)

def in_poll(peer):
    waiting = select.poll()
    waiting.register(peer, select.POLLIN)
    waiting.poll()
    return peer.recv(100)

def in_epoll(peer):
    waiting = select.epoll()
    waiting.register(peer, select.EPOLLIN)
    waiting.poll()
    return peer.recv(100)

def serve(peer, way):
    try:
        while data := way(peer):
            print(way.__name__, "received", data.decode(), flush=True)
        print(way.__name__, "ended", flush=True)
    except OSError as error:
        print(way.__name__, type(error).__name__, flush=True)

listener = socket.create_server(("0.0.0.0", 9000))
for way in [in_recv, in_poll, in_epoll]:
    print("listening", flush=True)
    peer, _ = listener.accept()
    threading.Thread(target=serve, args=(peer, way)).start()
time.sleep(10**6)
`;
const spec = { containers: [{ name: "main", image: "host", command: ["python3", "-c", program] }] };
const ways = ["in_recv", "in_poll", "in_epoll"];

describe.skipIf(cannotRun)("threads that wait for bytes of a connection when a fork is made", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const said = async (pod: string, word: RegExp): Promise<string[]> =>
    (await box.log(pod))
      .split("\n")
      .filter((line) => word.test(line))
      .toSorted();

  /** One connection for each of the ways, in order. */
  async function openAll(address = ""): Promise<Socket[]> {
    const sockets: Socket[] = [];
    for (const way of ways) {
      await expect.poll(() => said("source", /listening/), soon).toHaveLength(sockets.length + 1);
      const socket = connect(9000, address);
      sockets.push(socket);
      await once(socket, "connect");
      socket.write("before");
      await expect.poll(() => said("source", /before/), soon).toContain(`${way} received before`);
    }
    return sockets;
  }

  test("are told of a reset in the fork, and go on waiting in the source", async () => {
    const source = await bareSandbox(box, "source", { spec });
    const { status } = await source.start();
    const sockets = await openAll(status?.podIP);
    const snapshot = await takeSnapshot(box, "open", "source");
    expect(failureOf(snapshot)).toBeUndefined();
    const fork = await bareSandbox(box, "fork", { spec, restoreFrom: { snapshotRef: { name: "open" } } });
    expect(answerOf(await fork.restore(snapshot.metadata.uid ?? ""), "PodRestored")).toBe("True");
    const reset = ways.map((way) => `${way} ConnectionResetError`).toSorted();
    await expect.poll(() => said("fork", /^in_/), soon).toEqual(reset);
    for (const socket of sockets) socket.write("after");
    const received = ways.map((way) => `${way} received after`).toSorted();
    await expect.poll(() => said("source", /after/), soon).toEqual(received);
    expect(await said("source", /Error|ended/)).toEqual([]);
    for (const socket of sockets) socket.destroy();
  });
});
