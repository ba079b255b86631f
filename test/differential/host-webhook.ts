import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import type { KeyPair } from "../kube-apiserver/authority.ts";

interface Host {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly [field: string]: unknown };
  readonly spec?: { readonly host?: string; readonly port?: number; readonly hostPort?: string };
}

interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Host[] };
}

/** Replaces the correct response of the webhook, to simulate a broken one. */
export type Answer = (right: { response: Record<string, unknown> }, review: Review) => unknown;

export interface HostWebhook extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The number of objects in each review since the last call. */
  takeSizes(): number[];
  /** Default: the correct response. */
  answer: Answer;
  /** Default: 200. */
  status: number;
}

const right: Answer = (answer) => answer;

/** A webhook that converts hosts: version 1 has `host` and `port`, version 2 has `hostPort`. */
export async function startHostWebhook(pair: KeyPair): Promise<HostWebhook> {
  let sizes: number[] = [];
  const hook = { answer: right, status: 200 };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const review = (await json(request)) as Review;
    sizes.push(review.request.objects.length);
    const answer = hook.answer(reviewed(review), review);
    response.statusCode = hook.status;
    response.setHeader("content-type", "application/json");
    response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
  };
  // kube-apiserver closes idle connections after 90 s. If this server closed them first, a request could meet the reset.
  const keepAliveTimeout = 120_000;
  const tls = { key: readFileSync(pair.key), cert: readFileSync(pair.certificate), keepAliveTimeout };
  const server = createServer(tls, (request, response) => void serve(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return Object.assign(hook, {
    url: `https://127.0.0.1:${port}/convert`,
    port,
    takeSizes: (): number[] => {
      const taken = sizes;
      sizes = [];
      return taken;
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  });
}

function reviewed({ apiVersion, kind, request }: Review): { response: Record<string, unknown> } {
  const convertedObjects = request.objects.map((object) => converted(object, request.desiredAPIVersion));
  return { apiVersion, kind, response: { uid: request.uid, convertedObjects, result: { status: "Success" } } } as never;
}

function converted({ spec, ...rest }: Host, apiVersion: string): object {
  if (spec === undefined) return { ...rest, apiVersion };
  const { host, port, hostPort, ...others } = spec;
  if (apiVersion.endsWith("/v2")) {
    const both = host === undefined && port === undefined ? {} : { hostPort: `${host ?? ""}:${port ?? ""}` };
    return { ...rest, apiVersion, spec: { ...others, ...both } };
  }
  const [name = "", number = ""] = hostPort?.split(":") ?? [];
  return {
    ...rest,
    apiVersion,
    spec: { ...others, ...(name === "" ? {} : { host: name }), ...(number === "" ? {} : { port: Number(number) }) },
  };
}
