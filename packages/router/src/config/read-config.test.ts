import { createClient, silentLogger } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { describe, expect, test } from "vitest";
import { logLevelOf, readConfig, type Values } from "./read-config.ts";
import { routerOptionsFrom } from "./router-options-from.ts";

const none = (path: string): string => {
  throw new Error(`no such file: ${path}`);
};
const read = (args: string[], env: Record<string, string> = {}, file?: string) =>
  readConfig({ args, env, readFile: file === undefined ? none : () => file });
const valuesOf = (...given: Parameters<typeof read>): Values => {
  const result = read(...given);
  if ("errors" in result) throw new Error(result.errors.join("; "));
  return result.values;
};
const optionsOf = (...given: Parameters<typeof read>) => {
  const {
    client: _client,
    log: _log,
    ...options
  } = routerOptionsFrom(valuesOf(...given), {
    client: createClient(new MemoryApiServer({ resources: [] })),
    log: silentLogger,
  });
  return options;
};

describe("precedence", () => {
  test("command line overrides file, file overrides environment, environment overrides defaults", () => {
    const env = { CLUSTER_DOMAIN: "env", SANDBOX_ROUTER_CONFIG: "/c" };
    expect(valuesOf(["--cluster-domain=arg"], env, "cluster-domain: file")["cluster-domain"]).toBe("arg");
    expect(valuesOf([], env, "cluster-domain: file")["cluster-domain"]).toBe("file");
    expect(valuesOf([], { CLUSTER_DOMAIN: "env" })["cluster-domain"]).toBe("env");
    expect(valuesOf([])["cluster-domain"]).toBe("cluster.local");
  });

  test("a flag may be followed by its value, and a switch needs none", () => {
    const values = valuesOf(["--proxy-timeout", "5s", "--allow-loopback-pod-ip", "-upstream-max-retries=0"]);
    expect([values["proxy-timeout"], values["allow-loopback-pod-ip"], values["upstream-max-retries"]]).toEqual([
      "5s",
      "true",
      "0",
    ]);
  });

  test("reads PROXY_TIMEOUT_SECONDS and the OTLP variables from the environment", () => {
    expect(valuesOf([], { PROXY_TIMEOUT_SECONDS: "7.5" })["proxy-timeout"]).toBe("7.5s");
    for (const wrong of ["x", "0", "-1"])
      expect(valuesOf([], { PROXY_TIMEOUT_SECONDS: wrong })["proxy-timeout"]).toBe("180s");
    expect(valuesOf([], { OTEL_EXPORTER_OTLP_ENDPOINT: "http://o" })["enable-tracing"]).toBe("true");
    expect(valuesOf(["--enable-tracing=false"], { OTEL_EXPORTER_OTLP_ENDPOINT: "http://o" })["enable-tracing"]).toBe(
      "false",
    );
  });

  test("reads a file with comments and quotes", () => {
    const file = [
      "# router",
      "",
      "---",
      "proxy-timeout: 5s # short",
      'cluster-domain: "a # b"',
      "authz-mode: 'allow-all'",
    ].join("\n");
    const values = valuesOf(["--config", "/c"], {}, file);
    expect([values["proxy-timeout"], values["cluster-domain"], values["authz-mode"]]).toEqual([
      "5s",
      "a # b",
      "allow-all",
    ]);
  });
});

