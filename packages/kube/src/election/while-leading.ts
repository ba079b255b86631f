import type { StreamResponse, Transport, TransportRequest, TransportResponse } from "../transport.ts";
import type { Leadership } from "./leadership.ts";

/**
 * A transport that refuses every write once the lease has not been renewed in time, and passes everything else. It asks
 * right before it sends, each time, repeats included.
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
