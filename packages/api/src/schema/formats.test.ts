import { expect, test } from "vitest";
import { isOfFormat } from "./formats.ts";

const examples: { readonly [format: string]: { readonly good: readonly string[]; readonly bad: readonly string[] } } = {
  byte: { good: ["YWJj", "YQ=="], bad: ["", "YWJ", "a b"] },
  cidr: {
    good: ["10.0.0.0/8", "::/0", "fe80::1/128"],
    bad: ["10.0.0.0", "10.0.0.0/33", "::/129", "x/8", "10.0.0.0/8/8"],
  },
  date: { good: ["2024-02-29"], bad: ["2023-02-29", "2023-13-01", "2023-1-1", ""] },
  "date-time": {
    good: [
      "2025-01-01T00:00:00Z",
      "2025-01-01t00:00:00z",
      "2025-01-01T00:00:00.123456789+02:00",
      "2024-02-29T23:59:59-08:00",
    ],
    bad: [
      "2025-01-01",
      "2025-01-01 00:00:00Z",
      "2025-01-01T00:00:00",
      "2025-02-30T00:00:00Z",
      "2025-01-01T24:00:00Z",
      "2025-01-01T00:00:60Z",
      "",
    ],
  },
  duration: { good: ["5s", "1h30m", "-1.5h", "0", "5 days", "3ns 4us", "2w"], bad: ["", "a", "5", "1 fortnight"] },
  email: { good: ["a@b.c", "Foo <a@b.c>"], bad: ["", "a", "a b@c", "mailto:x@y"] },
  hexcolor: { good: ["#fff", "fff", "#A0B1C2"], bad: ["#ff", "red"] },
  hostname: {
    good: ["a", "my-host.example.com", "1.example.com"],
    bad: ["", "-bad", "my_host", `${"a".repeat(64)}.com`],
  },
  ipv4: { good: ["1.2.3.4", "::ffff:1.2.3.4"], bad: ["1.2.3.256", "1.2.3", "::1"] },
  ipv6: {
    good: ["::1", "::", "fe80::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4"],
    bad: ["1::2::3", "1:2:3", "1.2.3.4", "::g", "1:2:3:4:5:6:7::8:9"],
  },
  "k8s-short-name": { good: ["name-1"], bad: ["A", "a.b", "-a", "a".repeat(64)] },
  "k8s-long-name": { good: ["a.b", "name-1"], bad: ["A", "a..b", "a".repeat(254)] },
  mac: { good: ["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455"], bad: ["00:11:22", "x"] },
  uri: { good: ["http://a.b/c", "/path", "mailto:x@y"], bad: ["", "a.b/c"] },
  uuid: { good: ["d3b07384-d113-4ec6-a7f6-1a2b3c4d5e6f", "D3B07384D1134EC6A7F61A2B3C4D5E6F"], bad: ["d3b07384", ""] },
  uuid3: { good: ["d3b07384-d113-3ec6-a7f6-1a2b3c4d5e6f"], bad: ["d3b07384-d113-4ec6-a7f6-1a2b3c4d5e6f"] },
  uuid4: { good: ["d3b07384-d113-4ec6-a7f6-1a2b3c4d5e6f"], bad: ["d3b07384-d113-4ec6-c7f6-1a2b3c4d5e6f"] },
  uuid5: { good: ["d3b07384-d113-5ec6-a7f6-1a2b3c4d5e6f"], bad: ["d3b07384-d113-4ec6-a7f6-1a2b3c4d5e6f"] },
  "made-up": { good: ["", "anything"], bad: [] },
};

test.for(Object.entries(examples))("%s", ([format, { good, bad }]) => {
  expect(good.filter((value) => !isOfFormat(format, value))).toEqual([]);
  expect(bad.filter((value) => isOfFormat(format, value))).toEqual([]);
});

test.for(Object.keys(examples))("%s: a long value is checked in linear time", (format) => {
  const parts = [":", "1", "a.", "0:", "1s", "@", "<", "=", "/", "-", "AAAA"];
  const good = parts.filter((text) => isOfFormat(format, `${text.repeat(200_000)}!`));
  expect(good).toEqual(format === "made-up" ? parts : format === "uri" ? ["/"] : []);
});
