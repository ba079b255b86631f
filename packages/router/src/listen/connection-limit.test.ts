import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { ConnectionLimit, connectionKey } from "./connection-limit.ts";

class FakeSocket extends EventEmitter {
  readonly remoteAddress = "10.0.0.1";
  readonly localPort = 80;
  destroyed = false;
  readonly remotePort: number;

  constructor(remotePort: number) {
    super();
    this.remotePort = remotePort;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const open = (limit: ConnectionLimit, port: number): Socket => {
  const socket = new FakeSocket(port) as unknown as Socket;
  limit.add(socket, connectionKey(socket));
  return socket;
};
const areClosed = (...sockets: Socket[]): boolean[] => sockets.map(({ destroyed }) => destroyed);

test("a new connection replaces the one that has been idle for longest", () => {
  const limit = new ConnectionLimit(3);
  const [first, second, third] = [1, 2, 3].map((port) => open(limit, port)) as [Socket, Socket, Socket];
  limit.markBusy(connectionKey(first))[Symbol.dispose]();
  const fourth = open(limit, 4);
  expect([areClosed(first, second, third, fourth), limit.size]).toEqual([[false, true, false, false], 3]);
});

test("a new connection is refused while all others have a request in progress", () => {
  const limit = new ConnectionLimit(2);
  const [first, second] = [1, 2].map((port) => open(limit, port)) as [Socket, Socket];
  const uses = [first, second].map((socket) => limit.markBusy(connectionKey(socket)));
  const refused = open(limit, 3);
  expect(areClosed(first, second, refused)).toEqual([false, false, true]);
  uses[1]?.[Symbol.dispose]();
  const taken = open(limit, 4);
  expect([areClosed(first, second, taken), limit.size]).toEqual([[false, true, false], 2]);
});

test("a closed connection no longer counts", () => {
  const limit = new ConnectionLimit(1);
  open(limit, 1).destroy();
  expect([limit.size, areClosed(open(limit, 2)), limit.size]).toEqual([0, [false], 1]);
});
