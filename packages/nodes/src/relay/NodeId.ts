/** What nodes are called, and where each is found. */
import { networkInterfaces } from "node:os"
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

/** The host and the port of an address. */
export const placeOf = (address: string): { readonly host: string; readonly port: number } => {
  const { hostname, port } = new URL(`http://${address}`)
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) }
}

/** Whether an address is of this machine: one of its interfaces has it. False for a name, which may lead to another machine. */
const isOwn = (address: string): boolean => {
  const { host } = placeOf(address)
  return Object.values(networkInterfaces()).some((own) => own?.some((one) => one.address === host))
}

/**
 * Whether the process of a node is dead for certain: it ran on this machine. A connection that is refused shows less: a firewall between two
 * machines refuses it for a node that lives. Virtual machines that are resumed from one snapshot share what names a machine, but not addresses.
 */
export const isDead = (node: NodeId): boolean => {
  const [, machineOf, pid] = /^[^ @]*@([^ :]+):(\d+) /.exec(node) ?? []
  return machineOf !== undefined && machineOf === machine && isOwn(addressOf(node)) && hasEnded(Number(pid))
}
