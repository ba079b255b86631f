/** Transfers with Node's HTTP client, as a program without the SDK would. */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { buffer } from "node:stream/consumers";

export interface PlainRoute {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export async function plainUpload({ url, headers }: PlainRoute, name: string, content: Uint8Array): Promise<void> {
  const sent = request(`${url}/${name}`, { method: "PUT", headers: { ...headers, "content-length": content.length } });
  sent.end(content);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  await buffer(response);
}

export async function plainDownload({ url, headers }: PlainRoute, name: string): Promise<number> {
  const [response] = (await once(request(`${url}/${name}`, { headers }).end(), "response")) as [IncomingMessage];
  return (await buffer(response)).length;
}
