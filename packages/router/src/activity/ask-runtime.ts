import type { ResponseHandler, UpstreamConnection } from "../http1/upstream-connection.ts";
import { isBusy } from "./runtime-report.ts";

const answerMs = 2000;
const mostBytes = 64 * 1024;

/** Asks the runtime whether it is busy. Throws if the response is not valid. */
export async function askRuntime(connection: UpstreamConnection, path: string, headers: string[]): Promise<boolean> {
  const tooLate = new Error(`Cannot read the activity report: no answer in ${answerMs} ms`);
  const timer = setTimeout(() => connection.destroy(tooLate), answerMs);
  try {
    return isBusy(JSON.parse(await textOf(connection, path, headers)));
  } finally {
    clearTimeout(timer);
  }
}

function textOf(connection: UpstreamConnection, path: string, headers: string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let answered = 0;
  const handler: ResponseHandler = {
    onHead: ({ status }) => {
      answered = status;
    },
    onData: (chunk) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > mostBytes) connection.destroy(new Error("Cannot read the activity report: the report is too long"));
    },
    onBatchEnd: () => undefined,
    onEnd: () => {
      if (answered === 200) resolve(Buffer.concat(chunks).toString("utf8"));
      else reject(new Error(`Cannot read the activity report: status ${answered}`));
    },
    onError: reject,
  };
  connection.send({ method: "GET", path, headers, body: undefined }, handler);
  return promise;
}
