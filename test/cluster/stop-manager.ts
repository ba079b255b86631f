import { type Access, kubectl } from "./kubectl.ts";

export const manager = "agent-sandbox-controller";

interface Deployment {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
  };
}

/** Stops the installed manager, by whichever labels its Deployment selects. When disposed, it gets as many replicas as it had. */
export async function stopManager(access: Access, namespace: string): Promise<AsyncDisposable> {
  const run = (...words: string[]): Promise<string> => kubectl(access, ["-n", namespace, ...words]);
  const { spec } = JSON.parse(await run("get", "deployment", manager, "-o", "json")) as Deployment;
  const scale = (replicas: number): Promise<string> =>
    run("scale", "deployment", manager, `--replicas=${String(replicas)}`);
  await using undo = new AsyncDisposableStack();
  await scale(0);
  undo.defer(async () => void (await scale(spec.replicas)));
  const selected = Object.entries(spec.selector.matchLabels).map(([label, value]) => `${label}=${value}`);
  await run("wait", "pod", "-l", selected.join(), "--for=delete", "--timeout=60s");
  const owned = undo.move();
  return { [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
