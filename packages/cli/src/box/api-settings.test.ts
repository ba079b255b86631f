import { expect, test } from "vitest";
import { checkApiSettings } from "./api-settings.ts";

const refuse = (why: string): Error => new Error(why);

test("takes some limits and shares, or none", () => {
  const found = { limits: { objects: 100 }, shares: { watches: 5 }, namespacePercent: { memory: 50 } };
  expect(checkApiSettings(found, refuse)).toEqual(found);
  expect(checkApiSettings({}, refuse)).toEqual({});
});

test.for([
  [[], "apiServer must be an object"],
  [{ quota: {} }, "apiServer.quota is unknown; valid fields are limits, shares, namespacePercent"],
  [{ limits: 5 }, "apiServer.limits must be an object"],
  [{ limits: { pods: 5 } }, "apiServer.limits.pods is unknown; valid fields are objects, bytes, totalBytes"],
  [{ limits: { objects: 0 } }, "apiServer.limits.objects must be a positive integer"],
  [{ shares: { requests: "16" } }, "apiServer.shares.requests must be a positive integer"],
  [{ namespacePercent: { cpu: 101 } }, "apiServer.namespacePercent.cpu must be at most 100"],
] as const)("refuses %j", ([found, message]) => {
  expect(() => checkApiSettings(found, refuse)).toThrow(message);
});
