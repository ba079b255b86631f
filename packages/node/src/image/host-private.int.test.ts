import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun, testedRuntimes } from "../testing/runtimes.ts";
import { isReady } from "../testing/test-api.ts";
import { openTestBox, type TestBox } from "../testing/test-box.ts";

/** A folder of the test that the image "host" shows. */
const shown = "/usr/local/share";

describe.skipIf(cannotRun).for(testedRuntimes)("root of a sandbox under %s", (runtimeClassName) => {
  let box: TestBox;
  let folder: string;
  beforeAll(async () => {
    box = await openTestBox();
    folder = await mkdtemp(join(shown, "private-int-"));
    await chmod(folder, 0o755);
    await writeFile(join(folder, "public"), "public");
    await writeFile(join(folder, "becomes-private"), "secret");
    await box.create("root", { spec: { runtimeClassName } });
    await box.api.until("root", isReady);
    // The sandbox reads the file while it is public and closes it: an open file would stay readable.
    await box.shell("root", `ls -l ${folder}`);
    await writeFile(join(folder, "token"), "secret", { mode: 0o600 });
    await mkdir(join(folder, "closed"), { mode: 0o700 });
    await mkdir(join(folder, "no-entry"), { mode: 0o755 });
    for (const one of ["closed", "no-entry"]) await writeFile(join(folder, one, "key"), "secret");
    await chmod(join(folder, "no-entry"), 0o744);
    await chmod(join(folder, "becomes-private"), 0o600);
  });
  afterAll(async () => {
    await box[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test.for(["token", "closed/key", "no-entry/key"])(
    "cannot read a file that was made private after it started: %s",
    async (file) => {
      expect(await box.shell("root", `cat ${folder}/${file} 2>&1 | sed 's/.*: //'`)).toBe("Permission denied");
    },
  );

  test("cannot list a folder that was closed after it started", async () => {
    expect(await box.shell("root", `ls ${folder}/closed 2>&1 | sed 's/.*: //'`)).toBe("Permission denied");
  });

  test("cannot read a file that has become private, and a later sandbox cannot either", async () => {
    await box.create("later", { spec: { runtimeClassName } });
    await box.api.until("later", isReady);
    for (const pod of ["root", "later"]) {
      expect(await box.shell(pod, `dd if=${folder}/becomes-private status=none 2>&1 | sed 's/.*: //'`)).toBe(
        "Permission denied",
      );
    }
    await box.remove("later");
  });

  test("cannot change the permissions or reach the files through its own links", async () => {
    const said = await box.shell(
      "root",
      `chmod 644 ${folder}/token 2>/dev/null; ln -s ${folder} /tmp/l; cat /tmp/l/token`,
    );
    expect(said).toBe("");
    expect(await box.shell("root", `cat ${shown}/${basename(folder)}/public`)).toBe("public");
  });

  test.for([
    ["python3", "python3 -c 'import json, ssl, sqlite3; print(json.dumps(1))'", "1"],
    ["perl", "perl -MPOSIX -e 'print 1'", "1"],
    [
      "git",
      "cd /tmp && git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m 1 && git log --format=%s",
      "1",
    ],
    ["tar", "tar cf /tmp/t.tar -C /usr/share/perl5 . && tar tf /tmp/t.tar >/dev/null && echo 1", "1"],
  ] as const)("runs the machine's programs: %s", async ([, script, expected]) => {
    expect(await box.shell("root", script)).toBe(expected);
  });
});
