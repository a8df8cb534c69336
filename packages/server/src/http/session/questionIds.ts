/** Ids of the questions of a session, which differ between the nodes that ask: an answer never reaches the question of another node. */

/** Questions that a session asks on one node that holds it. */
const perEpoch = 2 ** 32

/** Returns the id of the first question of the node that holds the session. */
export const firstIdIn = (epoch: number): number => (epoch - 1) * perEpoch + 1
