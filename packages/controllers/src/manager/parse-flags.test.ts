import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { controllersFromFlags } from "./controllers-from-flags.ts";
import { parseFlags } from "./parse-flags.ts";

const minuteMs = 60_000;
const reference = {
  version: false,
  extensions: false,
  "cluster-domain": "cluster.local",
  "leader-elect": true,
  "leader-election-namespace": "",
  "metrics-bind-address": ":8080",
  "health-probe-bind-address": ":8081",
  "kube-api-qps": -1,
  "kube-api-burst": 10,
  "sandbox-concurrent-workers": 100,
  "sandbox-claim-concurrent-workers": 50,
  "sandbox-warm-pool-concurrent-workers": 1,
  "sandbox-template-concurrent-workers": 1,
  "sandbox-warm-pool-max-batch-size": 300,
  "sandbox-warm-pool-replenish-delay": 0,
  "sandbox-warm-pool-max-refill-rate": 0,
  "sandbox-warm-pool-readiness-grace-period": 5 * minuteMs,
  "sandbox-warm-pool-unschedulable-recheck-interval": minuteMs,
  "enable-warm-pool-eviction": true,
  "sandbox-write-behind-window": 0,
  "cache-label-selectors": false,
  "disable-claim-events": false,
  "disable-claim-observability-annotations": false,
  "enable-webhook": true,
  "manage-webhook-certs": true,
  "webhook-port": 9443,
  "webhook-cert-dir": join(tmpdir(), "k8s-webhook-server/serving-certs"),
  "webhook-cert-name": "tls.crt",
  "webhook-key-name": "tls.key",
  "webhook-service-name": "agent-sandbox-webhook-service",
  "webhook-namespace": "agent-sandbox-system",
  "enable-tracing": false,
  "enable-pprof": false,
  "enable-pprof-debug": false,
  "pprof-block-profile-rate": 1_000_000,
  "pprof-mutex-profile-fraction": 10,
  kubeconfig: "",
};
const zap = { "zap-devel": false, "zap-encoder": "json" };
const zapLevels = { "zap-log-level": "", "zap-stacktrace-level": "", "zap-time-encoding": "" };
/** The defaults that differ from the reference implementation. */
const different = { "api-connections": 32, "separate-watch-connection": true };
const ours = {
  "watch-namespaces": [],
  "router-namespace": "agent-sandbox-system",
  "runtime-image": "",
  "runtime-image-pull-policy": "IfNotPresent",
  "runtime-delivery": "InitContainer",
};

describe("parseFlags()", () => {
  test("has the reference's flags and defaults, except for connections to the API server (MANAGER-16)", () => {
    const flags = { ...reference, ...zap, ...zapLevels, ...different, ...ours };
    expect(parseFlags([])).toEqual({ flags, warnings: [] });
  });

  test("parses every form of Go flags (MANAGER-16)", () => {
    const words = ["--extensions", "-leader-elect=f", "--webhook-port", "0", "--kube-api-qps=12.5"];
    const more = ["--sandbox-warm-pool-replenish-delay=1m30s", "--watch-namespaces=a, b,,a", "--cluster-domain="];
    expect(parseFlags([...words, ...more])).toMatchObject({
      flags: {
        extensions: true,
        "leader-elect": false,
        "webhook-port": 0,
        "kube-api-qps": 12.5,
        "sandbox-warm-pool-replenish-delay": 90_000,
        "watch-namespaces": ["a", "b"],
        "cluster-domain": "",
      },
    });
  });

  test.for([
    ["--nonsense", "unknown flag"],
    ["--constructor", "unknown flag"],
    ["word", "unknown flag"],
    ["--", "unknown flag"],
    ["--webhook-port", "needs a value"],
    ["--webhook-port=x", "want a whole number"],
    ["--webhook-port=70000", "want a port"],
    ["--extensions=yes", "want true or false"],
    ["--kube-api-burst=0", "must be above 0"],
    ["--sandbox-concurrent-workers=-1", "must be above 0"],
    ["--api-connections=0", "must be above 0"],
    ["--sandbox-warm-pool-max-refill-rate=NaN", "want a finite number"],
    ["--sandbox-warm-pool-max-refill-rate=Inf", "want a finite number"],
    ["--sandbox-warm-pool-max-refill-rate=-1", "must not be below 0"],
    ["--sandbox-write-behind-window=-1s", "must not be below 0"],
    ["--sandbox-warm-pool-readiness-grace-period=0", "must be above 0"],
    ["--sandbox-warm-pool-readiness-grace-period=5", "want a duration"],
    ["--webhook-cert-name= ", "must not be blank"],
    ["--watch-namespaces=Default", "want namespaces"],
    ["--zap-log-level=loud", "want debug"],
    ["--router-namespace=", "want a namespace"],
    ["--router-namespace=a/b", "want a namespace"],
    ["--runtime-delivery=Pigeon", "want InitContainer or ImageVolume"],
    ["--runtime-image=two words", "want an image"],
    ["--runtime-image-pull-policy=Sometimes", "want Always, IfNotPresent, Never"],
  ] as const)("rejects %s (MANAGER-16)", ([word, reason]) => {
    expect(parseFlags([word])).toEqual({ error: expect.stringContaining(reason) });
  });

  test.for([
    ["--sandbox-concurrent-workers=1000", "more than 1000"],
    ["--kube-api-qps=50", "share a burst of 10"],
    ["--webhook-cert-name=my.crt", "have no effect with --manage-webhook-certs"],
  ] as const)("warns about %s (MANAGER-16)", ([word, warning]) => {
    expect(parseFlags([word])).toMatchObject({ warnings: [expect.stringContaining(warning)] });
  });

  test("uses one template worker for 0 (MANAGER-16)", () => {
    expect(parseFlags(["--sandbox-template-concurrent-workers=0"])).toMatchObject({ warnings: [] });
  });
});

