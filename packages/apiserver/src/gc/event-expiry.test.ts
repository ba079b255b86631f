import { expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { expiredEvents } from "./event-expiry.ts";

const now = Date.parse("2026-01-01T12:00:00Z");
const event = (name: string, times: object): ApiObject => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, creationTimestamp: "2026-01-01T10:00:00Z" },
  ...times,
});
const names = (events: readonly ApiObject[]): (string | undefined)[] =>
  expiredEvents(events, now).map(({ metadata }) => metadata.name);

test("events expire an hour after they last occurred", () => {
  expect(
    names([
      event("old", {}),
      event("repeated", { lastTimestamp: "2026-01-01T11:30:00Z" }),
      event("series", { series: { lastObservedTime: "2026-01-01T11:00:00.5Z" } }),
      event("stale", { lastTimestamp: "2026-01-01T10:59:59Z", eventTime: "nonsense" }),
    ]),
  ).toEqual(["old", "stale"]);
});

test("the oldest events expire when there are too many", () => {
  const many = Array.from({ length: 20_002 }, (_, at) =>
    event(`e${at}`, { eventTime: new Date(now - at).toISOString() }),
  );
  expect(names(many)).toEqual(["e20001", "e20000"]);
});
