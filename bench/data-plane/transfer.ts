import { request } from "node:http";

export interface Transfer {
  readonly host: string;
  readonly port: number;
  readonly headers: Record<string, string>;
  readonly bytes: number;
}

const block = Buffer.alloc(64 * 1024, 7);

/** Uploads that many bytes and waits until the backend has counted them. Returns MiB/s. */
export function upload({ host, port, headers, bytes }: Transfer): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const asked = request({
      host,
      port,
      method: "POST",
      agent: false,
      headers: { ...headers, "content-length": bytes },
    });
    asked.on("error", reject);
    asked.on("response", (answer) => {
      let text = "";
      answer.on("data", (chunk: Buffer) => {
        text += chunk.toString();
      });
      answer.on("end", () =>
        text === String(bytes)
          ? resolve(rate(bytes, started))
          : reject(new Error(`Cannot use the upload: "${text}" arrived`)),
      );
    });
    let left = bytes;
    const more = (): void => {
      while (left > 0) {
        const chunk = left < block.length ? block.subarray(0, left) : block;
        left -= chunk.length;
        if (asked.write(chunk)) continue;
        asked.once("drain", more);
        return;
      }
      asked.end();
    };
    more();
  });
}

/** Downloads that many bytes. Returns MiB/s. */
export function download({ host, port, headers, bytes }: Transfer): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const asked = request({ host, port, path: `/bytes/${bytes}`, agent: false, headers }, (answer) => {
      let arrived = 0;
      answer.on("data", (chunk: Buffer) => {
        arrived += chunk.length;
      });
      answer.on("error", reject);
      answer.on("end", () =>
        arrived === bytes
          ? resolve(rate(bytes, started))
          : reject(new Error(`Cannot use the download: ${arrived} bytes arrived`)),
      );
    });
    asked.on("error", reject);
    asked.end();
  });
}

function rate(bytes: number, started: number): number {
  return bytes / 2 ** 20 / ((performance.now() - started) / 1000);
}
