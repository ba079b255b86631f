import { describe, expect, test } from "vitest";
import type { ApiObject } from "../api-object.ts";
import { type ReviewRequest, readReview } from "./conversion-review.ts";

const object = (version: string, metadata: object = {}): ApiObject => ({
  apiVersion: `x.example/${version}`,
  kind: "X",
  metadata: { name: "a", uid: "u", ...metadata },
});
const request: ReviewRequest = {
  uid: "r",
  version: "v1",
  desiredAPIVersion: "x.example/v2",
  objects: [object("v1", { labels: { old: "1" }, generation: 3, resourceVersion: "7" })],
};
const answer = (response: object, rest: object = {}): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "ConversionReview",
  response: { uid: "r", result: { status: "Success" }, convertedObjects: [object("v2")], ...response },
  ...rest,
});

describe("readReview()", () => {
  test("takes only labels and annotations from the converted metadata", () => {
    const given = object("v2", { labels: { new: "2" }, generation: 99, resourceVersion: "9", finalizers: ["a/b"] });
    expect(readReview(answer({ convertedObjects: [{ ...given, spec: { a: 1 } }] }), request, false)).toEqual({
      objects: [
        {
          apiVersion: "x.example/v2",
          kind: "X",
          metadata: { name: "a", uid: "u", generation: 3, resourceVersion: "7", labels: { new: "2" } },
          spec: { a: 1 },
        },
      ],
    });
  });

  test.for([
    [
      "nothing",
      undefined,
      "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
    ],
    ["a number", 5, "failed: expected webhook response"],
    ["no response", answer({}, { response: null }), "failed: no response provided"],
    ["another review", answer({ uid: "other" }), 'failed: expected response.uid="r", got "other"'],
    ["a refusal", answer({ result: { status: "Failure", message: "no" } }), "failed: no"],
    ["a result without a status", answer({ result: 7 }), "failed: response.result.status was '', not 'Success'"],
    ["too few", answer({ convertedObjects: [] }), "returned 0 objects, expected 1"],
    ["objects that are not a list", answer({ convertedObjects: "x" }), "returned 0 objects, expected 1"],
    [
      "an item that is not an object",
      answer({ convertedObjects: [null] }),
      "returned invalid object at index 0: not an object",
    ],
    [
      "no metadata",
      answer({ convertedObjects: [{ apiVersion: "x.example/v2", kind: "X" }] }),
      "returned invalid object: must have the same name: a != ",
    ],
    [
      "labels that are no map",
      answer({ convertedObjects: [object("v2", { labels: 5 })] }),
      "returned invalid metadata: invalid metadata.labels in converted object",
    ],
    [
      "a label that is not a string",
      answer({ convertedObjects: [object("v2", { labels: { a: 5 } })] }),
      "returned invalid metadata: metadata.labels[a] must be a string in converted object",
    ],
  ] as const)("refuses %s", ([, given, error]) => {
    expect(readReview(given, request, false)).toEqual({ error: expect.stringContaining(error) as string });
  });

  test("does not check version and UID of a v1beta1 review, like Kubernetes", () => {
    const older = { ...request, version: "v1beta1" };
    expect(readReview(answer({ uid: "other" }, { apiVersion: "whatever" }), older, false)).toHaveProperty("objects");
  });

  test("names the item of a list that is wrong", () => {
    const two = { ...request, objects: [object("v1"), object("v1")] };
    const given = answer({ convertedObjects: [object("v2"), object("v2", { name: "b" })] });
    expect(readReview(given, two, true)).toEqual({
      error: "returned invalid converted object at index 1: must have the same name: a != b",
    });
  });
});
