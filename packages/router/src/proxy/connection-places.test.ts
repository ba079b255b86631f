import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { ConnectionPlaces, connectionKey } from "./connection-places.ts";

class Line extends EventEmitter {
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

const open = (places: ConnectionPlaces, port: number): Socket => {
  const line = new Line(port) as unknown as Socket;
  places.arrived(line);
  return line;
};
const areClosed = (...lines: Socket[]): boolean[] => lines.map(({ destroyed }) => destroyed);

test("the connection that was without a request for longest makes room for a new one", () => {
  const places = new ConnectionPlaces(3);
  const [first, second, third] = [1, 2, 3].map((port) => open(places, port)) as [Socket, Socket, Socket];
  places.begin(connectionKey(first))[Symbol.dispose]();
  const fourth = open(places, 4);
  expect([areClosed(first, second, third, fourth), places.size]).toEqual([[false, true, false, false], 3]);
});

test("connections with a request under way stay, and then a new one does not", () => {
  const places = new ConnectionPlaces(2);
  const [first, second] = [1, 2].map((port) => open(places, port)) as [Socket, Socket];
  const uses = [first, second].map((line) => places.begin(connectionKey(line)));
  const refused = open(places, 3);
  expect(areClosed(first, second, refused)).toEqual([false, false, true]);
  uses[1]?.[Symbol.dispose]();
  const taken = open(places, 4);
  expect([areClosed(first, second, taken), places.size]).toEqual([[false, true, false], 2]);
});

test("a connection that ends gives its place back", () => {
  const places = new ConnectionPlaces(1);
  open(places, 1).destroy();
  expect([places.size, areClosed(open(places, 2)), places.size]).toEqual([0, [false], 1]);
});
