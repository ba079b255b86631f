import { describe, expect, test } from "vitest";
import { convertReview } from "./conversion-review.ts";

const old = (name: string, spec: object = { replicas: 0 }) => ({
  apiVersion: "agents.x-k8s.io/v1alpha1",
  kind: "Sandbox",
  metadata: { name, namespace: "ns", uid: `uid-${name}` },
  spec,
});
const stored = (name: string) => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name, namespace: "ns", uid: `uid-${name}` },
  spec: { operatingMode: "Suspended" },
});
const review = (objects: unknown, desiredAPIVersion: unknown = "agents.x-k8s.io/v1beta1", version = "v1") => ({
  apiVersion: `apiextensions.k8s.io/${version}`,
  kind: "ConversionReview",
  request: { uid: "review-uid", desiredAPIVersion, objects },
});
const failure = (message: unknown, uid = "review-uid", version = "v1") => ({
  apiVersion: `apiextensions.k8s.io/${version}`,
  kind: "ConversionReview",
  response: { uid, convertedObjects: [], result: { status: "Failure", message } },
});

describe("convertReview()", () => {
  test.for(["v1", "v1beta1"])(
    "answers a %s review in the same version, with its uid and the objects in order",
    (version) => {
      expect(convertReview(review([old("b"), stored("c"), old("a")], undefined, version))).toEqual({
        apiVersion: `apiextensions.k8s.io/${version}`,
        kind: "ConversionReview",
        response: {
          uid: "review-uid",
          convertedObjects: [stored("b"), stored("c"), stored("a")],
          result: { status: "Success" },
        },
      });
    },
  );

  test("converts an empty list to an empty list", () => {
    expect(convertReview(review([])).response).toEqual({
      uid: "review-uid",
      convertedObjects: [],
      result: { status: "Success" },
    });
  });

  test("fails the whole review if one object cannot be converted, and names the object", () => {
    const objects = [old("a"), old("b", { replicas: "many" })];
    expect(convertReview(review(objects))).toEqual(failure(expect.stringMatching(/"ns\/b".*spec.replicas is not/)));
  });

  test.for([
    ["an unknown version", review([old("a")], "agents.x-k8s.io/v2")],
    ["an unknown version and no objects", review([], "agents.x-k8s.io/v2")],
    ["a version that is not a string", review([old("a")], 5)],
    ["objects that are not a list", review({})],
    ["an object that is null", review([null])],
  ] as const)("fails a review with %s", ([, asked]) => {
    expect(convertReview(asked)).toEqual(failure(expect.stringMatching(/^Cannot convert/)));
  });

  test.for([undefined, null, 5, [], {}, { kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" }])(
    "fails the body %j, which is not a review, without a uid",
    (body) => {
      expect(convertReview(body)).toEqual(failure(expect.stringContaining("want a ConversionReview of"), ""));
    },
  );

  test("fails a review of an unknown version in the newest known version, with its uid", () => {
    expect(convertReview(review([], undefined, "v9"))).toEqual(
      failure(expect.stringContaining("want a ConversionReview")),
    );
  });
});
