import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { hostname } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { alertRules } from "../../scripts/operator/alerts.ts";
import { Box, buildCommandLine, whyNoBox } from "../e2e/box.ts";
import { firedAlerts, healthy } from "./monitoring/fired-alerts.ts";
import { claim, worldObjects } from "./monitoring/objects.ts";
import { Prometheus, testRules } from "./monitoring/prometheus.ts";

const monitoring = `${import.meta.dirname}/../../deploy/monitoring`;
const read = (path: string): string => readFileSync(join(monitoring, path), "utf8");

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

interface GrafanaPanel {
  readonly type: string;
  readonly title: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const { panels } = JSON.parse(read("grafana/agent-sandbox.json")) as { panels: readonly GrafanaPanel[] };

/** As Grafana does, with all namespaces. */
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({
    title,
    expr: expr.replaceAll("$namespace", ".*").replaceAll("$__rate_interval", "20s"),
  })),
);

describe.skipIf(reason !== undefined)("Prometheus scrapes a box", { timeout: 180_000 }, () => {
  let box: Box;
  let prometheus: Prometheus;
  let claims = 0;

  beforeAll(async () => {
    buildCommandLine();
    box = await Box.make();
    await succeed(box.up("--dashboard-listen", "127.0.0.1:0"));
    await succeed(box.runWith(worldObjects, "apply", "-f", "-"));
    prometheus = await Prometheus.start(writeConfig);
  });
  afterAll(async () => {
    await prometheus?.[Symbol.asyncDispose]();
    await box?.[Symbol.asyncDispose]();
  });

  async function succeed(outcome: ReturnType<Box["run"]>): Promise<string> {
    const { code, stdout, stderr } = await outcome;
    if (code !== 0) throw new Error(stderr);
    return stdout;
  }

  const config = (): { clusters: [{ cluster: Record<string, string> }]; users: [{ user: { token: string } }] } =>
    parse(readFileSync(box.kubeconfig, "utf8"));

  /** The files of `deploy/monitoring/box`, with the addresses of this box and a short interval. */
  function writeConfig(folder: string): string {
    const [{ cluster }] = config().clusters;
    writeFileSync(join(folder, "ca.crt"), Buffer.from(cluster["certificate-authority-data"] ?? "", "base64"));
    writeFileSync(join(folder, "token"), config().users[0].user.token);
    writeFileSync(join(folder, "alerts.yml"), read("box/alerts.yml"));
    return read("box/prometheus.yml")
      .replaceAll("/etc/prometheus/agent-sandbox", folder)
      .replaceAll("NODE", hostname().toLowerCase())
      .replaceAll("127.0.0.1:7643", box.listen)
      .replaceAll('"15s"', "1s");
  }

  async function ask(sandbox: string, { port = 8000, isAllowed = true } = {}): Promise<number | undefined> {
    const { routerUrl } = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { routerUrl: string };
    const authorization = isAllowed ? { authorization: `Bearer ${config().users[0].user.token}` } : {};
    const headers = { host: `${port}-${sandbox}.default.localhost`, ...authorization };
    return new Promise((resolve, reject) => {
      const sent = request(routerUrl, { path: "/page", headers }, (response) => {
        text(response).then(() => resolve(response.statusCode), reject);
      });
      sent.once("error", reject).end();
    });
  }

  /** What users do between two scrapes. Every counter that a panel shows increases. */
  async function act(): Promise<void> {
    const name = `claim-${++claims}`;
    await succeed(box.runWith(claim(name), "apply", "-f", "-"));
    await Promise.all([ask("web"), ask("web", { port: 1 }), ask("web", { isAllowed: false })]);
    await succeed(box.run("wait", `sandboxclaim/${name}`, "--for=condition=Ready", "--timeout=60s"));
    await succeed(box.run("delete", "sandboxclaim", name));
  }

  const isAsleep = async (): Promise<boolean> => {
    const sandbox = JSON.parse(await succeed(box.run("get", "sandbox", "drowsy", "-o", "json"))) as {
      status?: { conditions?: readonly { type: string; status: string }[] };
    };
    return sandbox.status?.conditions?.some(({ type, status }) => type === "Suspended" && status === "True") ?? false;
  };

  test("can read all of its parts", async () => {
    const jobs = ["api", "controller", "node", "volumes"].map((part) => `agent-sandbox-${part}`);
    await expect
      .poll(
        async () => (await prometheus.targets()).map(({ labels, health }) => `${labels.job} ${health}`).toSorted(),
        {
          timeout: 60_000,
        },
      )
      .toEqual([...jobs, "sandbox-router-svc"].map((job) => `${job} up`));
  });

  test("every panel of the Grafana dashboard shows figures", async () => {
    const missing = new Map(queries.map((query) => [query.expr, query]));
    expect(missing.size).toBeGreaterThan(25);
    await expect.poll(isAsleep, { timeout: 90_000 }).toBe(true);
    expect(await ask("drowsy")).toBe(200);
    const isShown = async (): Promise<string[]> => {
      await act();
      for (const expr of missing.keys()) {
        const samples = await prometheus.query(expr);
        if (samples.some(({ value: [, value] }) => Number.isFinite(Number(value)))) missing.delete(expr);
      }
      return [...missing.values()].map(({ title, expr }) => `${title}: ${expr}`);
    };
    await expect.poll(isShown, { timeout: 90_000, interval: 500 }).toEqual([]);
  });

  test("every alert is evaluated, and those of working parts do not fire", async () => {
    await expect
      .poll(async () => (await prometheus.rules()).map(({ name, health, lastError = "" }) => [name, health, lastError]))
      .toEqual(alertRules.map(({ alert }) => [alert, "ok", ""]));
    const silent = alertRules.filter(({ alert }) => /Down$|NoLeader$/.test(alert)).map(({ alert }) => alert);
    expect(silent).toHaveLength(4);
    const rules = await prometheus.rules();
    expect(rules.filter(({ name, state }) => silent.includes(name) && state !== "inactive")).toEqual([]);
  });
});

