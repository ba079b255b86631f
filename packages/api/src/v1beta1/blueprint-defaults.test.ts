import { expect, test } from "vitest";
import { blueprintChoices } from "./blueprint-defaults.ts";

const podTemplate = { spec: { containers: [] } };

test("an object that uses none of the added fields gets the defaults", () => {
  expect(blueprintChoices({ podTemplate })).toEqual({
    resumePolicy: "OnTraffic",
    runtime: "Image",
    suspendFallback: "Allow",
    idleConnections: "KeepAwake",
    volumeClaimsWhenDeleted: "Delete",
  });
});

test("fields that are set override the defaults", () => {
  const chosen = blueprintChoices({
    podTemplate,
    resumePolicy: "Manual",
    runtime: "Injected",
    suspendPolicy: { fallback: "Refuse" },
    idlePolicy: { connections: "MaySleep" },
    persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain" },
  });
  expect(chosen).toEqual({
    resumePolicy: "Manual",
    runtime: "Injected",
    suspendFallback: "Refuse",
    idleConnections: "MaySleep",
    volumeClaimsWhenDeleted: "Retain",
  });
});
