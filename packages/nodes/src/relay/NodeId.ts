/** What nodes are called, and where each is found. */
import { hasEnded, machine } from "@effect-mcp/server/internal/processes"

/**
 * Unique for each start of a process, and for each lease that it let run out. Ends with the address that the relay knows; between the two
 * is the process, where its death ends the lease.
 */
export type NodeId = string

/** `process`: which one it is; undefined where others have to wait for the end of the lease. */
export const nameOf = (address: string, process: string | undefined): NodeId =>
  `${crypto.randomUUID()}${process === undefined ? "" : `@${process}`} ${address}`

/** The address of a node, which its relay listens at. */
export const addressOf = (node: NodeId): string => node.slice(node.indexOf(" ") + 1)

/** A process of this machine, in the name of a node. */
export const processOf = (pid: number): string | undefined => (machine === undefined ? undefined : `${machine}:${pid}`)

/**
 * Whether the process of a node is dead for certain: it ran on this machine. A connection that is refused shows less: a firewall between two
 * machines refuses it for a node that lives.
 */
export const isDead = (node: NodeId): boolean => {
  const [, machineOf, pid] = /^[^ @]*@([^ :]+):(\d+) /.exec(node) ?? []
  return machineOf !== undefined && machineOf === machine && hasEnded(Number(pid))
}