describe("alerts", () => {
  const rules = join(monitoring, "box/alerts.yml");
  const inputs = (series: Readonly<Record<string, string>>): object[] =>
    Object.entries({ ...healthy, ...series }).map(([name, values]) => ({ series: name, values }));
  const annotated = (alert: string, labels: Readonly<Record<string, string>>): object => {
    const { annotations } = alertRules.find((rule) => rule.alert === alert) ?? {};
    const fill = (value = ""): string =>
      value.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_all, name) => labels[name] ?? "");
    return {
      summary: fill(annotations?.summary),
      description: fill(annotations?.description),
    };
  };

  test("all have a case", () => {
    expect(firedAlerts.map(({ alert }) => alert)).toEqual(alertRules.map(({ alert }) => alert));
  });

  test.for(firedAlerts)("$alert fires after its time, and not before", ({ alert, series, labels }) => {
    const fired = [{ exp_labels: labels, exp_annotations: annotated(alert, labels) }];
    const others = alertRules.filter((rule) => rule.alert !== alert).map((rule) => rule.alert);
    const silent = others.map((name) => ({ eval_time: "55m", alertname: name, exp_alerts: [] }));
    const tests = [
      {
        interval: "1m",
        input_series: inputs(series),
        alert_rule_test: [
          { eval_time: "1m", alertname: alert, exp_alerts: [] },
          { eval_time: "55m", alertname: alert, exp_alerts: fired },
          ...silent,
        ],
      },
    ];
    expect(testRules(rules, tests)).toBe("");
  });

  test.for(["agent-sandbox-node", "agent-sandbox-volumes"])("a box whose job %s fails is reported", (job) => {
    const instance = "127.0.0.1:7643";
    const labels = { severity: "warning", job, instance };
    const fired = [{ exp_labels: labels, exp_annotations: annotated("AgentSandboxNodeDown", labels) }];
    const tests = [
      {
        interval: "1m",
        input_series: inputs({ [`up{job="${job}",instance="${instance}"}`]: "1+0x9 0+0x60" }),
        alert_rule_test: [
          { eval_time: "14m", alertname: "AgentSandboxNodeDown", exp_alerts: [] },
          { eval_time: "16m", alertname: "AgentSandboxNodeDown", exp_alerts: fired },
        ],
      },
    ];
    expect(testRules(rules, tests)).toBe("");
  });
});
