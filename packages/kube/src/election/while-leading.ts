import type { StreamResponse, Transport, TransportRequest, TransportResponse } from "../transport.ts";
import type { Leadership } from "./leadership.ts";

/**
 * A transport that rejects writes unless the lease was renewed in time. It checks right before each request is sent,
 * including retries.
 */
export function whileLeading(transport: Transport, leadership: Pick<Leadership, "assertLeading">): Transport {
  return {
    async send(request: TransportRequest): Promise<TransportResponse> {
      if (request.method !== "GET") leadership.assertLeading(`${request.method} "${request.path}"`);
      return await transport.send(request);
    },
    stream: (request: TransportRequest): Promise<StreamResponse> => transport.stream(request),
    close: () => transport.close(),
  };
}
