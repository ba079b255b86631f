import type { Duplex } from "node:stream";
import { Condition } from "./condition.ts";
import { FrameParser, type Malformed } from "./frame-parser.ts";
import { type Frame, goAwayStatus, type HeaderFrame, resetStatus, setting } from "./frames.ts";
import { HeaderReader, HeaderWriter } from "./header-block.ts";
import { Sender } from "./sender.ts";
import { SpdyStream, type StreamLink } from "./spdy-stream.ts";

/** A forwarded connection takes two streams. */
const maxStreams = 1000;
/** The limit of unread data on the connection. Above it, nothing is read from the network. */
const maxUnreadBytes = 1024 * 1024;
/** The fixed memory cost of a chunk of any size. */
const chunkCost = 256;
/** The limit of replies to a client that sends but does not read. */
const maxUnsentBytes = 1024 * 1024;
/** A peer that does not answer two pings is considered disconnected. */
const pingMs = 30_000;
/** How long to wait for written data to be sent when the connection closes. */
const goodbyeMs = 5000;

export interface SpdyConnectionOptions {
  /** Called for each stream that the client opens. */
  onStream(stream: SpdyStream): void;
}

/** The server's side of a SPDY/3.1 connection. It never opens streams itself. */
export class SpdyConnection implements Disposable {
  /** Settles when the connection has ended for any reason. */
  readonly closed: Promise<void>;
  readonly #transport: Duplex;
  readonly #options: SpdyConnectionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #reader = new HeaderReader();
  readonly #writer = new HeaderWriter();
  readonly #sender: Sender;
  readonly #room = new Condition();
  #unread = 0;
  #lastStreamId = 0;
  #answered = true;
  #pingId = 0;

  constructor(transport: Duplex, options: SpdyConnectionOptions) {
    this.#transport = transport;
    this.#options = options;
    this.#sender = new Sender(transport);
    transport.on("error", () => transport.destroy());
    transport.once("close", () => this.#room.notifyAll());
    const pings = setInterval(() => this.#ping(), pingMs).unref();
    this.closed = this.#run().finally(() => clearInterval(pings));
    this.#sender.frame({ type: "settings", values: new Map([[setting.maxConcurrentStreams, maxStreams]]) });
  }

  /** Sends GOAWAY and pending data, and closes the connection. */
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
      // Keep the transport open for writing after the last read.
      for await (const chunk of this.#transport.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        for (const frame of parser.push(chunk)) {
          if (!(await this.#receive(frame))) return;
        }
        await this.#waitForRoom();
      }
    } catch {
      // The transport failed. The streams are closed below.
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

  /** Returns false when the connection must end. */
  async #receive(frame: Frame | Malformed): Promise<boolean> {
    this.#answered = true;
    switch (frame.type) {
      case "syn-stream":
        return this.#open(frame);
      case "syn-reply":
      case "headers":
        // The headers are not used, but the shared compression state must advance.
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
        // Pings with even IDs are replies to ours.
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
      // Data was in flight when the stream was closed. Return it to the connection window.
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
      if (this.#unread <= maxUnreadBytes) this.#room.notifyAll();
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
    // A reply cannot arrive while reading is paused. Sending a ping still detects a broken connection.
    const isReading = this.#unread <= maxUnreadBytes;
    if (isReading && !this.#answered) return void this.#transport.destroy();
    this.#answered = !isReading;
    this.#pingId = (this.#pingId + 2) % 0x7f_ff_ff_fe;
    this.#sender.frame({ type: "ping", id: this.#pingId });
  }
}
