import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { findCondition } from "@agent-sandbox/api";
import { open } from "./ask.ts";
import type { DataPlaneBox } from "./data-plane-box.ts";
import { podAddress } from "./pod-facts.ts";
import { Sleeper } from "./sleeper.ts";
import { ports, type Subject } from "./subject.ts";
import type { Leased, SlowOutcome } from "./world.ts";

/** What takes ten seconds and more runs beside the other tests, and is looked at by some of them. */
export async function startSlowThings(box: DataPlaneBox, at: Subject): Promise<SlowOutcome> {
  const outcome = Promise.all([longCommand(at), unfinishedHeads(box, at)]);
  const leased = heldAwake(box, at);
  // Whoever looks at them hears of a failure.
  outcome.catch(() => undefined);
  leased.catch(() => undefined);
  const [longAnswer, hungUpOn] = await outcome;
  return { longAnswer, hungUpOn, leased };
}

const leaseSeconds = 25;

/** A sandbox that would fall asleep after ten seconds, with a lease that its own code has taken. */
async function heldAwake(box: DataPlaneBox, { name }: Subject): Promise<Leased> {
  const runtime = name.endsWith("runc") ? "runc" : "gvisor";
  const spec = { idlePolicy: { suspendAfterSeconds: 10 } };
  const leased = await box.subject({ name: `leased-${name}`, runtime, spec });
  const path = `http://sandbox/v1/leases/job?ttl=${leaseSeconds}s`;
  await leased.shell(`curl -sSf --unix-socket "$SANDBOXD_SOCKET" -X PUT "${path}"`);
  const leasedUntil = Math.floor(Date.now() / 1000) + leaseSeconds - 1;
  const sleeper = new Sleeper(box, leased.name);
  await sleeper.asleep();
  const { status } = await sleeper.object();
  const since = findCondition(status?.conditions, "Suspended")?.lastTransitionTime ?? "";
  return { leasedUntil, asleepSince: Date.parse(since) / 1000 };
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