describe("controllersFromFlags()", () => {
  const settingsOf = (...words: string[]): object => {
    const parsed = parseFlags(words);
    if (parsed.error !== undefined) throw new Error(parsed.error);
    return controllersFromFlags(parsed.flags, undefined);
  };

  test("enables stamps, events, eviction and the router by default (MANAGER-16)", () => {
    expect(settingsOf()).toMatchObject({
      extensions: false,
      claims: { stampClaims: true },
      claimEvents: true,
      pools: { markEvictable: true },
      router: { namespace: "agent-sandbox-system", labels: { app: "sandbox-router" } },
      onlyLabelledChildren: false,
    });
  });

  test.for([
    ["--extensions", { extensions: true }],
    ["--cluster-domain=my.net", { settings: { clusterDomain: "my.net" } }],
    ["--sandbox-write-behind-window=250ms", { settings: { writeBehindMs: 250 } }],
    [
      "--runtime-image=x",
      { settings: { runtime: { image: "x", pullPolicy: "IfNotPresent", delivery: "InitContainer" } } },
    ],
    ["--sandbox-concurrent-workers=7", { workers: { sandbox: 7 } }],
    ["--sandbox-claim-concurrent-workers=7", { workers: { sandboxclaim: 7 } }],
    ["--sandbox-warm-pool-concurrent-workers=7", { workers: { sandboxwarmpool: 7 } }],
    ["--sandbox-template-concurrent-workers=-7", { workers: { sandboxtemplate: 1 } }],
    ["--sandbox-warm-pool-max-batch-size=7", { pools: { maxBatch: 7 } }],
    ["--sandbox-warm-pool-replenish-delay=7s", { pools: { replenishDelayMs: 7000 } }],
    ["--sandbox-warm-pool-max-refill-rate=0.5", { pools: { maxPerSecond: 0.5 } }],
    ["--sandbox-warm-pool-readiness-grace-period=7s", { pools: { readinessGraceMs: 7000 } }],
    ["--sandbox-warm-pool-unschedulable-recheck-interval=7s", { pools: { recheckMs: 7000 } }],
    ["--enable-warm-pool-eviction=false", { pools: { markEvictable: false } }],
    ["--cache-label-selectors", { onlyLabelledChildren: true }],
    ["--disable-claim-events", { claimEvents: false }],
    ["--disable-claim-observability-annotations", { claims: { stampClaims: false } }],
    ["--router-namespace=platform", { router: { namespace: "platform", labels: { app: "sandbox-router" } } }],
  ] as const)("passes %s to the controllers (MANAGER-16)", ([word, expected]) => {
    expect(settingsOf(word)).toMatchObject(expected);
  });
});
