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
  /** A folder for a Unix socket, whose path must be shorter than 108 bytes. */
  readonly folder: string;
}

/**
 * Connects to a port in a gVisor sandbox, including ports that listen only on its 127.0.0.1. runsc connects to a socket of
 * ours and passes its end to the sandbox. Older versions of runsc do not support this and fail.
 */
export async function dialSandbox({ program, args }: RuntimeCommand, target: SandboxPort): Promise<Socket> {
  const path = join(target.folder, `dial-${randomBytes(6).toString("hex")}`);
  const server = createServer({ allowHalfOpen: true });
  const connected = once(server, "connection") as Promise<[Socket]>;
  // If runsc does not connect, its exit code is the error.
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
