import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { open } from "./ask.ts";
import type { DataPlaneBox } from "./data-plane-box.ts";
import { podAddress } from "./pod-facts.ts";
import { ports, type Subject } from "./subject.ts";
import type { SlowOutcome } from "./world.ts";

/** What takes ten seconds runs beside the other tests, and is looked at by two of them. */
export async function startSlowThings(box: DataPlaneBox, at: Subject): Promise<SlowOutcome> {
  const outcome = Promise.all([longCommand(at), unfinishedHeads(box, at)]);
  // Whoever looks at it hears of a failure.
  outcome.catch(() => undefined);
  const [longAnswer, hungUpOn] = await outcome;
  return { longAnswer, hungUpOn };
}

/** A command that ends only when its answer's head has come. */
async function longCommand(at: Subject): Promise<string> {
  const command = "sh -c 'until test -e /var/tmp/head-came; do sleep 0.2; done; echo over'";
  const body = JSON.stringify({ command });
  const response = await open(at.router, "/execute", { method: "POST", body, headers: at.headers(ports.legacy) });
  await at.shell("touch /var/tmp/head-came");
  return await text(response);
}

/** Straight to the pod, past the router, which would not pass on half a head. */
async function unfinishedHeads(box: DataPlaneBox, at: Subject): Promise<number[]> {
  const host = await podAddress(box, at.name);
  const waits = [ports.legacy, ports.rest].map(async (port) => {
    const socket = connect(port, host);
    socket.write("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ");
    socket.on("error", () => undefined);
    socket.resume();
    await once(socket, "close");
    return port;
  });
  return await Promise.all(waits);
}
