/** An escape attempt: a program to run inside a sandbox, and what it prints when it fails. */
export interface Attempt {
  readonly name: string;
  readonly script: string;
  /** Matches the output of an attempt that failed. gVisor's own kernel allows some actions that are harmless there. */
  readonly expected: RegExp;
  /** The runtime under which the attempt is made. Default: both. */
  readonly only?: "gvisor" | "runc";
}

const python = (lines: string): string => `python3 -c ${quote(lines)}`;
const quote = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;

/** Makes a system call by its number for x86-64 and arm64, and prints the result. */
const syscall = (numbers: readonly [number, number], args: string): string =>
  python(`
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
number = ${numbers[0]} if platform.machine() == "x86_64" else ${numbers[1]}
result = libc.syscall(number, ${args})
print("worked" if result >= 0 else "refused")`);

const socket = (family: string, kind: string): string =>
  python(`
import socket
try: socket.socket(socket.${family}, socket.${kind}, 0 if "${family}" == "AF_PACKET" else 1); print("worked")
except OSError: print("refused")`);

/** Prints the files that can be opened for writing. It writes nothing, so it is harmless if it succeeds. */
const openable = (files: string): string =>
  `for file in ${files}; do [ -e $file ] && (: >>$file) 2>/dev/null && echo $file; done; true`;

const refused = /^refused$/;
const nothing = /^$/;

/** The targets of the attempts. `canary` is a text in files of another Pod and in a volume. */
export interface Prey {
  readonly dataDir: string;
  readonly canary: string;
  readonly otherPid: number;
}

export function attempts(prey: Prey): readonly Attempt[] {
  return [...toRead(prey), ...toChangeTheKernel, ...toReachOthers(prey)];
}

const roots = "/ /proc/1/root /proc/self/root /proc/self/cwd/../../../.. /proc/thread-self/root";

function toRead({ dataDir, canary }: Prey): readonly Attempt[] {
  return [
    {
      name: "the machine's passwords",
      script: `for root in ${roots}; do cat $root/etc/shadow $root/etc/gshadow 2>/dev/null; done`,
      expected: nothing,
    },
    {
      name: "root's folder on the machine",
      script: `for root in ${roots}; do for file in $root/root/.* $root/root/*; do [ -f "$file" ] && echo $file; done; done`,
      expected: nothing,
    },
    {
      name: "the box's data and tokens",
      script: `for root in ${roots}; do cat $root${dataDir}/kubeconfig 2>/dev/null; [ -e $root${dataDir} ] && echo there; done`,
      expected: nothing,
    },
    {
      name: "the administrator's configuration beside the machine's programs",
      script: "find /usr/local/etc /usr/etc -type f 2>/dev/null",
      expected: nothing,
    },
    {
      name: "files of other Pods and of the box, wherever they may be",
      // The pattern does not match itself, so that the search does not find its own command line.
      script: `grep -rsl ${canary.slice(0, -1)}[${canary.slice(-1)}] / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=dev`,
      expected: nothing,
    },
    {
      name: "files by their number on the disk",
      script: python(`
import ctypes, os
class Handle(ctypes.Structure): _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_char * 8)]
libc = ctypes.CDLL(None, use_errno=True)
handle = Handle(8, 1, b"\\x02\\0\\0\\0\\0\\0\\0\\0")
print("worked" if libc.open_by_handle_at(os.open("/etc/hosts", os.O_RDONLY), ctypes.byref(handle), 0) >= 0 else "refused")`),
      expected: refused,
    },
  ];
}

const toChangeTheKernel: readonly Attempt[] = [
  {
    name: "a mount",
    script: "mount -t tmpfs none /mnt 2>/dev/null && echo worked || echo refused",
    expected: refused,
  },
  {
    name: "a mount of the machine's disk",
    script:
      "mknod /tmp/disk b 254 0 2>/dev/null && mount -o ro /tmp/disk /mnt 2>/dev/null && echo worked || echo refused",
    expected: refused,
  },
  {
    name: "a user namespace with rights of its own",
    script: "unshare -Urm mount -t tmpfs none /mnt 2>/dev/null && echo worked || echo refused",
    expected: refused,
    only: "runc",
  },
  { name: "a kernel module", script: syscall([175, 105], 'b"x", 1, b""'), expected: refused },
  { name: "removing a kernel module", script: syscall([176, 106], 'b"overlay", 0'), expected: refused },
  { name: "another kernel", script: syscall([246, 104], "0, 0, 0, 0"), expected: refused },
  { name: "a program for the kernel", script: syscall([321, 280], "0, b'\\0' * 128, 128"), expected: refused },
  {
    name: "a restart of the machine",
    script: syscall([169, 142], "0xfee1dead, 672274793, 0x1234567, 0"),
    expected: refused,
  },
  {
    name: "the machine's clock",
    script: "date -s @$(date +%s) >/dev/null 2>&1 && echo worked || echo refused",
    expected: refused,
  },
  {
    name: "the kernel's settings",
    script: openable(
      "/proc/sys/kernel/core_pattern /proc/sys/kernel/panic /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches",
    ),
    expected: nothing,
  },
  { name: "the kernel's emergency key", script: openable("/proc/sysrq-trigger"), expected: nothing, only: "runc" },
  {
    name: "devices and helpers through /sys",
    script: openable(
      "/sys/kernel/uevent_helper /sys/power/state /sys/fs/cgroup/*/release_agent /sys/fs/cgroup/release_agent",
    ),
    expected: nothing,
  },
  {
    name: "control groups",
    script: `for folder in /sys/fs/cgroup /sys/fs/cgroup/*; do
  [ -e $folder/cgroup.procs ] && mkdir $folder/evil 2>/dev/null && echo $folder && rmdir $folder/evil; done; true`,
    expected: nothing,
    only: "runc",
  },
];

function toReachOthers({ otherPid }: Prey): readonly Attempt[] {
  return [
    {
      name: "the machine's memory and disks",
      script:
        "for file in /dev/mem /dev/kmem /dev/port /dev/sd* /dev/vd* /dev/nvme* /proc/kcore; do head -c 1 $file 2>/dev/null | wc -c | grep -v ^0; done; true",
      expected: nothing,
    },
    {
      name: "processes of the machine and of other Pods",
      script: `cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -aoE 'conmo[n]|http.serve[r]|agent-sandbox-nod[e]'; true`,
      expected: nothing,
    },
    {
      name: "a signal to another Pod's process",
      script: `kill -9 ${otherPid} 2>/dev/null && echo worked || echo refused`,
      expected: refused,
    },
    { name: "raw packets", script: socket("AF_INET", "SOCK_RAW"), expected: refused },
    { name: "packets of the wire", script: socket("AF_PACKET", "SOCK_RAW"), expected: refused },
    {
      name: "the machine's network settings",
      script: "ip link set lo down 2>/dev/null && echo worked || echo refused",
      expected: refused,
      only: "runc",
    },
    { name: "the kernel's keys", script: "cat /proc/keys 2>/dev/null; true", expected: nothing },
    {
      name: "the kernel's log",
      script: "dmesg 2>/dev/null | grep -v -i gvisor | grep -iE 'linux version|firecracker|cpu0' ; true",
      expected: nothing,
    },
  ];
}
