import { encodeFrame, endFlag } from "../../connect/envelope.ts";
import { RouterRefusal } from "../../runtime/router-refusal.ts";
import type { EnvdCall } from "./context.ts";
import { lost } from "./rpc.ts";
import { asRpcError } from "./rpc-failure.ts";

/** A call that sends several messages and gets one. */
export async function serveClientStream(call: EnvdCall, method: (call: EnvdCall) => Promise<object>): Promise<void> {
  const { response } = call;
  let frames: readonly Buffer[];
  try {
    frames = [encodeFrame(await method(call)), encodeFrame({}, endFlag)];
  } catch (error) {
    const failure = error instanceof RouterRefusal ? lost(error) : asRpcError(error);
    frames = [encodeFrame({ error: failure.body }, endFlag)];
  }
  response.writeHead(200, { "content-type": "application/connect+json" });
  response.end(Buffer.concat(frames));
}
