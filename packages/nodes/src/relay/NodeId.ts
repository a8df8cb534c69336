/** Node names, and how to find a node by its name. */
import { networkInterfaces } from "node:os"
import { hasEnded, machine } from "@effect-mcp/server/internal/processes"

/**
 * Unique for each process start and for each lease. It ends with the relay's address. If the lease ends with the process, the process is
 * named in between.
 */
export type NodeId = string

/** `process` identifies the process, or is `undefined` if other nodes must wait for the lease to end. */
export const nameOf = (address: string, process: string | undefined): NodeId =>
  `${crypto.randomUUID()}${process === undefined ? "" : `@${process}`} ${address}`

/** Returns the address that a node's relay listens on. */
export const addressOf = (node: NodeId): string => node.slice(node.indexOf(" ") + 1)

/** Returns the part of a node's name that identifies a process on this machine. */
export const processOf = (pid: number): string | undefined => (machine === undefined ? undefined : `${machine}:${pid}`)

/** Returns an address's host and port. */
export const placeOf = (address: string): { readonly host: string; readonly port: number } => {
  const { hostname, port } = new URL(`http://${address}`)
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) }
}

/** True if the address belongs to one of this machine's interfaces. False for a host name, which may resolve to another machine. */
const isOwn = (address: string): boolean => {
  const { host } = placeOf(address)
  return Object.values(networkInterfaces()).some((own) => own?.some((one) => one.address === host))
}

/**
 * True if a node's process is certainly dead, because it ran on this machine. A refused connection proves less, because a firewall between
 * two machines may refuse connections to a live node. Virtual machines resumed from the same snapshot share a machine ID, but not their
 * addresses.
 */
export const isDead = (node: NodeId): boolean => {
  const [, machineOf, pid] = /^[^ @]*@([^ :]+):(\d+) /.exec(node) ?? []
  return machineOf !== undefined && machineOf === machine && isOwn(addressOf(node)) && hasEnded(Number(pid))
}
