import { once } from "node:events";
import { PassThrough, type Readable } from "node:stream";
import { type AttachRequest, type ExecSession, FairShare, KubeError, type LogRequest } from "@agent-sandbox/kube";
import { containerPaths, logPath, podPaths } from "../layout.ts";
import { noInput, openInput, resizeTerminal } from "./attach-input.ts";
import { type FoundContainer, findContainer, type StreamOptions } from "./find-container.ts";
import { type FollowOptions, type LogFileOptions, readLogFile } from "./log-file.ts";
import { type LogEntry, parseLogLine } from "./log-line.ts";
import { LogOutput } from "./log-output.ts";

/** The limit of readers on the node, shared between namespaces. A follower costs a file and two inotify watches. */
const mostReaders = 1000;

/** A client that is attached to a container. */
interface Attached {
  readonly uid: string;
  /** Ends the session. Its client gets an error with the reason. */
  readonly end: (reason: string) => void;
}

/** Serves the log files that the containers' monitors write. */
export class Logs implements Disposable {
  readonly #options: StreamOptions;
  readonly #readers = new Set<AbortController>();
  readonly #attached = new Set<Attached>();
  readonly #share = new FairShare(mostReaders);

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  async logs(request: LogRequest): Promise<Readable> {
    const found = await findContainer(this.#options, request, "read the log of");
    const attempt = found.kept.attempt - (request.previous ? 1 : 0);
    if (attempt < 0) {
      const { pod } = request;
      throw new KubeError("BadRequest", `previous terminated container "${found.name}" in pod "${pod}" not found`);
    }
    const follow = request.follow && !request.previous ? { follow: this.#follow(found) } : {};
    const output = new LogOutput(request);
    const out = new PassThrough();
    const { namespace } = request;
    this.#read({ namespace, path: this.#path(found, attempt), ...follow }, [out], async (item) => {
      const bytes = item === "caught-up" ? output.caughtUp() : output.add(item);
      if (bytes.length > 0) await written(out, bytes);
      return !output.isFull;
    });
    return out;
  }

  /** Streams the output of a container from now on, and its input if the container has one. */
  async attach(request: AttachRequest): Promise<ExecSession> {
    const found = await findContainer(this.#options, request, "attach to");
    const name = `${request.namespace}/${request.pod}`;
    if (found.kept.run === undefined || found.kept.ended !== undefined) {
      throw new KubeError("BadRequest", `Cannot attach to Pod "${name}": container "${found.name}" is not running`);
    }
    if (found.isBeingSaved) {
      throw new KubeError("BadRequest", `Cannot attach to Pod "${name}": it is being suspended`);
    }
    const { stdin = false, tty = false } = found.kept.io ?? {};
    const lacks = request.stdin && !stdin ? "standard input" : request.tty && !tty ? "terminal" : undefined;
    if (lacks !== undefined) {
      throw new KubeError("BadRequest", `Cannot attach to Pod "${name}": container "${found.name}" has no ${lacks}`);
    }
    const { bundle } = containerPaths(this.#options.machine.layout, found.uid, found.name);
    const begun = Promise.withResolvers<void>();
    const outputs = { stdout: new PassThrough(), stderr: new PassThrough() };
    const path = this.#path(found, found.kept.attempt);
    const follow = this.#follow(found);
    const { stop, done } = this.#read(
      { namespace: request.namespace, path, from: "end", follow },
      Object.values(outputs),
      async (item) => {
        begun.resolve();
        if (item !== "caught-up") await written(outputs[item.stream], textOf(item));
        return true;
      },
    );
    // Open the input only after the output is followed, so that no response to the input is missed.
    await Promise.race([begun.promise, done]);
    const input = request.stdin ? openInput(bundle) : noInput();
    const kill = (): void => {
      input.destroy();
      stop();
    };
    return {
      ...outputs,
      stdin: input,
      resize: (columns, rows) => {
        if (tty) resizeTerminal(bundle, columns, rows);
      },
      exit: this.#exitOf(
        done.then(() => input.destroy()),
        { uid: found.uid, kill },
      ),
      kill,
    };
  }

  /** Ends the sessions of clients that are attached to a Pod. */
  endSessions(uid: string, reason: string): void {
    for (const attached of this.#attached) if (attached.uid === uid) attached.end(reason);
  }

  /** The result of a session whose output is `done`. */
  #exitOf(done: Promise<unknown>, { uid, kill }: { uid: string; kill: () => void }): Promise<{ code: number }> {
    let ended: string | undefined;
    const attached: Attached = {
      uid,
      end: (reason) => {
        ended ??= reason;
        kill();
      },
    };
    this.#attached.add(attached);
    const exit = done.then(() => {
      this.#attached.delete(attached);
      if (ended !== undefined) throw new KubeError("Gone", `The session has ended: ${ended}`);
      return { code: 0 };
    });
    // A client that has disconnected does not await it.
    exit.catch(() => undefined);
    return exit;
  }

  [Symbol.dispose](): void {
    for (const reader of this.#readers) reader.abort();
  }

  /** Passes log entries to `take` until the log ends, `take` returns false, or all outputs are closed. */
  #read(
    { namespace, ...source }: Omit<LogFileOptions, "signal"> & { readonly namespace: string },
    outputs: readonly PassThrough[],
    take: (item: LogEntry | "caught-up") => Promise<boolean>,
  ): { stop: () => void; done: Promise<void> } {
    const place = this.#share.hold(namespace);
    if (place === undefined) {
      const limit = this.#share.mostOf(namespace);
      throw new KubeError("TooManyRequests", `Namespace "${namespace}" has reached its limit of ${limit} open logs`);
    }
    const stopping = new AbortController();
    const stop = (): void => stopping.abort();
    this.#readers.add(stopping);
    for (const output of outputs) output.once("close", () => outputs.every((each) => each.destroyed) && stop());
    const run = async (): Promise<void> => {
      try {
        for await (const item of readLogFile({ ...source, signal: stopping.signal })) {
          const entry = item === "caught-up" ? item : parseLogLine(item);
          if (stopping.signal.aborted || (entry !== undefined && !(await take(entry)))) break;
        }
        for (const output of outputs) output.end();
      } catch (error) {
        for (const output of outputs) output.destroy(error as Error);
      } finally {
        this.#readers.delete(stopping);
        place[Symbol.dispose]();
      }
    };
    return { stop, done: run() };
  }

  #path({ uid, name }: FoundContainer, attempt: number): string {
    return logPath(containerPaths(this.#options.machine.layout, uid, name), attempt);
  }

  #follow({ uid, name, kept }: FoundContainer): FollowOptions {
    const { records, layout } = this.#options.machine;
    return {
      watch: podPaths(layout, uid).dir,
      isWritten: async () => {
        const now = (await records.read(uid))?.containers[name];
        return now?.attempt === kept.attempt && now.ended === undefined;
      },
    };
  }
}

const textOf = ({ text, partial }: LogEntry): Buffer => (partial ? text : Buffer.concat([text, Buffer.from("\n")]));

/** Writes and waits until the output can take more, or is closed. */
async function written(output: PassThrough, bytes: Buffer): Promise<void> {
  if (output.destroyed || output.write(bytes)) return;
  const done = new AbortController();
  await Promise.race(
    ["drain", "close"].map((event) => once(output, event, { signal: done.signal }).catch(() => undefined)),
  );
  done.abort();
}
