import { describe, expect, test } from "vitest";
import { decodeProtobuf } from "./decode.ts";

type Part = readonly [number, string | number | bigint | boolean | Uint8Array];

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return bytes;
}

function message(...parts: Part[]): Buffer {
  const pieces = parts.map(([number, value]) => {
    if (typeof value === "string" || value instanceof Uint8Array) {
      const bytes = Buffer.from(value as string);
      return Buffer.from([...varint((BigInt(number) << 3n) | 2n), ...varint(BigInt(bytes.length)), ...bytes]);
    }
    return Buffer.from([...varint(BigInt(number) << 3n), ...varint(BigInt(value))]);
  });
  return Buffer.concat(pieces);
}

const sent = (apiVersion: string, kind: string, raw: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from("k8s\0"), message([1, message([1, apiVersion], [2, kind])], [2, raw])]);
const metadata = message(
  [1, "n"],
  [2, ""],
  [11, message([1, "a"], [2, "1"])],
  [11, message([1, "b"], [2, ""])],
  [8, ""],
);

describe("decodeProtobuf()", () => {
  test("returns the same object as JSON", () => {
    const attributes = message([1, "ns"], [2, "list"], [3, ""], [5, "pods"]);
    const review = message([1, ""], [2, message([1, attributes])], [3, message([1, false], [2, ""])]);
    expect(decodeProtobuf(sent("authorization.k8s.io/v1", "SelfSubjectAccessReview", review))).toEqual({
      value: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        metadata: {},
        spec: { resourceAttributes: { namespace: "ns", verb: "list", resource: "pods" } },
        status: { allowed: false },
      },
    });
  });

  test("keeps empty values only where JSON has them", () => {
    const context = message([2, false], [4, 0], [5, false]);
    const container = message([1, "c"], [2, ""], [15, context], [6, message([1, "p"], [2, 0], [3, 80])]);
    const volume = message([1, "v"], [2, message([2, message([1, ""])])]);
    const spec = message([1, volume], [2, container], [3, ""], [4, 0], [21, false]);
    expect(decodeProtobuf(sent("v1", "Pod", message([1, metadata], [2, spec])))).toEqual({
      value: {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "n", labels: { a: "1", b: "" } },
        spec: {
          volumes: [{ name: "v", emptyDir: {} }],
          containers: [
            {
              name: "c",
              ports: [{ name: "p", containerPort: 80 }],
              securityContext: { privileged: false, runAsUser: 0, runAsNonRoot: false },
            },
          ],
          terminationGracePeriodSeconds: 0,
          automountServiceAccountToken: false,
        },
      },
    });
  });

  test("reads bytes, times, quantities and int-or-string values", () => {
    const secret = message(
      [1, message([9, message([1, 1_767_225_600])])],
      [2, message([1, "k"], [2, Buffer.from([0, 255])])],
    );
    expect(decodeProtobuf(sent("v1", "Secret", secret))).toMatchObject({
      value: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" }, data: { k: "AP8=" } },
    });
    const port = (target: Buffer): Buffer => message([2, "TCP"], [3, 80], [4, target]);
    const service = message([
      2,
      message([1, port(message([1, 0], [2, 8080]))], [1, port(message([1, 1], [3, "web"]))]),
    ]);
    expect(decodeProtobuf(sent("v1", "Service", service))).toMatchObject({
      value: { spec: { ports: [{ targetPort: 8080 }, { targetPort: "web" }] } },
    });
    const lease = message([2, message([2, -1], [4, message([1, 1_767_225_600], [2, 5000])])]);
    expect(decodeProtobuf(sent("coordination.k8s.io/v1", "Lease", lease))).toMatchObject({
      value: { spec: { leaseDurationSeconds: -1, renewTime: "2026-01-01T00:00:00.000005Z" } },
    });
  });

  test("reads DeleteOptions of any group", () => {
    const options = message([1, 0], [4, "Background"]);
    expect(decodeProtobuf(sent("apps/v1", "DeleteOptions", options))).toMatchObject({
      value: { gracePeriodSeconds: 0, propagationPolicy: "Background" },
    });
  });

  test("ignores unknown fields of newer clients", () => {
    expect(decodeProtobuf(sent("v1", "ConfigMap", message([1, metadata], [999, "new"])))).toMatchObject({
      value: { metadata: { name: "n" } },
    });
  });

  test.for([
    ["nothing", Buffer.alloc(0)],
    ["JSON", Buffer.from("{}")],
    ["only the prefix", Buffer.from("k8s\0")],
    ["a kind that is not served", sent("apps/v1", "Deployment", Buffer.alloc(0))],
    ["half a message", sent("v1", "Pod", message([1, metadata]).subarray(0, 5))],
    ["an unterminated length", sent("v1", "Pod", Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]))],
    ["an unterminated number", sent("v1", "Pod", Buffer.alloc(12, 0xff))],
    ["a field without a number", sent("v1", "Pod", Buffer.from([0x02, 0x00]))],
    ["a group", sent("v1", "Pod", Buffer.from([0x0b]))],
    ["a number instead of a string", sent("v1", "Pod", message([1, message([1, 5])]))],
    ["a string instead of a number", sent("v1", "Pod", message([1, message([7, "x"])]))],
    ["bytes instead of a string", sent("v1", "Pod", message([1, message([1, Buffer.from([0xff])])]))],
    ["a number that JSON cannot represent", sent("v1", "Pod", message([1, message([7, 2n ** 60n])]))],
    ["a time out of range", sent("v1", "Pod", message([1, message([9, message([1, 2n ** 50n])])]))],
  ] as const)("refuses %s", ([, bytes]) => {
    expect(decodeProtobuf(bytes)).toHaveProperty("problem", expect.any(String));
  });
});
