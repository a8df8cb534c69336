/** Reports what the callbacks of a program throw: to its `onError`, or to stderr. */
import { notify, print } from "../boundary.ts"
import type { ErrorPlace } from "./Context.ts"

/** Where the errors of a program's callbacks go. */
export type OnError = ((error: unknown, place: ErrorPlace) => void) | undefined

/** Calls `onError`. What it throws itself is a line on stderr. */
export const report = (onError: OnError, error: unknown, place: ErrorPlace): void => {
  if (onError === undefined) return
  notify(
    () => onError(error, place),
    (thrown) => print("onError of an MCP server failed", thrown)
  )
}

/** `report` for an error that no answer carries: without `onError` it is a line on stderr. */
export const reportUnanswered = (onError: OnError, error: unknown, place: ErrorPlace): void =>
  onError === undefined
    ? print(`An MCP server failed in the ${place.kind} ${JSON.stringify(place.name)}`, error)
    : report(onError, error, place)