describe("refuses", () => {
  test.for<[string, string[], Record<string, string>, string | undefined]>([
    ["an unknown flag", ["--no-such=1"], {}, undefined],
    ["a stray word", ["serve"], {}, undefined],
    ["a flag without its value", ["--proxy-timeout"], {}, undefined],
    ["a missing file", ["--config=/none"], {}, undefined],
    ["an unknown key in the file", ["--config=/c"], {}, "no-such: 1"],
    ["a nested value", ["--config=/c"], {}, "authz:\n  mode: allow-all"],
    ["a list", ["--config=/c"], {}, "authz-mode: [allow-all]"],
    ["a key twice", ["--config=/c"], {}, "proxy-timeout: 1s\nproxy-timeout: 2s"],
    ["no address", ["--http-bind-address="], {}, undefined],
    ["an address without a port", ["--http-bind-address=localhost"], {}, undefined],
    ["a port that is none", ["--http-bind-address=:70000"], {}, undefined],
    ["HTTPS without a certificate", ["--https-bind-address=:8443"], {}, undefined],
    ["client certificates without HTTPS", ["--mtls-mode=required", "--tls-client-ca-file=ca"], {}, undefined],
    ["a mode that is none", ["--authz-mode=open"], {}, undefined],
    ["no mode", ["--authz-mode="], {}, undefined],
    ["everybody and somebody", ["--authz-mode=allow-all,tokenreview"], {}, undefined],
    ["scoped tokens alone without a key", ["--authz-mode=scoped-token"], {}, undefined],
    ["a timeout of nothing", ["--proxy-timeout=0"], {}, undefined],
    ["a timeout without a unit", ["--proxy-timeout=30"], {}, undefined],
    ["a negative duration", ["--shutdown-timeout=-1s"], {}, undefined],
    ["a negative count", ["--upstream-max-retries=-1"], {}, undefined],
    ["a switch that is neither", ["--access-log=maybe"], {}, undefined],
    ["a level that is none", ["--zap-log-level=loud"], {}, undefined],
    ["an empty cluster domain", ["--cluster-domain="], {}, undefined],
    ["every origin", ["--allow-origin=*"], {}, undefined],
    ["an origin with a path", ["--allow-origin=https://app.example/"], {}, undefined],
    ["an origin of a sandbox", ["--allow-origin=https://x.box.example", "--domain=box.example"], {}, undefined],
  ])("%s", ([, args, env, file]) => {
    expect(read(args, env, file)).toHaveProperty("errors.0");
  });
});

test("reports every invalid setting and what is expected", () => {
  expect(read(["--mtls-mode=on", "--proxy-timeout=1", "--max-header-bytes=0", "--whatever"], {})).toEqual({
    errors: [
      'Unknown setting: "whatever"',
      'Invalid value for "mtls-mode": "on" is not one of off, optional, required',
      'Invalid value for "proxy-timeout": "1" is not a duration such as 90s or 200ms, above zero',
      'Invalid value for "max-header-bytes": "0" is not a whole number above zero',
      "mtls-mode requires https-bind-address and tls-client-ca-file",
    ],
  });
});

test.for<[string[], string]>([
  [[], "info"],
  [["--zap-devel"], "debug"],
  [["--zap-devel", "--zap-log-level=error"], "error"],
  [["--zap-log-level=2"], "debug"],
])("%j logs %s", ([args, level]) => {
  expect(logLevelOf(valuesOf(args))).toBe(level);
});

describe("options for the router", () => {
  test("allow no origins unless they are listed, once or several times", () => {
    expect(optionsOf([]).allowedOrigins).toEqual([]);
    const args = ["--allow-origin=https://a.example,https://b.example", "--allow-origin", "http://localhost:5173"];
    const origins = ["https://a.example", "https://b.example", "http://localhost:5173"];
    expect(optionsOf(args).allowedOrigins).toEqual(origins);
  });

  test("requires a token unless configured otherwise", () => {
    expect(optionsOf([]).auth).toMatchObject({
      requireToken: true,
      tokenReview: { accessReview: true, ttlMs: 30_000, cacheSize: 2048 },
    });
    expect(optionsOf(["--authz-mode=allow-all"]).auth).toEqual({ anonymous: true });
    const scoped = optionsOf(["--authz-mode=scoped-token", "--authz-scoped-token-secret-file=/new,/old"]).auth;
    expect(scoped).toEqual({ requireToken: true, tokenReview: false, keyFiles: ["/new", "/old"] });
  });

  test("defaults", () => {
    expect(optionsOf([])).toMatchObject({
      listen: { host: "::", port: 8080 },
      metrics: { host: "::", port: 9090 },
      probes: { host: "::", port: 8081 },
      timeoutMs: 180_000,
      shutdownMs: 30_000,
      retries: { max: 3, firstDelayMs: 200, maxDelayMs: 800 },
      accessLog: true,
    });
    expect(optionsOf(["--upstream-retry-initial-delay=0", "--upstream-retry-max-delay=0"]).retries).toEqual({
      max: 3,
      firstDelayMs: 200,
      maxDelayMs: 800,
    });
  });

  test("TLS", () => {
    const args = [
      "--https-bind-address=[::1]:8443",
      "--tls-cert-file=c",
      "--tls-key-file=k",
      "--mtls-mode=optional",
      "--tls-client-ca-file=ca",
    ];
    expect(optionsOf(args).secure).toEqual({
      host: "::1",
      port: 8443,
      certFile: "c",
      keyFile: "k",
      clientCaFile: "ca",
      mtls: "optional",
    });
  });
});
