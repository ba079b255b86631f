package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of arch_prctl: whether the CPUID instruction works (1) or faults (0).
const archSetCPUID = 0x1012

// keepCPUID lets programs in sandboxes execute CPUID themselves. gVisor asks the kernel for a fault instead, and then answers for the
// processor. Every start of a program with glibc executes CPUID 68 times, and the faults take more than a third of the time of the
// start. gVisor also works where the kernel refuses this, as older processors cannot do it. So a seccomp filter, which the processes
// of the sandbox inherit, refuses it. Where a filter cannot be installed, sandboxes are slower.
//
// Programs see the features of the machine's processor, which are those that gVisor answers with: a saved sandbox is restored only where
// they are the same.
func keepCPUID() {
	// Fails if the processor cannot fault, or if the process that started this one has installed the filter.
	if _, _, failed := syscall.RawSyscall(unix.SYS_ARCH_PRCTL, archSetCPUID, 1, 0); failed != 0 {
		return
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(unsafe.Offsetof(seccompData{}.number))},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_ARCH_PRCTL, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(unsafe.Offsetof(seccompData{}.arguments))},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: archSetCPUID, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENODEV)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, _ = syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
}

// seccompData is struct seccomp_data of the kernel. The filter may compare the lower halves, as the kernel ignores the upper ones of
// both: it takes the option as an int.
type seccompData struct {
	number             int32
	architecture       uint32
	instructionPointer uint64
	arguments          [6]uint64
}
