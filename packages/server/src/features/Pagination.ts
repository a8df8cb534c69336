/**
 * Pages of a list (spec: server/utilities/pagination). A cursor is opaque to clients: it names the last item they saw, so a page
 * continues at the right place although the list changed in between.
 */
import { withoutStack } from "@effect-mcp/protocol/internal/stack"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Schema from "effect/Schema"

/** Items per page by default. */
export const defaultPageSize = 100

const Cursor = Schema.Struct({ after: Schema.String, index: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)) })
const decodeCursor = Schema.decodeUnknownEffect(Schema.fromJsonString(Cursor))

const encode = (after: string, index: number): string => Base64Url.encode(JSON.stringify({ after, index }))

const decode = (cursor: string): Effect.Effect<typeof Cursor.Type, McpError.McpError> =>
  Effect.mapErrorEager(
    Effect.flatMapEager(Effect.fromResult(withoutStack(() => Base64Url.decodeString(cursor))), decodeCursor),
    () => McpError.invalidParams("Invalid cursor")
  )

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly nextCursor: string | undefined
}

/** The page that `cursor` asks for; the first without one. Fails with -32602 on a cursor this server did not make. */
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
    // If the last item is removed meanwhile, the next page begins at `index`: the item after it has moved there.
    nextCursor: last === undefined || end >= items.length ? undefined : encode(key(last), end - 1)
  }
}
