import { expect, test } from "vitest";
import { normaliseIp, parsePodIp } from "./pod-ip.ts";

const refused = [
  "127.0.0.1",
  "127.8.8.8",
  "::1",
  "::ffff:127.0.0.1",
  "::ffff:7f00:1",
  "::127.0.0.1",
  "169.254.169.254",
  "::ffff:169.254.169.254",
  "fe80::1",
  "febf::1",
  "224.0.0.1",
  "239.255.255.255",
  "ff02::1",
  "0.0.0.0",
  "::",
  "::ffff:0.0.0.0",
  "fe80::1%eth0",
  "10.0.0.1%eth0",
  "10.0.0",
  "10.0.0.1:80",
  "010.0.0.1",
  "0x0a000001",
  "167772161",
  "[10.0.0.1]",
  "localhost",
  "10.0.0.1\n",
  "",
];

test.for(refused)("refuses %j", (text) => {
  expect(parsePodIp(text, { allowLoopback: false })).toBeUndefined();
});

test.for([
  ["10.1.2.3", "10.1.2.3"],
  ["192.168.0.9", "192.168.0.9"],
  ["FD00::0001", "fd00::1"],
  ["fd00:0:0:0:0:0:0:1", "fd00::1"],
  ["::ffff:10.1.2.3", "10.1.2.3"],
  ["::ffff:a01:203", "10.1.2.3"],
])("takes %s as %s", ([text = "", expected]) => {
  expect(parsePodIp(text, { allowLoopback: false })).toBe(expected);
});

test("accepts loopback only if configured", () => {
  const admitted = refused.filter((text) => parsePodIp(text, { allowLoopback: true }) !== undefined);
  expect(admitted).toEqual(["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1"]);
});

test("normalises addresses", () => {
  expect(normaliseIp("::1")).toBe("::1");
  expect(normaliseIp("2001:DB8:0:0::1")).toBe("2001:db8::1");
});
