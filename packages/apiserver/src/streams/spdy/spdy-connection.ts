import type { Duplex } from "node:stream";
import { FrameParser, type Malformed } from "./frame-parser.ts";
import { type Frame, goAwayStatus, type HeaderFrame, resetStatus, setting } from "./frames.ts";
import { HeaderReader, HeaderWriter } from "./header-block.ts";
import { Sender } from "./sender.ts";
import { SpdyStream, type StreamLink } from "./spdy-stream.ts";
import { Turnstile } from "./turnstile.ts";

/** A forwarded connection takes two streams. */
const maxStreams = 1000;
/** What may wait for readers on the whole connection; beyond it, nothing more is read from the network. */
const maxUnreadBytes = 1024 * 1024;
/** A chunk costs memory of its own, however small it is. */
const chunkCost = 256;
/** Answers to a client that sends and does not read. */
const maxUnsentBytes = 1024 * 1024;
/** A peer that does not answer for two of these is gone. */
const pingMs = 30_000;
/** For what was written to go out when the connection ends. */
const goodbyeMs = 5000;

export interface SpdyConnectionOptions {
  /** Called for each stream the client opens. */
  onStream(stream: SpdyStream): void;
}

/** The server's side of a SPDY/3.1 connection. It never opens streams itself. */
export class SpdyConnection implements Disposable {
  /** Settles when the connection is over, however that came. */
  readonly closed: Promise<void>;
  readonly #transport: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #reader = new HeaderReader();
  readonly #writer = new HeaderWriter();
  readonly #sender: Sender;
  readonly #room = new Turnstile();
  #unread = 0;
  #lastStreamId = 0;
  #answered = true;
  #pingId = 0;

  constructor(transport: Duplex, options: SpdyConnectionOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#sender = new Sender(transport);
    transport.on("error", () => transport.destroy());
    transport.once("close", () => this.#room.open());
    const pings = setInterval(() => this.#ping(), pingMs).unref();
    this.closed = this.#run().finally(() => clearInterval(pings));
    this.#sender.frame({ type: "settings", values: new Map([[setting.maxConcurrentStreams, maxStreams]]) });
  }

  /** Says goodbye, sends what was written, and hangs up. */
  close(): void {
    this.#sender.frame({ type: "go-away", lastStreamId: this.#lastStreamId, status: goAwayStatus.ok });
    this.#hangUp();
  }

  [Symbol.dispose](): void {
    this.#transport.destroy();
  }

  async #run(): Promise<void> {
    const parser = new FrameParser();
    try {
      // What was written still has to go out when the reading is over.
      for await (const chunk of this.#transport.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        for (const frame of parser.push(chunk)) {
          if (!(await this.#receive(frame))) return;
        }
        await this.#waitForRoom();
      }
    } catch {
      // The transport broke: the streams below learn of it.
    } finally {
      this.#end();
    }
  }

  #end(): void {
    this.#reader.close();
    this.#sender.close();
    for (const stream of this.#streams.values()) stream.reset();
    this.#hangUp();
  }

  #hangUp(): void {
    const timer = setTimeout(() => this.#transport.destroy(), goodbyeMs).unref();
    this.#transport.once("close", () => clearTimeout(timer));
    this.#transport.end(() => this.#transport.destroy());
  }

  async #waitForRoom(): Promise<void> {
    while (this.#unread > maxUnreadBytes && !this.#transport.destroyed) await this.#room.wait();
    if (this.#transport.writableLength > maxUnsentBytes) await this.#sender.drained();
  }

  /** False when the connection is over. */
  async #receive(frame: Frame | Malformed): Promise<boolean> {
    this.#answered = true;
    switch (frame.type) {
      case "syn-stream":
        return this.#open(frame);
      case "syn-reply":
      case "headers":
        // Nothing is done with them, but the compression goes on where they end.
        return (await this.#reader.read(frame.headerBlock)) !== undefined || this.#violated();
      case "data":
        this.#data(frame);
        return true;
      case "rst-stream":
        this.#streams.get(frame.streamId)?.reset();
        return true;
      case "settings":
        return this.#sender.setInitialWindow(frame.values.get(setting.initialWindowSize)) || this.#violated();
      case "window-update":
        return this.#grow(frame.streamId, frame.delta);
      case "ping":
        // Even numbers are ours, on their way back.
        if (frame.id % 2 === 1) this.#sender.frame(frame);
        return true;
      case "go-away":
        return true;
      case "malformed":
        return this.#violated();
      default:
        return frame satisfies never;
    }
  }

  async #open(frame: HeaderFrame): Promise<boolean> {
    const { streamId: id, fin } = frame;
    const headers = await this.#reader.read(frame.headerBlock);
    if (headers === undefined || id % 2 === 0 || id <= this.#lastStreamId) return this.#violated();
    this.#lastStreamId = id;
    if (this.#streams.size >= maxStreams) {
      this.#sender.frame({ type: "rst-stream", streamId: id, status: resetStatus.refusedStream });
      return true;
    }
    const stream = new SpdyStream({ id, headers, link: this.#link });
    this.#streams.set(id, stream);
    this.#sender.add(id);
    this.#sender.frame({ type: "syn-reply", streamId: id, fin: false, headerBlock: this.#writer.write(new Map()) });
    if (fin) stream.receive(Buffer.alloc(0), true);
    this.#options.onStream(stream);
    return true;
  }

  #data({ streamId, bytes, fin }: Extract<Frame, { type: "data" }>): void {
    const stream = this.#streams.get(streamId);
    if (stream === undefined || stream.isEnded) {
      // Often on its way when we closed the stream. The window of the connection is opened again all the same.
      this.#sender.giveBack(undefined, bytes.length);
      if (stream !== undefined || streamId > this.#lastStreamId)
        this.#sender.frame({ type: "rst-stream", streamId, status: resetStatus.protocolError });
      return;
    }
    if (bytes.length > 0) this.#unread += bytes.length + chunkCost;
    stream.receive(bytes, fin);
  }

  #grow(streamId: number, delta: number): boolean {
    if (this.#sender.grow(streamId, delta)) return true;
    if (streamId === 0) return this.#violated();
    this.#sender.frame({ type: "rst-stream", streamId, status: resetStatus.flowControlError });
    this.#streams.get(streamId)?.reset();
    return true;
  }

  #violated(): false {
    this.#sender.frame({ type: "go-away", lastStreamId: this.#lastStreamId, status: goAwayStatus.protocolError });
    return false;
  }

  readonly #link: StreamLink = {
    send: ({ id }, bytes, fin) => this.#sender.data(id, bytes, fin),
    taken: ({ id, isEnded, destroyed }, { length }) => {
      this.#unread -= length + chunkCost;
      if (this.#unread <= maxUnreadBytes) this.#room.open();
      this.#sender.giveBack(isEnded || destroyed ? undefined : id, length);
    },
    closed: ({ id }, complete) => {
      this.#streams.delete(id);
      this.#sender.remove(id);
      if (!complete && !this.#transport.destroyed)
        this.#sender.frame({ type: "rst-stream", streamId: id, status: resetStatus.cancel });
    },
  };

  #ping(): void {
    // While we do not read, an answer cannot be seen. What is sent still finds out whether there is anybody.
    const isReading = this.#unread <= maxUnreadBytes;
    if (isReading && !this.#answered) return void this.#transport.destroy();
    this.#answered = !isReading;
    this.#pingId = (this.#pingId + 2) % 0x7f_ff_ff_fe;
    this.#sender.frame({ type: "ping", id: this.#pingId });
  }
}
