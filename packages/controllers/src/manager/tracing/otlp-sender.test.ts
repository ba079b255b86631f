import { expect, test } from "vitest";
import { otlpSender } from "./otlp-sender.ts";

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT";

test.for([{}, { [endpoint]: "" }, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "" }])("does not send spans with %j", (env) => {
  expect(otlpSender(env)).toBeUndefined();
});

test.for([
  { [endpoint]: "http://127.0.0.1:4318/" },
  { [endpoint]: "collector:4317" },
  { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/v1/traces" },
])("sends spans with %j", (env) => {
  expect(otlpSender(env)).toBeTypeOf("function");
});

test.for([
  [{ [endpoint]: "http://" }, "want a URL"],
  [{ [endpoint]: "two words" }, "want a URL"],
  [{ [endpoint]: "http://c", OTEL_EXPORTER_OTLP_PROTOCOL: "pigeon" }, "want grpc, http/protobuf or http/json"],
] as const)("rejects %j", ([env, why]) => {
  expect(() => otlpSender(env)).toThrow(why);
});
