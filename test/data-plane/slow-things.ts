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

/** Starts operations that take ten seconds or more. They run beside the tests, some of which check the results. */
export async function startSlowThings(box: DataPlaneBox, at: Subject): Promise<SlowOutcome> {
  const outcome = Promise.all([longCommand(at), unfinishedHeads(box, at)]);
  const leased = heldAwake(box, at);
  // Failures are reported to the tests that await them.
  outcome.catch(() => undefined);
  leased.catch(() => undefined);
  const [longAnswer, hungUpOn] = await outcome;
  return { longAnswer, hungUpOn, leased };
}

const leaseSeconds = 25;

/**
 * A sandbox that is suspended after ten idle seconds, with a lease taken by its own code. It gets the idle policy after the lease:
 * on a busy machine it could be suspended before.
 */
async function heldAwake(box: DataPlaneBox, { name }: Subject): Promise<Leased> {
  const runtime = name.endsWith("runc") ? "runc" : "gvisor";
  const leased = await box.subject({ name: `leased-${name}`, runtime });
  const path = `http://sandbox/v1/leases/job?ttl=${leaseSeconds}s`;
  await leased.shell(`curl -sSf --unix-socket "$SANDBOXD_SOCKET" -X PUT "${path}"`);
  const leasedUntil = Math.floor(Date.now() / 1000) + leaseSeconds - 1;
  const sleeper = new Sleeper(box, leased.name);
  await sleeper.patch({ spec: { idlePolicy: { suspendAfterSeconds: 10 } } });
  await sleeper.asleep();
  const { status } = await sleeper.object();
  const since = findCondition(status?.conditions, "Suspended")?.lastTransitionTime ?? "";
  return { leasedUntil, asleepSince: Date.parse(since) / 1000 };
}

/** A command that ends only after the headers of its response have arrived. */
async function longCommand(at: Subject): Promise<string> {
  const command = "sh -c 'until test -e /var/tmp/head-came; do sleep 0.2; done; echo over'";
  const body = JSON.stringify({ command });
  const response = await open(at.router, "/execute", { method: "POST", body, headers: at.headers(ports.legacy) });
  await at.shell("touch /var/tmp/head-came");
  return await text(response);
}

/** Connects directly to the pod, since the router would not forward an incomplete head. */
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
