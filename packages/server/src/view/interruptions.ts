/** Requests that the operator of a server interrupted: the interruption alone does not tell them from requests that clients cancelled. */

const reasons = new WeakMap<object, string>()

/** Notes that the operator interrupts a request. */
export const noteInterruption = (request: object, reason: string): void => void reasons.set(request, reason)

/** Returns the operator's reason, or `undefined` if the operator did not interrupt the request. */
export const interruptionOf = (request: object): string | undefined => reasons.get(request)
