import type { Prey } from "./hostile-values.ts";

/**
 * Scripts that the attacker runs in its own Pods: directory trees with links to the outside, files that block or never end, and traffic to all
 * known addresses. Each ends within seconds and uses few resources: other tests cover exhaustion.
 */
export function insideScripts(prey: Prey, sentinel: string): readonly string[] {
  const targets = JSON.stringify(
    [...new Set(prey.addresses)].filter((address) => /^\d+\.\d+\.\d+\.\d+$/.test(address)),
  );
  return [
    `for d in /scratch /kept /tmp; do ln -sfn ${sentinel} $d/out; ln -sfn / $d/root; ln -sfn ../../../.. $d/up; done`,
    `for i in 1 2 3 4 5 6 7 8 9; do mkdir -p /kept/d /scratch/d; mv /kept/d /kept/e$i; ln -sfn ${sentinel} /kept/d; rm -f /kept/d; done`,
    "for d in /scratch /kept /; do mkfifo $d/fifo; mknod $d/null c 1 3; python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $d/sock; done",
    "rm -f /etc/hosts /etc/resolv.conf /etc/hostname; ln -s /proc/self/environ /etc/passwd; ln -sfn /dev/zero /etc/group",
    "mv /etc /etc2; ln -s /proc/1 /etc; mv /usr/local /x 2>/dev/null; ln -sfn / /dev/shm/x",
    "cd /tmp; for i in $(seq 300); do mkdir -p d$i/d/d/d; touch d$i/f; done; truncate -s 1T huge; dd if=/dev/zero of=fill bs=1M count=20",
    "for i in $(seq 50); do sleep 3 & done; wait",
    `python3 -c '
import socket, itertools
for host, port in itertools.product(${targets}, (22, 53, 80, 7643, 7680, 8000)):
    try:
        s = socket.create_connection((host, port), 0.05); s.sendall(b"GET /diary HTTP/1.0\\r\\n\\r\\n"); s.settimeout(0.2); print(host, port, s.recv(200))
    except OSError: pass'`,
    `python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for name in (b"\\x03web\\x05alice\\x03svc\\x07cluster\\x05local\\0", b"\\x01x\\x07example\\0", b"\\xc0\\x0c", b"\\x3f" * 200):
    s.sendto(b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + name + b"\\0\\1\\0\\1", (open("/etc/resolv.conf").read().split()[1], 53))'`,
    "cat /proc/self/mountinfo /proc/self/cgroup /proc/1/environ /proc/*/cmdline 2>/dev/null | head -c 20000",
    "cat /token/token 2>/dev/null; find / -xdev -name diary 2>/dev/null | head; grep -rs secret- /kept /scratch | head -3",
    "kill -9 -1; kill -9 1",
    `yes '\\033]0;x\\007 {"level":60}' | head -c 2000000; echo out >&2`,
  ];
}
