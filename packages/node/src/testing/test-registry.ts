import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { runCommand } from "../system/run-command.ts";
import { type TestImage, writeTestImage } from "./test-image.ts";

/** Debian's registry on a loopback port. */
export interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:port`, as in image names. */
  readonly address: string;
  readonly port: number;
  push(image: TestImage, name: string): Promise<void>;
}

/** The user "someone" with the password "secret", as a bcrypt hash. */
const users = "someone:$2y$04$oZHHdb5caxI0YNzyk7Y91uX9eKcVFL0b4Na5ktVpNigf2.HTtAyjW\n";
export const login: string = Buffer.from("someone:secret").toString("base64");

export async function startRegistry(folder: string, { auth = false }: { auth?: boolean } = {}): Promise<TestRegistry> {
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  await writeFile(join(folder, "users"), users);
  const settings = {
    version: "0.1",
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(folder, "registry") } },
    http: { addr: address },
    ...(auth && { auth: { htpasswd: { realm: "test", path: join(folder, "users") } } }),
  };
  // JSON is valid YAML.
  await writeFile(join(folder, "registry.yml"), JSON.stringify(settings));
  const child = spawn("docker-registry", ["serve", join(folder, "registry.yml")], { stdio: "ignore" });
  const ended = once(child, "exit");
  await listening(port, ended);
  let pushes = 0;
  return {
    address,
    port,
    push: async (image, name) => {
      const layout = join(folder, `push-${pushes++}`);
      await writeTestImage(layout, image);
      const login = auth ? ["--dest-creds=someone:secret"] : [];
      const args = ["copy", "--dest-tls-verify=false", ...login, `oci:${layout}:latest`, `docker://${address}/${name}`];
      await runCommand("skopeo", ["--insecure-policy", ...args]);
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  await using server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Polls the port, because the registry does not report when it listens. */
async function listening(port: number, ended: Promise<unknown>): Promise<void> {
  const over = ended.then(() => Promise.reject(new Error("docker-registry ended at once")));
  over.catch(() => undefined);
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isUp = once(socket, "connect").then(
      () => true,
      () => false,
    );
    const up = await Promise.race([isUp, over]);
    socket.destroy();
    if (up) return;
    await Promise.race([sleep(20), over]);
  }
}
