import type { Upstream } from "../proxy/upstream-pool.ts";
import { isBusy } from "./runtime-report.ts";

const answerMs = 2000;
const mostBytes = 64 * 1024;

/** Whether the runtime says that it is busy. Throws when it says nothing that can be read. */
export async function askRuntime(connection: Upstream, path: string, headers: string[]): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let answered = 0;
  connection.dispatch(
    { method: "GET", path, headers, headersTimeout: answerMs, bodyTimeout: answerMs },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_, status) => {
        answered = status;
      },
      onResponseData: (controller, chunk) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > mostBytes) controller.abort(new Error("Cannot read the activity report: it is too long"));
      },
      onResponseEnd: () => {
        if (answered === 200) resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")));
        else reject(new Error(`Cannot read the activity report: status ${answered}`));
      },
      onResponseError: (_, error) => reject(error),
    },
  );
  try {
    const busy = isBusy(await promise);
    connection.release();
    return busy;
  } catch (error) {
    await connection.destroy();
    throw error;
  }
}
