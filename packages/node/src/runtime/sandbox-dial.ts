import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { RuntimeCommand } from "./oci-runtime.ts";
import { runtimeMessage } from "./runtime-message.ts";

const dialTimeoutMs = 10_000;

export interface SandboxPort {
  readonly id: string;
  readonly port: number;
  /** A folder for a socket, whose path must stay below 108 characters. */
  readonly folder: string;
}

/**
 * Connects to a port in a gVisor sandbox, one that listens on its own 127.0.0.1 alone too. runsc connects to a socket of
 * ours, hands its end to the sandbox and ends; older ones do not know how, and say so.
 */
export async function dialSandbox({ program, args }: RuntimeCommand, target: SandboxPort): Promise<Socket> {
  const path = join(target.folder, `dial-${randomBytes(6).toString("hex")}`);
  const server = createServer({ allowHalfOpen: true });
  const connected = once(server, "connection") as Promise<[Socket]>;
  // Without a connection, the exit code of runsc tells.
  connected.catch(() => undefined);
  try {
    server.listen(path);
    await once(server, "listening");
    const child = spawn(program, [...args, "port-forward", "--stream", path, target.id, String(target.port)], {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: dialTimeoutMs,
    });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    if (code !== 0) throw new Error(runtimeMessage(said) || `runsc ended with ${String(code)}`);
    const [socket] = await connected;
    return socket;
  } finally {
    server.close();
    await rm(path, { force: true });
  }
}
