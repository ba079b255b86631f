/**
 * What the node writes to the output of a command whose gVisor sandbox was killed by the kernel. Clients that explain the end of a
 * command themselves look for it.
 */
export const killedForMemory = "The sandbox ran out of memory and was killed";
