/** The kernel's highest: when the whole machine runs out of memory, a process with it ends before all others. */
const highest = 1000;

/**
 * What every process of a sandbox adds to its chance of being chosen when the machine has no memory left. It is the same
 * for all: a score by the Pod's requests, as the kubelet has it, would let a tenant ask to be spared at the expense of
 * others, because nothing here holds requests to what the machine has. With equal scores the kernel ends the process
 * that uses most. The box's own score is never changed.
 */
export const sandboxOomScore: number = highest;
