import { describe, expect, test } from "vitest";
import { seccompProfile } from "./seccomp.ts";

const profile = seccompProfile({ arch: "x64", kernel: "6.1.0-18-amd64" });
const unconditional = new Set(
  profile.syscalls.flatMap(({ names, action, args }) =>
    action === "SCMP_ACT_ALLOW" && args === undefined ? names : [],
  ),
);

describe("seccompProfile()", () => {
  test.for(
    `acct add_key bpf clock_adjtime clock_settime delete_module fanotify_init finit_module fsconfig fsmount fsopen
    init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl kexec_file_load kexec_load keyctl
    lookup_dcookie mbind migrate_pages mount mount_setattr move_mount move_pages name_to_handle_at nfsservctl
    open_by_handle_at open_tree perf_event_open pivot_root quotactl reboot request_key setdomainname sethostname
    set_mempolicy setns settimeofday stime swapoff swapon syslog umount umount2 unshare userfaultfd ustat vhangup vm86
    clone clone3 socket personality`.split(/\s+/),
  )("%s is not allowed without a condition", (name) => {
    expect(unconditional.has(name)).toBe(false);
  });

  test("other system calls fail with EPERM, for the native architecture only", () => {
    const { defaultAction, defaultErrnoRet, architectures } = profile;
    expect({ defaultAction, defaultErrnoRet, architectures }).toEqual({
      defaultAction: "SCMP_ACT_ERRNO",
      defaultErrnoRet: 1,
      architectures: ["SCMP_ARCH_X86_64"],
    });
  });

  test("clone cannot create namespaces", () => {
    const rule = profile.syscalls.find(({ names }) => names.includes("clone"));
    const kinds = {
      time: 0x80,
      mount: 0x20000,
      cgroup: 0x2000000,
      uts: 0x4000000,
      ipc: 0x8000000,
      user: 0x10000000,
      pid: 0x20000000,
      net: 0x40000000,
    };
    const mask = rule?.args?.[0]?.value ?? 0;
    // CLONE_NEWTIME shares its bit with the signal number and cannot be passed to clone.
    expect(
      Object.entries(kinds)
        .filter(([, bit]) => (mask & bit) !== bit)
        .map(([kind]) => kind),
    ).toEqual(["time"]);
    expect(rule?.args).toEqual([{ index: 0, value: mask, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }]);
  });

  test("sockets are limited to four families", () => {
    const rules = profile.syscalls.filter(({ names }) => names.includes("socket"));
    expect(rules.map(({ args }) => args?.[0]?.value)).toEqual([1, 2, 10, 16]);
  });

  test.for([
    ["4.4.0", false],
    ["4.8.0-rc1", true],
    ["6.18.44-fc", true],
  ] as const)("ptrace on kernel %s: %s", ([kernel, expected]) => {
    const names = seccompProfile({ arch: "arm64", kernel }).syscalls.flatMap((rule) => rule.names);
    expect(names.includes("ptrace")).toBe(expected);
  });
});
