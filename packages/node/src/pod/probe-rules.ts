import { list, matching, object, oneOf, type Rule, satisfying } from "./field-rules.ts";

const text = satisfying((value) => typeof value === "string" && !value.includes("\0"), "a text without NUL");
const seconds = satisfying(
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1_000_000,
  "a number of seconds up to 1000000",
);
const threshold = satisfying((value) => Number.isInteger(value) && Number(value) > 0, "a number above zero");
const port = satisfying(
  (value) =>
    typeof value === "number"
      ? Number.isInteger(value) && value > 0 && value < 65_536
      : typeof value === "string" && /^[a-z0-9-]{1,15}$/.test(value),
  "a port or the name of one",
);
const host = matching(/^[A-Za-z0-9._:-]{1,253}$/, "a host");
const header = object({
  name: matching(/^[-A-Za-z0-9_]+$/, "a header's name"),
  value: matching(/^[^\0\r\n]*$/, "a header's value"),
});
const exec = object({ command: list(text, 10_000) });
const httpGet = object({
  host,
  port,
  path: text,
  scheme: oneOf("HTTP", "HTTPS"),
  httpHeaders: list(header, 100),
});

export const probe: Rule = object({
  exec,
  httpGet,
  tcpSocket: object({ host, port }),
  grpc: object({ port, service: matching(/^[^\0]{0,127}$/, "a service's name") }),
  initialDelaySeconds: seconds,
  periodSeconds: seconds,
  timeoutSeconds: seconds,
  successThreshold: threshold,
  failureThreshold: threshold,
  terminationGracePeriodSeconds: seconds,
});

const handler = object({ exec, httpGet, sleep: object({ seconds }) });

export const lifecycle: Rule = object({
  postStart: handler,
  preStop: handler,
  stopSignal: matching(/^SIG[A-Z0-9+-]{1,12}$/, "a signal"),
});
