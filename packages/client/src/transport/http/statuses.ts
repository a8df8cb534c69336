/** What the status of a response says of its request, without its body. */

/** Statuses of authorization: their bodies are no answers to the request. */
export const unauthorized: ReadonlySet<number> = new Set([401, 403])

const busy: ReadonlySet<number> = new Set([408, 425, 429])

/** Whether a server says by the status that it is too busy for the request. */
export const isBusy = (status: number): boolean => busy.has(status)

/** Whether the status says that the server does not understand the request; those of authorization and of busy servers do not. */
export const isForeign = (status: number): boolean =>
  status >= 400 && status < 500 && !unauthorized.has(status) && !isBusy(status)
