/**
 * Ids of the questions of a session, which differ between the nodes that ask: an answer never reaches the question of another node.
 *
 * A node that does not hold the session asks as a guest. A guest draws its number at random, since no node outlives all of them.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"

/** Questions that a session asks on one node that holds it. */
const perEpoch = 2 ** 32
/** Ids of questions of guests begin here: those of the first 2^20 nodes that held the session are smaller. */
const firstOfAll = 2 ** 52
/** Questions of one guest. */
const perGuest = 2 ** 24

/** The id of the first question of the node that holds the session. */
export const firstIdIn = (epoch: number): number => (epoch - 1) * perEpoch + 1

/** A number for a new guest, of 28 bits, which no guest in `taken` has. */
export const drawGuest = (taken: { has(guest: number): boolean }): number => {
  const number = (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) >>> 4
  return taken.has(number) ? drawGuest(taken) : number
}

/** The id of the first question of a guest. */
export const firstIdOf = (guest: number): number => firstOfAll + guest * perGuest

/** The guest that asked the question of that id; undefined where it was asked by the node that holds the session. */
export const askedBy = (id: unknown): number | undefined =>
  typeof id === "number" && id >= firstOfAll ? Math.floor((id - firstOfAll) / perGuest) : undefined

/** The guest that a message of a client is for: an answer to one of its questions, or progress on one. */
export const addressee = (message: JsonRpc.Message): number | undefined => {
  if (!("method" in message)) return askedBy(message.id)
  return message.method === "notifications/progress" ? askedBy(message.params?.["progressToken"]) : undefined
}
