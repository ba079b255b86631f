/** The kernel's maximum: when the machine runs out of memory, processes with this score are killed first. */
const highest = 1000;

/**
 * The oom_score_adj of every process of a sandbox. It is the same for all: the kubelet's score depends on the Pod's requests,
 * and requests are not limited here, so a tenant could protect itself at the expense of others. With equal scores the
 * kernel kills the process that uses most memory. The box's own score is never changed.
 */
export const sandboxOomScore: number = highest;
