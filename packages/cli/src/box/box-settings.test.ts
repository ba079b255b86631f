import { expect, test } from "vitest";
import { checkBoxSettings } from "./box-settings.ts";

const refuse = (why: string): Error => new Error(why);

test("takes all settings of the box, or none", () => {
  const found = {
    listen: "0.0.0.0:7643",
    routerListen: "[::1]:80",
    allowOrigins: ["https://app.example"],
    group: "sandbox",
  };
  expect(checkBoxSettings(found, refuse)).toEqual(found);
  expect(checkBoxSettings({}, refuse)).toEqual({});
});

test.for([
  [[], "box must be an object"],
  [
    { port: 1 },
    "box.port is unknown; valid fields are listen, routerListen, dashboardListen, compatListen, allowOrigins, group",
  ],
  [{ listen: 7643 }, "box.listen: must be a text"],
  [{ listen: "7643" }, 'box.listen: Cannot listen on "7643": write address:port'],
  [{ routerListen: ":80" }, "box.routerListen: Cannot listen on"],
  [{ allowOrigins: "https://app.example" }, "box.allowOrigins: must be a list of texts"],
  [{ allowOrigins: ["*"] }, "box.allowOrigins: Cannot allow an origin"],
  [{ group: "../etc" }, 'box.group: Cannot use the group "../etc"'],
  [{ __proto__: null, constructor: 1 }, "box.constructor is unknown"],
] as const)("refuses %j", ([found, message]) => {
  expect(() => checkBoxSettings(found, refuse)).toThrow(message);
});
