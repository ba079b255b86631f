import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import { grpcSender } from "./grpc-sender.ts";
import type { OtlpTracingOptions } from "./otlp-tracing.ts";

type Environment = Readonly<Record<string, string | undefined>>;
type Send = OtlpTracingOptions["send"];

const timeoutMs = 10_000;
/** The port on which collectors accept gRPC, by convention. */
const grpcPort = "4317";

/**
 * Returns a function that sends spans as the variables `OTEL_EXPORTER_OTLP_*` configure, or undefined if they name no
 * collector. If they name no protocol, port 4317 means gRPC, and any other port JSON over HTTP. Throws if a variable is
 * invalid.
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
      return httpSender(path, { "content-type": "application/x-protobuf", ...headers }, ProtobufTraceSerializer);
    case "http/json":
      return httpSender(path, { "content-type": "application/json", ...headers }, JsonTraceSerializer);
    default:
      throw new Error(
        `Cannot send spans by OTEL_EXPORTER_OTLP_PROTOCOL="${protocol}": want grpc, http/protobuf or http/json`,
      );
  }
}

/** The variable for traces takes precedence over the one for all signals. */
function read(env: Environment, name: string): string {
  return env[`OTEL_EXPORTER_OTLP_TRACES_${name}`] || env[`OTEL_EXPORTER_OTLP_${name}`] || "";
}

/** gRPC addresses may have no scheme. They mean TLS, unless `OTEL_EXPORTER_OTLP_INSECURE` is true. */
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
  serializer: Pick<typeof JsonTraceSerializer, "serializeRequest">,
): Send {
  return async (spans) => {
    const body = Buffer.from(serializer.serializeRequest(spans) ?? []);
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { method: "POST", headers, body, signal });
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`Cannot send spans to "${url}": status ${response.status}`);
  };
}
