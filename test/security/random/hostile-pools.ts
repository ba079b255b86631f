import { outside } from "../machine.ts";

/** Splits a list of values that contain no spaces. */
const words = (text: string): string[] => text.trim().split(/\s+/);

export const addresses: readonly string[] = [
  ...Object.values(outside).filter((value) => typeof value === "string"),
  ...words(`127.0.0.1 0.0.0.0 ::1 localhost 127.1 0x7f000001 ::ffff:127.0.0.1 10.96.0.1 10.96.0.10 224.0.0.1 255.255.255.255
    web.alice.svc.cluster.local web.alice kubernetes.default.svc x.example http://127.0.0.1:7643/ @127.0.0.1 1.2.3 999.1.1.1
    0.0.0.0/0 127.0.0.0/8 10.0.0.1/8 10.0.0.0/33 10.0.0.0/-1 ::/0 fe80::/10 1.2.3.4/0x8`),
  "10.0.0.0/8 } ; flush ruleset ; #",
  "10.0.0.0/8\n}",
  "10.0.0.0/8, 0.0.0.0/0",
  "",
  "\u0000",
];

export const names: readonly string[] = [
  ...words(`web friend alice ledger default kube-system kubernetes agent-sandbox-system system:masters main gvisor runc local
    agent-sandbox-controller agent-sandbox-router web-runtime friend-runtime cluster-admin edit host sandboxd --help --root=/ -f
    $(id) ;id .. A alice/web ../alice web.alice é __proto__ constructor`),
  "a b",
  "a\nb",
  "",
  "x".repeat(63),
  "x".repeat(300),
];

export const paths: readonly string[] = [
  ...words(`/ /.. .. . ../../../../etc /etc /etc/shadow /dev /dev/null /dev/shm /proc /sys /proc/self/root /proc/1/root/etc
    /proc/self/fd/7 /proc/sys/net /run/netns /x/../.. /x/dev /link a/../../b ..data -rf --help // /a//b ~ C:\\x`),
  "a\u0000b",
  "a\nb",
  "/\u202e",
  "",
  "x".repeat(5000),
];

export const texts: readonly string[] = [
  ...words("%00 %2e%2e%2f {{.}} 😀 true null 1e999"),
  "",
  "\u0000",
  "a\nb",
  "\r\nX-Injected: 1",
  "\ud800",
  "x".repeat(9000),
];

/** Mostly the built-in images, because Pods with other images do not start. */
export const images: readonly string[] = [
  ...words(`host host host sandboxd 127.0.0.1:7643/x 169.254.169.254/latest 203.0.113.10:5000/x:y --help ../../etc
    docker-archive:/etc/shadow dir:/ HOST host@sha256:${"0".repeat(64)}`),
  "host\n",
  "",
];

export const quantities: readonly string[] = [
  ...words("0 1 -1 10Mi 200Mi 1Ei 99999999999Ei 1e100 1n 0.0000001 nan 100m"),
  "",
  "1 Gi",
];

export const times: readonly string[] = [
  ...words("1970-01-01T00:00:00Z 9999-12-31T23:59:59Z 2024-02-30T25:61:61Z now -1"),
  "",
];

export const finalizers: readonly string[] = [
  ...words("kubernetes foregroundDeletion orphan kubernetes.io/pvc-protection example.com/stay"),
  "a b",
];

/** Settings of a network namespace of the test: changing them is harmless if a defence fails. */
export const sysctls: readonly string[] = words(
  "net.ipv4.ip_default_ttl net.ipv4.ip_forward net/ipv4/ip_default_ttl net.ipv4.conf.all.route_localnet kernel.shm_rmid_forced net.*",
);

export const numbers: readonly number[] = words(
  `0 1 -1 2 3 22 53 80 7643 7680 8000 65535 65536 ${2 ** 31 - 1} ${2 ** 31} ${-(2 ** 31)} ${2 ** 53} 1.5 1e300`,
).map(Number);

/** Small numbers, because many replicas would only use up the machine. */
export const replicas: readonly number[] = [-1, 0, 1, 2];
