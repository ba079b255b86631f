import { grpcSender } from "./grpc-sender.ts";
import { encodeRequest } from "./otlp-protobuf.ts";
import type { OtlpTracingOptions } from "./otlp-tracing.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Send = OtlpTracingOptions["send"];

const timeoutMs = 10_000;
/** Where collectors take gRPC, by convention. */
const grpcPort = "4317";

/**
 * Sends as `OTEL_EXPORTER_OTLP_*` says; undefined when that names no collector. Unless the protocol is named it is told from
 * the port: gRPC where collectors take that, else JSON over HTTP. Throws when the environment makes no sense.
 */
export function otlpSender(env: Environment): Send | undefined {
  const url = read(env, "ENDPOINT");
  if (url === "") return undefined;
  const headers = headersOf(read(env, "HEADERS"));
  const address = addressOf(url, read(env, "INSECURE") === "true");
  const protocol = read(env, "PROTOCOL") || (address.port === grpcPort ? "grpc" : "http/json");
  const isWhole = Boolean(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]);
  const path = isWhole ? url : `${url.replace(/\/+$/, "")}/v1/traces`;
  switch (protocol) {
    case "grpc":
      return grpcSender({ endpoint: address.origin, headers, timeoutMs });
    case "http/protobuf":
      return httpSender(path, { "content-type": "application/x-protobuf", ...headers }, encodeRequest);
    case "http/json":
      return httpSender(path, { "content-type": "application/json", ...headers }, JSON.stringify);
    default:
      throw new Error(
        `Cannot send spans by OTEL_EXPORTER_OTLP_PROTOCOL="${protocol}": want grpc, http/protobuf or http/json`,
      );
  }
}

/** What is said of traces wins over what is said of everything. */
function read(env: Environment, name: string): string {
  return env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || "";
}

/** Without a scheme, as gRPC's addresses may be, TLS is meant unless it is forbidden. */
function addressOf(url: string, isInsecure: boolean): URL {
  const text = /^[a-z]+:\/\//i.test(url) ? url : `${isInsecure ? "http" : "https"}://${url}`;
  if (!URL.canParse(text))
    throw new Error(`Cannot send spans to "${url}": want a URL such as http://collector:${grpcPort}`);
  return new URL(text);
}

function headersOf(text: string): Record<string, string> {
  const pairs = text.split(",").flatMap((pair): [string, string][] => {
    const at = pair.indexOf("=");
    return at < 1 ? [] : [[pair.slice(0, at).trim().toLowerCase(), decodeURIComponent(pair.slice(at + 1).trim())]];
  });
  return Object.fromEntries(pairs);
}

function httpSender(
  url: string,
  headers: Readonly<Record<string, string>>,
  encode: (request: object) => string | Buffer<ArrayBuffer>,
): Send {
  return async (request) => {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method: "POST", headers, body: encode(request), signal });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`Cannot send spans to "${url}": status ${response.status}`);
  };
}
