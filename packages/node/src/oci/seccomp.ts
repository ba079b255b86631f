import type { OciSeccomp, OciSyscallRule } from "./spec.ts";

/**
 * The system calls that a sandbox may make. All others fail with EPERM, including those of future kernels. Excluded on
 * purpose: modules, kexec, mounts, namespaces, keyrings, bpf, perf, userfaultfd, io_uring, file handles, fanotify, quotas,
 * swap, clocks, reboot, I/O ports, and NUMA placement of other processes.
 */
const allowed: Readonly<Record<string, string>> = {
  files: `access chdir chmod chown close close_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate
    fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr
    fstat fstatfs fsync ftruncate getcwd getdents getdents64 getxattr getxattrat inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr listxattrat llistxattr lremovexattr
    lseek lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 readahead readlink readlinkat
    removexattr removexattrat rename renameat renameat2 rmdir setxattr setxattrat stat statfs statx symlink symlinkat
    sync sync_file_range syncfs truncate umask unlink unlinkat utime utimensat utimes futimesat`,
  data: `copy_file_range pipe pipe2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readv sendfile splice tee
    vmsplice write writev io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit`,
  waiting: `epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 poll ppoll
    pselect6 select signalfd signalfd4 timerfd_create timerfd_gettime timerfd_settime`,
  memory: `brk madvise map_shadow_stack membarrier memfd_create memfd_secret mincore mlock mlock2 mlockall mmap mprotect
    mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease
    remap_file_pages cachestat`,
  processes: `arch_prctl capget capset execve execveat exit exit_group fork futex futex_requeue futex_wait futex_waitv
    futex_wake get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups getpgid getpgrp getpid getppid
    getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid ioprio_get ioprio_set kill landlock_add_rule
    landlock_create_ruleset landlock_restrict_self pidfd_open pidfd_send_signal prctl prlimit64 process_madvise rseq
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler
    sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp
    set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setpgid setpriority setregid
    setresgid setresuid setreuid setrlimit setsid setuid sysinfo tgkill time times tkill uname vfork wait4 waitid
    chroot`,
  signals: `alarm getitimer pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo
    rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack`,
  time: `clock_getres clock_gettime clock_nanosleep gettimeofday nanosleep timer_create timer_delete timer_getoverrun
    timer_gettime timer_settime`,
  network: `accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg sendmmsg
    sendmsg sendto setsockopt shutdown socketpair`,
  ipc: `mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget
    semop semtimedop shmat shmctl shmdt shmget`,
  random: "getrandom",
};

/** Safe since Linux 4.8, which applies seccomp again after a tracer has changed a system call. */
const tracing = "ptrace process_vm_readv process_vm_writev kcmp pidfd_getfd";
const tracingSince = [4, 8] as const;

const socketFamilies = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET, together. */
const newNamespaceFlags = 0x7e020000;
/** PER_LINUX, UNAME26, ADDR_NO_RANDOMIZE (debuggers), and the query value. */
const personalities = [0x0, 0x0020000, 0x0040000, 0xffffffff];
const architectures: Readonly<Record<string, string>> = { x64: "SCMP_ARCH_X86_64", arm64: "SCMP_ARCH_AARCH64" };
const EPERM = 1;
const ENOSYS = 38;

export interface SeccompMachine {
  /** The value of `process.arch`. */
  readonly arch: string;
  /** The value of `os.release()`. */
  readonly kernel: string;
}

export function seccompProfile(machine: SeccompMachine): OciSeccomp {
  const architecture = architectures[machine.arch];
  const names = Object.values(allowed).flatMap(words);
  return {
    defaultAction: "SCMP_ACT_ERRNO",
    defaultErrnoRet: EPERM,
    architectures: architecture === undefined ? [] : [architecture],
    syscalls: [
      {
        names: isAtLeast(machine.kernel, tracingSince) ? [...names, ...words(tracing)] : names,
        action: "SCMP_ACT_ALLOW",
      },
      ...Object.values(socketFamilies).map((family) => allowWhen("socket", family)),
      ...personalities.map((value) => allowWhen("personality", value)),
      {
        names: ["clone"],
        action: "SCMP_ACT_ALLOW",
        args: [{ index: 0, value: newNamespaceFlags, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }],
      },
      // A filter cannot read the flags of clone3 from memory. ENOSYS makes libraries fall back to clone.
      { names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS },
    ],
  };
}

function allowWhen(name: string, value: number): OciSyscallRule {
  return { names: [name], action: "SCMP_ACT_ALLOW", args: [{ index: 0, value, op: "SCMP_CMP_EQ" }] };
}

function words(text: string): string[] {
  return text.split(/\s+/);
}

function isAtLeast(kernel: string, wanted: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = kernel.split(/[.-]/).map(Number);
  return major > wanted[0] || (major === wanted[0] && minor >= wanted[1]);
}
