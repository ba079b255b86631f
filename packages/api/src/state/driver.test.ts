import { describe, expect, test } from "vitest";
import { formatImageReference, formatSavedMessage, parseImageReference, parseSavedMessage } from "./driver.ts";

describe("an image reference", () => {
  test.for([
    { type: "suspension", epoch: 0 },
    { type: "suspension", epoch: 12 },
    { type: "snapshot", uid: "0f8fad5b-d9cb-469f-a165-70867728950e" },
  ] as const)("is read as it was written: %o", (image) => {
    expect(parseImageReference(formatImageReference(image))).toEqual(image);
  });

  test.for([
    "",
    "suspension",
    "suspension/",
    "suspension/-1",
    "suspension/a",
    "suspension/9999999999999999",
    "snapshot/../../etc",
    "snapshot/",
    "snapshot/a/b",
    "snapshot/a\n",
    "other/1",
  ])("is refused: %j", (text) => {
    expect(parseImageReference(text)).toBeUndefined();
  });
});

test("the message of a saved Pod states the size of its image", () => {
  expect(parseSavedMessage(formatSavedMessage(67_108_864))).toBe(67_108_864);
  expect(parseSavedMessage("many bytes")).toBeUndefined();
  expect(parseSavedMessage(undefined)).toBeUndefined();
});
