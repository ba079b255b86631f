/** A shell in the sandbox and its screen. It goes on for some time while nobody looks at it, and when the connection is lost. */
import type { Process, TerminalSize } from "@agent-sandbox/sdk";
import type { OnConnection } from "../../data/stream-fetch.ts";
import { InputQueue } from "./input-queue.ts";
import { Screen } from "./screen.ts";

export interface SessionState {
  readonly step: "starting" | "connected" | "reconnecting" | "ended" | "failed";
  /** Of a shell that has ended. */
  readonly exitCode?: number;
  /** Why the connection failed, or what happened to input. */
  readonly error?: unknown;
  readonly hasSelection: boolean;
}

/** Connects to the sandbox. The connection reports when it was lost. */
export type Connect = (onConnection: OnConnection) => Promise<RunningSandbox>;
type RunningSandbox = import("@agent-sandbox/sdk").Sandbox;

/** bash if the image has it. */
const shell = ["sh", "-c", "if command -v bash >/dev/null 2>&1; then exec bash; else exec sh; fi"];
/** For a page that is loaded again, or a laptop that was closed. */
const keepRunningMs = 10 * 60_000;
/** A window that is being resized has many sizes. */
const resizeMs = 100;

export class TerminalSession {
  readonly number: number;
  readonly screen: Screen;
  /** Called when the user leaves the terminal with the keyboard. */
  onLeave: () => void = () => undefined;
  readonly #connect: Connect;
  readonly #onChange: () => void;
  readonly #input: InputQueue;
  #state: SessionState = { step: "starting", hasSelection: false };
  #process: Process | undefined;
  /** Of the next byte of output to show. */
  #offset = 0;
  /** The size that the shell was told. */
  #size: TerminalSize | undefined;
  #leaving: AbortController | undefined;
  #resizing: ReturnType<typeof setTimeout> | undefined;

  constructor(number: number, connect: Connect, onChange: () => void) {
    [this.number, this.#connect, this.#onChange] = [number, connect, onChange];
    this.#input = new InputQueue(
      async (text) => this.#process?.write(text),
      (error) => this.#enter({ error }),
    );
    this.screen = new Screen({
      onInput: (text) => this.#input.add(text),
      onResize: () => this.#resize(),
      onLeave: () => this.onLeave(),
      onSelection: (hasSelection) => this.#enter({ hasSelection }),
    });
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Starts the shell, or continues where its output was left. */
  enter(): void {
    if (this.#leaving !== undefined || this.#state.step === "ended") return;
    this.#leaving = new AbortController();
    void this.#run(this.#leaving.signal);
  }

  /** Ends the connection, which would keep the sandbox awake. */
  leave(): void {
    this.#input.close();
    this.#leaving?.abort(new Error("The view was left"));
    this.#leaving = undefined;
  }

  /** Ends the shell and everything that it started. */
  close(): void {
    const isRunning = this.#state.step !== "ended";
    const process = this.#process;
    this.leave();
    this.screen[Symbol.dispose]();
    // If the call fails, the shell is killed as one that nobody looks at.
    if (isRunning) void process?.kill().catch(() => undefined);
  }

  async #run(left: AbortSignal): Promise<void> {
    const { error: _, ...before } = this.#state;
    this.#state = { ...before, step: this.#process === undefined ? "starting" : "reconnecting" };
    this.#onChange();
    try {
      const process = await this.#open(left);
      for await (const { text } of process.output()) {
        await this.screen.write(text);
        this.#offset = process.offset;
      }
      const { exitCode } = await process.wait({ signal: left });
      this.#finish({ step: "ended", exitCode });
    } catch (error) {
      if (left.aborted) return;
      // sandboxd runs and does not know the process: the sandbox was restarted, or nobody looked at the shell for too long.
      const isGone = this.#process !== undefined && (error as { serverReason?: string }).serverReason === "not_found";
      this.#finish(isGone ? { step: "ended" } : { step: "failed", error });
    }
  }

  async #open(left: AbortSignal): Promise<Process> {
    const sandbox = await this.#connect((isConnected) => {
      if (!left.aborted) this.#enter({ step: isConnected ? "connected" : "reconnecting" });
    });
    const { commands } = sandbox;
    const process =
      this.#process === undefined
        ? await this.#start(commands, left)
        : await commands.attach(this.#process.id, { fromOffset: this.#offset, signal: left });
    this.#process = process;
    this.#input.open();
    this.#resize();
    return process;
  }

  async #start(commands: RunningSandbox["commands"], left: AbortSignal): Promise<Process> {
    const { size } = this.screen;
    const process = await commands.start(shell, { terminal: size, keepRunningMs, env, signal: left });
    this.#size = size;
    return process;
  }

  #finish(state: Omit<SessionState, "hasSelection">): void {
    this.#input.close();
    this.#leaving = undefined;
    this.#enter(state);
  }

  #resize(): void {
    clearTimeout(this.#resizing);
    this.#resizing = setTimeout(() => void this.#tellSize(), resizeMs);
  }

  async #tellSize(): Promise<void> {
    const { size } = this.screen;
    const isSame = size.cols === this.#size?.cols && size.rows === this.#size.rows;
    if (isSame || this.#state.step !== "connected") return;
    try {
      await this.#process?.resize(size);
      this.#size = size;
    } catch {
      // It is sent with the next connection.
    }
  }

  #enter(change: Partial<SessionState>): void {
    this.#state = { ...this.#state, ...change };
    this.#onChange();
  }
}

const env = { COLORTERM: "truecolor" };
