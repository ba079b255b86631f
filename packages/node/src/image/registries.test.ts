import { expect, test } from "vitest";
import { registriesText } from "./registries.ts";

test("mirrors are listed with their registry and inherit its `insecure` setting", () => {
  const settings = [
    { name: "docker.io", mirrors: ["mirror.example.com:5000/hub"] },
    { name: "127.0.0.1:5000", insecure: true },
  ];
  expect(registriesText(settings).split("\n")).toEqual([
    "[[registry]]",
    'location = "docker.io"',
    "insecure = false",
    "[[registry.mirror]]",
    'location = "mirror.example.com:5000/hub"',
    "insecure = false",
    "",
    "[[registry]]",
    'location = "127.0.0.1:5000"',
    "insecure = true",
    "",
  ]);
});

test.for(["", 'a"\n[[registry]]', "a b", "https://a", "a/../b\n"])('refuses "%s"', (name) => {
  expect(() => registriesText([{ name }])).toThrow("Cannot use registry");
});
