import { describe, expect, test } from "vitest";
import { KubeError, type KubeReason } from "../errors.ts";
import { type Ending, type Recovery, recover } from "./recovery.ts";

const failing = (reason: KubeReason, retryAfterMs?: number): KubeError => new KubeError(reason, "no", { retryAfterMs });

describe("recover()", () => {
  test.for<[string, Ending, Recovery]>([
    [
      "reconnects at once after a healthy watch was closed",
      { livedMs: 5_000, failures: 7 },
      { keepVersion: true, waitMs: 0, failures: 0 },
    ],
    [
      "waits briefly when a watch is closed at once",
      { livedMs: 10, failures: 0 },
      { keepVersion: true, waitMs: 125, failures: 1 },
    ],
    [
      "waits at most a few seconds however often a watch is closed at once",
      { livedMs: 10, failures: 50 },
      { keepVersion: true, waitMs: 2_500, failures: 51 },
    ],
    [
      "lists at once when a healthy watch expires",
      { livedMs: 60_000, failures: 0, error: failing("Expired") },
      { keepVersion: false, waitMs: 0, failures: 0 },
    ],
    [
      "backs off when versions expire at once",
      { livedMs: 0, failures: 3, error: failing("Gone") },
      { keepVersion: false, waitMs: 1_000, failures: 4 },
    ],
    [
      "keeps the version when a healthy watch breaks",
      { livedMs: 60_000, failures: 4, error: failing("Interrupted") },
      { keepVersion: true, waitMs: 125, failures: 1 },
    ],
    [
      "keeps the version and limits the wait while the server is unreachable",
      { livedMs: 0, failures: 1_000, error: failing("Unreachable") },
      { keepVersion: true, waitMs: 15_000, failures: 1_001 },
    ],
    [
      "drops the version after an unexpected response",
      { livedMs: 0, failures: 0, error: failing("InternalError") },
      { keepVersion: false, waitMs: 125, failures: 1 },
    ],
    [
      "waits as long as the server asks",
      { livedMs: 0, failures: 0, error: failing("TooManyRequests", 7_000) },
      { keepVersion: true, waitMs: 7_000, failures: 1 },
    ],
    [
      "limits the wait that a server asks for",
      { livedMs: 0, failures: 0, error: failing("ServiceUnavailable", 3_600_000) },
      { keepVersion: true, waitMs: 60_000, failures: 1 },
    ],
  ])("%s", ([, ending, expected]) => {
    expect(recover(ending, 0)).toEqual(expected);
  });

  test("spreads clients that fail together over half of the wait", () => {
    const waits = [0, 0.5, 0.999].map(
      (random) => recover({ livedMs: 0, failures: 2, error: failing("Interrupted") }, random).waitMs,
    );
    expect(waits.map(Math.round)).toEqual([500, 750, 1_000]);
  });
});
