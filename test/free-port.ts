import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Suites run side by side: between the choice of a port and its use, another process must not choose it too. */
const takenFolder = join(tmpdir(), "agent-sandbox-test-ports");

/**
 * A loopback port that nobody listens on, and that no other test is given while this process runs. Below the range that
 * Linux takes the ports of outgoing connections from: none of those can take it before its server does, or while its server
 * is away, as clients would that try again and again to reach it.
 */
export async function freePort(): Promise<number> {
  mkdirSync(takenFolder, { recursive: true });
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = randomInt(20_000, 32_768);
    if (take(port) && (await isFree(port))) return port;
  }
  throw new Error("Cannot find a free port: fifty random ones from 20000 to 32767 were taken");
}

function take(port: number): boolean {
  const path = join(takenFolder, String(port));
  if (isLeftover(path)) rmSync(path, { force: true });
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch {
    return false;
  }
}

function isLeftover(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, "utf8")), 0);
    return false;
  } catch {
    return true;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  await new Promise((resolve) => server.close(resolve));
  return true;
}
