import type { Sandbox, SandboxWarmPool } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import type { Command } from "./command.ts";
import { createCommands, type Objects, objectCommands, type Rights } from "./commands.ts";
import { namespaceCommands, pageCommands, preferenceCommands } from "./settings-commands.ts";

const everything: Rights = () => true;
const nothing: Rights = () => false;
const empty: Objects = { sandboxes: [], templates: [], pools: [], claims: [], snapshots: [] };
const titles = (commands: readonly Command[]): string[] => commands.map(({ title }) => title);

const sandbox = (status: "True" | "False", metadata: object = {}): Sandbox => ({
  apiVersion: "agents.x-k8s.io/v1beta1",
  kind: "Sandbox",
  metadata: { name: "box", namespace: "team", ...metadata },
  spec: { ...(status === "False" && { operatingMode: "Suspended" }) },
  status: { conditions: [{ type: "Ready", status, reason: "R", message: "", lastTransitionTime: "" }] },
});
const pool = (annotations: Record<string, string> = {}): SandboxWarmPool => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind: "SandboxWarmPool",
  metadata: { name: "pool", namespace: "team", annotations },
  spec: { sandboxTemplateRef: { name: "template" } },
});

test("actions depend on the state of a sandbox", () => {
  expect(titles(objectCommands({ ...empty, sandboxes: [sandbox("True")] }, everything))).toEqual([
    "box",
    "Suspend box",
    "Take a snapshot of box",
    "Delete sandbox box",
  ]);
  expect(titles(objectCommands({ ...empty, sandboxes: [sandbox("False")] }, everything))).toContain("Resume box");
});

test("a user who may only read finds objects and no actions", () => {
  expect(titles(objectCommands({ ...empty, sandboxes: [sandbox("True")], pools: [pool()] }, nothing))).toEqual([
    "box",
    "pool",
  ]);
  expect(createCommands(nothing, "team")).toEqual([]);
});

test("rights are those in the namespace of the object", () => {
  const asked: string[] = [];
  objectCommands({ ...empty, sandboxes: [sandbox("True")] }, (verb, { plural }, namespace) => {
    asked.push(`${verb} ${plural} ${namespace}`);
    return true;
  });
  expect(asked).toEqual(["patch sandboxes team", "create sandboxsnapshots team", "delete sandboxes team"]);
});

test("a sandbox with an owner cannot be deleted on its own, and one that is being deleted not again", () => {
  const owner = { apiVersion: "v1", kind: "SandboxClaim", name: "claim", uid: "1", controller: true };
  for (const metadata of [{ ownerReferences: [owner] }, { deletionTimestamp: "2026-01-01T00:00:00Z" }]) {
    const commands = objectCommands({ ...empty, sandboxes: [sandbox("True", metadata)] }, everything);
    expect(titles(commands)).not.toContain("Delete sandbox box");
  }
});

test("pools that exist only for claims of a template are not listed", () => {
  const shadow = pool({ "agents.x-k8s.io/migration-shadow": "true" });
  expect(objectCommands({ ...empty, pools: [shadow] }, everything)).toEqual([]);
});

test("every command has an id of its own", () => {
  const commands = [
    ...pageCommands([{ href: "/", title: "Overview" }]),
    ...createCommands(everything, "team"),
    ...objectCommands({ ...empty, sandboxes: [sandbox("True")], pools: [pool()] }, everything),
    ...namespaceCommands(["a", "b"], "c", true),
    ...preferenceCommands({ theme: "system", zone: "local" }),
  ];
  expect(new Set(commands.map(({ id }) => id)).size).toBe(commands.length);
});

test("what is chosen now is not offered", () => {
  expect(titles(namespaceCommands(["a", "b"], "a", true))).toEqual(["All namespaces", "Namespace b"]);
  expect(titles(namespaceCommands(["a"], undefined, false))).toEqual(["Namespace a"]);
  expect(titles(preferenceCommands({ theme: "dark", zone: "utc" }))).toEqual([
    "Light theme",
    "Theme of the system",
    "Show local times",
    "Log out",
  ]);
});
