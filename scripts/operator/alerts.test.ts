import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ManagerMetrics } from "../../packages/controllers/src/manager/manager-metrics.ts";
import { alertRules } from "./alerts.ts";

const root = `${import.meta.dirname}/../..`;

test("docs/alerts.md explains each alert, and no other", () => {
  const page = readFileSync(`${root}/docs/alerts.md`, "utf8");
  const explained = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(explained).toEqual(alertRules.map(({ alert }) => alert));
});

test("alerts use only metrics that exist", async () => {
  const metrics = new ManagerMetrics({ version: "1", commit: "c", date: "d" });
  metrics.forControllers();
  const manager = metrics.registry.getMetricsAsArray().map(({ name }) => name);
  const router = [...readFileSync(`${root}/docs/reference/metrics.md`, "utf8").matchAll(/`(sandbox_router_\w+)`/g)];
  const known = new Set(["up", ...manager, ...router.map(([, name]) => name)]);
  const used = alertRules.flatMap(({ expr }) =>
    [...expr.matchAll(/\b([a-z_]+)\{/g)].map(([, name = ""]) => name.replace(/_bucket$/, "")),
  );
  expect(used.length).toBeGreaterThan(alertRules.length - 1);
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});
