/**
 * Names of the streams of a session, and ids of its questions. They differ between the nodes that hold the session one after the other: a
 * node adds its epoch, so that an answer never reaches the question of another node.
 */

/** The header that names the last event of a stream that a client has. */
export const lastEventIdHeader = "last-event-id"

/** The name of the standalone GET stream; streams of POSTs count from 1. */
export const getStream = "0"

/** Names in the first epoch have none, so that a server of one node has short ones. */
export const nameIn = (epoch: number, name: string): string => (epoch === 1 ? name : `${name}.${epoch.toString(36)}`)

/** The epoch in which a stream was named. */
export const epochOf = (name: string): number => Number.parseInt(name.split(".")[1] ?? "1", 36)

/** Whether that is the name of a standalone GET stream, of any epoch. */
export const isGetStream = (name: string): boolean => name.split(".")[0] === getStream

/** An event of a stream. */
export interface EventCursor {
  readonly stream: string
  readonly seq: number
}

/** The event that a `Last-Event-ID` names; undefined where it is no id of an event. */
export const cursorOf = (eventId: string): EventCursor | undefined => {
  const [, stream, seq] = /^([0-9a-z]+(?:\.[0-9a-z]{1,8})?)-(\d{1,15})$/.exec(eventId) ?? []
  return stream === undefined ? undefined : { stream, seq: Number(seq) }
}

/** Questions that a session asks on one node that holds it. */
const perEpoch = 2 ** 32

/** Returns the id of the first question of the node that holds the session. */
export const firstIdIn = (epoch: number): number => (epoch - 1) * perEpoch + 1
