/** What nodes are called, and where each is found. */

/** Unique for each start of a process, and for each lease that it let run out. Ends with the address that the relay knows. */
export type NodeId = string

/** The address of a node, which its relay listens at. */
export const addressOf = (node: NodeId): string => node.slice(node.indexOf(" ") + 1)
