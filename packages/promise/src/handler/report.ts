/** Reports errors thrown by a program's callbacks, to its `onError` or to stderr. */
import { notify, print } from "../boundary.ts"
import type { ErrorPlace } from "./Context.ts"

/** Receives errors thrown by a program's callbacks. */
export type OnError = ((error: unknown, place: ErrorPlace) => void) | undefined

/** Calls `onError`. If `onError` throws, logs its error to stderr. */
export const report = (onError: OnError, error: unknown, place: ErrorPlace): void => {
  if (onError === undefined) return
  notify(
    () => onError(error, place),
    (thrown) => print("The server's onError callback threw an error", thrown)
  )
}

/** Like `report`, for an error that no response carries: logs it to stderr if there is no `onError`. */
export const reportUnanswered = (onError: OnError, error: unknown, place: ErrorPlace): void =>
  onError === undefined
    ? print(`Error in the ${place.kind} ${JSON.stringify(place.name)} of an MCP server`, error)
    : report(onError, error, place)
