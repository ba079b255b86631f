import { type Duplex, duplexPair, PassThrough, Readable } from "node:stream";
import type {
  AttachRequest,
  ExecRequest,
  ExecSession,
  LogRequest,
  PodStreams,
  PortForwardRequest,
} from "@agent-sandbox/kube";

/** A command whose behaviour is controlled by a test. */
export class FakeSession implements ExecSession {
  readonly request: ExecRequest;
  readonly stdin: PassThrough = new PassThrough();
  readonly stdout: PassThrough = new PassThrough();
  readonly stderr: PassThrough = new PassThrough();
  readonly sizes: string[] = [];
  readonly killed: Promise<void>;
  readonly exit: Promise<{ code: number; signal?: string }>;
  #exited: (how: { code: number; signal?: string }) => void = () => undefined;
  #killed: () => void = () => undefined;

  constructor(request: ExecRequest) {
    this.request = request;
    this.killed = new Promise((resolve) => {
      this.#killed = resolve;
    });
    this.exit = new Promise((resolve) => {
      this.#exited = resolve;
    });
  }

  resize(columns: number, rows: number): void {
    this.sizes.push(`${columns}x${rows}`);
  }

  kill(): void {
    this.#killed();
    this.finish(137, "SIGKILL");
  }

  finish(code: number, signal?: string): void {
    this.stdout.end();
    this.stderr.end();
    this.#exited(signal === undefined ? { code } : { code, signal });
  }
}

/**
 * A fake node. Logs contain the request; with `follow`, they continue until they are destroyed. Port 80 greets and echoes; other
 * ports refuse. Attaching waits. Commands: `cat` echoes, `fail N` exits with N, `both` writes to both outputs, `flood N` writes
 * N bytes; others wait.
 */
export class FakePodStreams implements PodStreams {
  readonly sessions: FakeSession[] = [];
  refuse: Error | undefined;
  followed: PassThrough | undefined;
  /** Replaces the connection to any port. */
  dialled: Duplex | undefined;

  async exec(request: ExecRequest): Promise<ExecSession> {
    if (this.refuse !== undefined) throw this.refuse;
    const session = new FakeSession(request);
    this.sessions.push(session);
    this.#play(session);
    return session;
  }

  async attach(request: AttachRequest): Promise<ExecSession> {
    const session = new FakeSession({ ...request, command: [] });
    this.sessions.push(session);
    return session;
  }

  async logs(request: LogRequest): Promise<Readable> {
    if (this.refuse !== undefined) throw this.refuse;
    this.followed = new PassThrough();
    this.followed.write(`${JSON.stringify(request)}\n`);
    if (!request.follow) this.followed.end();
    return this.followed;
  }

  async metrics(path: string): Promise<Readable> {
    if (path.startsWith("/metrics/")) return Readable.from([`# ${path}`]);
    throw Object.assign(new Error(`the node does not have "${path}"`), { reason: "NotFound" });
  }

  async portForward({ port }: PortForwardRequest): Promise<Duplex> {
    if (this.dialled !== undefined) return this.dialled;
    if (port !== 80) throw new Error("connection refused");
    const [here, there] = duplexPair();
    there.write("hello ");
    there.on("data", (chunk: Buffer) => there.write(chunk));
    there.on("end", () => there.end());
    return here;
  }

  #play(session: FakeSession): void {
    const [name, argument] = session.request.command;
    if (name === "cat") {
      session.stdin.on("data", (chunk: Buffer) => session.stdout.write(chunk));
      session.stdin.on("end", () => session.finish(0));
    }
    if (name === "fail") session.finish(Number(argument));
    if (name === "both") {
      session.stdout.write("to stdout\n");
      session.stderr.write("to stderr\n");
      session.finish(0);
    }
    if (name === "flood") void this.#flood(session, Number(argument));
  }

  async #flood(session: FakeSession, bytes: number): Promise<void> {
    const chunk = Buffer.alloc(64 * 1024, "x");
    for (let left = bytes; left > 0; left -= chunk.length) {
      const fits = session.stdout.write(chunk.subarray(0, left));
      if (!fits) await new Promise((resolve) => session.stdout.once("drain", resolve));
    }
    session.finish(0);
  }
}
