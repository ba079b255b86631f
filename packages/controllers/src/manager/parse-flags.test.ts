import { describe, expect, test } from "vitest";
import { flagTable } from "./flag-table.ts";
import { parseGoDuration } from "./go-duration.ts";
import { parseFlags } from "./parse-flags.ts";

const defaults = Object.fromEntries(Object.entries(flagTable).map(([name, { initial }]) => [name, initial]));

describe("parseFlags()", () => {
  test("has the reference's defaults, but for connections to the API server", () => {
    expect(parseFlags([])).toEqual({ flags: defaults, warnings: [] });
    expect(defaults).toMatchObject({
      extensions: false,
      "cluster-domain": "cluster.local",
      "leader-elect": true,
      "metrics-bind-address": ":8080",
      "health-probe-bind-address": ":8081",
      "kube-api-qps": -1,
      "sandbox-warm-pool-max-batch-size": 300,
      "sandbox-warm-pool-readiness-grace-period": 300_000,
      "webhook-port": 9443,
    });
  });

  test("reads every way that Go's flags can be written", () => {
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
    ["--nonsense", "no such flag"],
    ["--constructor", "no such flag"],
    ["word", "no such flag"],
    ["--", "no such flag"],
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
    ["--runtime-delivery=Pigeon", "want InitContainer or ImageVolume"],
    ["--runtime-image=two words", "want an image"],
  ] as const)("refuses %s", ([word, reason]) => {
    expect(parseFlags([word])).toEqual({ error: expect.stringContaining(reason) });
  });

  test.for([
    ["--sandbox-concurrent-workers=1000", "more than 1000"],
    ["--kube-api-qps=50", "share a burst of 10"],
    ["--webhook-cert-name=my.crt", "they are managed"],
  ] as const)("warns of %s", ([word, warning]) => {
    expect(parseFlags([word])).toMatchObject({ warnings: [expect.stringContaining(warning)] });
  });

  test("takes template workers of 0 for one, without a word", () => {
    expect(parseFlags(["--sandbox-template-concurrent-workers=0"])).toMatchObject({ warnings: [] });
  });
});

test.for([
  ["0", 0],
  ["5m", 300_000],
  ["1h1m1.5s", 3_661_500],
  ["-2s", -2000],
  ["250ms", 250],
  ["5", undefined],
  ["", undefined],
  ["1.2.3s", undefined],
  ["5 m", undefined],
] as const)("parseGoDuration(%s)", ([text, ms]) => {
  expect(parseGoDuration(text)).toBe(ms);
});
