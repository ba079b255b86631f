import { type Duplex, duplexPair } from "node:stream";
import { FrameParser } from "./frame-parser.ts";
import { encodeFrame, type Frame } from "./frames.ts";
import { HeaderWriter } from "./header-block.ts";
import { SpdyConnection } from "./spdy-connection.ts";
import type { SpdyStream } from "./spdy-stream.ts";

/** A client that sends given frames and records received ones. */
export class TestClient {
  readonly streams: SpdyStream[] = [];
  readonly received: Frame[] = [];
  readonly connection: SpdyConnection;
  readonly wire: Duplex;
  readonly #headers = new HeaderWriter();
  #heard: (() => void) | undefined;

  constructor() {
    const [here, there] = duplexPair();
    this.wire = here;
    this.connection = new SpdyConnection(there, { onStream: (stream) => this.streams.push(stream) });
    const parser = new FrameParser();
    here.on("error", () => undefined);
    here.on("data", (chunk: Buffer) => {
      for (const frame of parser.push(chunk)) if (frame.type !== "malformed") this.received.push(frame);
      this.#heard?.();
    });
    here.on("close", () => this.#heard?.());
  }

  send(frame: Frame): void {
    this.wire.write(encodeFrame(frame));
  }

  open(streamId: number, headers: Record<string, string> = {}, fin = false): void {
    const headerBlock = this.#headers.write(new Map(Object.entries(headers)));
    this.send({ type: "syn-stream", streamId, fin, headerBlock });
  }

  say(streamId: number, text: string | Buffer, fin = false): void {
    this.send({ type: "data", streamId, fin, bytes: Buffer.from(text) });
  }

  /** Waits for a matching frame, including those already received. */
  async hears<T extends Frame["type"]>(
    type: T,
    wanted: (frame: Frame & { type: T }) => boolean = () => true,
  ): Promise<Frame & { type: T }> {
    for (;;) {
      const found = this.received.find((frame) => frame.type === type && wanted(frame as never));
      if (found !== undefined) return found as never;
      if (this.wire.destroyed) throw new Error(`the connection ended without ${type}`);
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Sends a ping and waits for its reply, after which all earlier frames were handled. */
  async settled(id = 1): Promise<void> {
    this.send({ type: "ping", id });
    await this.hears("ping", (frame) => frame.id === id);
  }

  data(streamId: number): Buffer {
    const own = this.received.filter((frame) => frame.type === "data").filter((frame) => frame.streamId === streamId);
    return Buffer.concat(own.map(({ bytes }) => bytes));
  }
}
