import { expect, test } from "vitest";
import { hashCpuFeatures } from "./cpu-features.ts";

test("the order of features and the other lines do not matter", () => {
  const first = hashCpuFeatures("processor\t: 0\nflags\t\t: fpu sse avx\ncpu MHz\t: 1\n");
  expect(hashCpuFeatures("cpu MHz\t: 2\nflags\t: avx fpu sse\nprocessor\t: 1\n")).toBe(first);
  expect(hashCpuFeatures("Features\t: fpu sse avx\n")).toBe(first);
  expect(hashCpuFeatures("flags\t: fpu sse avx avx512\n")).not.toBe(first);
});
