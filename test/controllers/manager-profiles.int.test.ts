import { expect, test } from "vitest";
import { servePaths } from "../../packages/controllers/src/manager/plain-server.ts";
import { profilesOf } from "../../packages/controllers/src/manager/profiles.ts";

const address = { host: "127.0.0.1", port: 0 };

test("records a CPU profile, for one caller at a time", async () => {
  await using server = await servePaths(address, profilesOf(false));
  const url = `http://127.0.0.1:${server.port}/debug/pprof`;
  const answers = await Promise.all([0, 1].map(() => fetch(`${url}/profile?seconds=0.2`)));
  expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 500]);
  const taken = answers.find(({ status }) => status === 200);
  expect(await taken?.json()).toMatchObject({ nodes: expect.any(Array), samples: expect.any(Array) });
  expect(await answers.find(({ status }) => status === 500)?.text()).toContain("another profile is being taken");
  for (const seconds of ["x", "0", "-1", "301"]) {
    expect((await fetch(`${url}/profile?seconds=${seconds}`)).status).toBe(400);
  }
  expect((await fetch(`${url}/profile?seconds=0.2`, { method: "POST" })).status).toBe(405);
  expect((await fetch(`${url}/heap`)).status).toBe(404);
});
