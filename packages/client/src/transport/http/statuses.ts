/** The meaning of a response's status for its request. */

/** Authorization statuses. Their bodies do not answer the requests. */
export const unauthorized: ReadonlySet<number> = new Set([401, 403])

const busy: ReadonlySet<number> = new Set([408, 425, 429])

/** True if the status means that the server is too busy for the request. */
export const isBusy = (status: number): boolean => busy.has(status)

/**
 * True if the status means that the server does not understand the request. False for authorization statuses and for busy servers.
 */
export const isForeign = (status: number): boolean =>
  status >= 400 && status < 500 && !unauthorized.has(status) && !isBusy(status)
