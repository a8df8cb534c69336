/**
 * Pages of a list (spec: server/utilities/pagination). A cursor is opaque to clients. It names the last item they saw, so the next page
 * continues at the right place even if the list has changed in between.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"

/** Default number of items per page. */
export const defaultPageSize = 100

const encode = (after: string, index: number): string => `${index}:${after}`

const decode = (
  cursor: string
): Effect.Effect<{ readonly after: string; readonly index: number }, McpError.McpError> => {
  const [, index, after] = /^(\d{1,9}):(.*)$/s.exec(cursor) ?? []
  return index === undefined || after === undefined
    ? Effect.fail(McpError.invalidParams("Invalid cursor"))
    : Effect.succeed({ after, index: Number(index) })
}

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** Returns the page for `cursor`, or the first page without one. Fails with -32602 if this server did not create the cursor. */
export const page = <A>(
  items: ReadonlyArray<A>,
  key: (item: A) => string,
  cursor: string | undefined,
  size: number
): Effect.Effect<Page<A>, McpError.McpError> =>
  cursor === undefined
    ? Effect.succeed(slice(items, key, 0, size))
    : Effect.map(decode(cursor), ({ after, index }) => {
        const seen = items.findIndex((item) => key(item) === after)
        return slice(items, key, seen === -1 ? index : seen + 1, size)
      })

const slice = <A>(items: ReadonlyArray<A>, key: (item: A) => string, start: number, size: number): Page<A> => {
  const end = start + Math.max(1, size)
  const last = items[end - 1]
  return {
    items: items.slice(start, end),
    // If the last item is removed meanwhile, the next page begins at `index`, because the following item has moved there.
    nextCursor: last === undefined || end >= items.length ? undefined : encode(key(last), end - 1)
  }
}
