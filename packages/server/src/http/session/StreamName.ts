/**
 * Names for a session's streams, and ids for its questions. Each node that holds the session adds its epoch to them, so
 * that an answer never reaches another node's question.
 */

/** The header with the id of the last event that a client received. */
export const lastEventIdHeader = "last-event-id"

/** Name of the standalone GET stream. POSTs' streams are numbered from 1. */
export const getStream = "0"

/**
 * Returns a stream's name in an epoch. The first epoch adds nothing, so that a server with one node has short names.
 */
export const nameIn = (epoch: number, name: string): string => (epoch === 1 ? name : `${name}.${epoch.toString(36)}`)

/** Returns the epoch in which a stream was named. */
export const epochOf = (name: string): number => Number.parseInt(name.split(".")[1] ?? "1", 36)

/** True if this is the name of a standalone GET stream in any epoch. */
export const isGetStream = (name: string): boolean => name.split(".")[0] === getStream

/** An event of a stream. */
export interface EventCursor {
  readonly stream: string
  readonly seq: number
}

/** Parses a `Last-Event-ID`. Returns `undefined` if it is not the id of an event. */
export const cursorOf = (eventId: string): EventCursor | undefined => {
  const [, stream, seq] = /^([0-9a-z]+(?:\.[0-9a-z]{1,8})?)-(\d{1,15})$/.exec(eventId) ?? []
  return stream === undefined ? undefined : { stream, seq: Number(seq) }
}

/** Number of question ids reserved for each node that holds the session. */
const perEpoch = 2 ** 32

/** Returns the id of the first question asked by the node that holds the session. */
export const firstIdIn = (epoch: number): number => (epoch - 1) * perEpoch + 1
