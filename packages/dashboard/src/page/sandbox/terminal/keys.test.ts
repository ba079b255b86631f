import { expect, test } from "vitest";
import { type Key, pasteable, useOfKey } from "./keys.ts";

const key = (code: string, ...modifiers: readonly ("ctrlKey" | "shiftKey" | "altKey" | "metaKey")[]): Key => ({
  key: code.replace(/^Key/, "").toLowerCase().replace("insert", "Insert"),
  code,
  ctrlKey: modifiers.includes("ctrlKey"),
  shiftKey: modifiers.includes("shiftKey"),
  altKey: modifiers.includes("altKey"),
  metaKey: modifiers.includes("metaKey"),
});

test.for([
  ["Ctrl+C without a selection", key("KeyC", "ctrlKey"), false, "type"],
  ["Ctrl+C with a selection", key("KeyC", "ctrlKey"), true, "copy"],
  ["Ctrl+Shift+C", key("KeyC", "ctrlKey", "shiftKey"), true, "copy"],
  ["Ctrl+Insert", key("Insert", "ctrlKey"), true, "copy"],
  ["Cmd+C", key("KeyC", "metaKey"), true, "browser"],
  ["Ctrl+V", key("KeyV", "ctrlKey"), false, "type"],
  ["Ctrl+Shift+V", key("KeyV", "ctrlKey", "shiftKey"), false, "browser"],
  ["Shift+Insert", key("Insert", "shiftKey"), false, "browser"],
  ["Ctrl+Shift+X", key("KeyX", "ctrlKey", "shiftKey"), false, "leave"],
  ["Ctrl+X", key("KeyX", "ctrlKey"), true, "type"],
  ["Tab", key("Tab"), true, "type"],
  ["Alt+C", key("KeyC", "altKey", "ctrlKey"), true, "type"],
] as const)("%s", ([, pressed, hasSelection, use]) => {
  expect(useOfKey(pressed, hasSelection)).toBe(use);
});

test("pasted text cannot press keys", () => {
  expect(pasteable("a\u001b[201~\u0003b\u009b\r\nc\td")).toBe("a[201~b\r\nc\td");
});
