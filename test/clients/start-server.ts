import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** The embedded API server in its own process. It ends on disposal, and also if this process dies. */
export interface TestServer extends AsyncDisposable {
  readonly kubeconfig: string;
}

export async function startServer(): Promise<TestServer> {
  const child = spawn(process.execPath, ["--conditions=source", `${import.meta.dirname}/serve.ts`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const lines = createInterface({ input: child.stdout });
  const ready = once(lines, "line") as Promise<[string]>;
  const first = await Promise.race([ready, exited]);
  const [kubeconfig] = first;
  if (typeof kubeconfig !== "string") throw new Error(`Cannot start the API server: it exited with ${kubeconfig}`);
  return {
    kubeconfig,
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      const [code] = await exited;
      if (code !== 0) throw new Error(`Cannot stop the API server cleanly: it exited with ${code}`);
    },
  };
}
