import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { convertReview } from "@agent-sandbox/api/conversion";
import type { Authority } from "./authority.ts";

/** Our conversion between versions as a webhook in this process. */
export interface ConversionWebhook extends AsyncDisposable {
  readonly url: string;
  /** The number of answered reviews. */
  readonly answered: number;
}

export async function startConversionWebhook(authority: Authority): Promise<ConversionWebhook> {
  const pair = authority.issueServer("conversion-webhook");
  let answered = 0;
  // kube-apiserver closes idle connections after 90 s. If this server closed them first, a request could meet the reset.
  const keepAliveTimeout = 120_000;
  const tls = { key: readFileSync(pair.key), cert: readFileSync(pair.certificate), keepAliveTimeout };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const review = await json(request).catch(() => undefined);
    answered++;
    response.setHeader("content-type", "application/json").end(JSON.stringify(convertReview(review)));
  };
  const server = createServer(tls, (request, response) => void answer(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/convert`,
    get answered() {
      return answered;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
