/**
 * Lists as streams over all pages (spec: server/utilities/pagination).
 *
 * Sends each cursor back unchanged, even an empty one. Fails with `InvalidResult` for a repeated cursor, too many pages or too many bytes.
 * Does not store pages.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import type { ListMethod } from "@effect-mcp/protocol/MethodInfo"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type ClientError, Closed, InvalidResult } from "../ClientError.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { Connection } from "../connection/Connection.ts"
import { isOver, type OtherSession, type ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import { sizeOf } from "../internal/sizeOf.ts"
import { paged } from "../internal/streams.ts"

/** Default maximum number of pages in one listing. */
const defaultMaxPages = 1000
/** Default maximum size of one listing in bytes, across all pages. */
export const defaultMaxBytes = 64 * 1024 * 1024

export interface ListLimits {
  readonly maxPages: number | undefined
  readonly maxBytes: number | undefined
}

/**
 * Requests page after page as the stream is pulled. Cursors belong to a session: in a new session the list is read from its start up to the
 * same page.
 */
export const pages = <M extends ListMethod>(
  connection: ReconnectingConnection,
  method: M,
  limits: ListLimits,
  options?: CallOptions
): Stream.Stream<ClientRequests[M]["result"], ClientError> =>
  Stream.suspend(() => {
    type Page = ClientRequests[M]["result"]
    const isStateful = connection.revision.era === "stateful"
    let session: Connection | undefined
    let given = 0
    const first = Effect.map(connection.request(method, {}, options), (page) => {
      session = connection.reconnect.latest()
      return page
    })
    const next = (cursor: string): Effect.Effect<Page | OtherSession, ClientError> =>
      isStateful && session !== undefined
        ? connection.requestOn(session, method, { cursor }, options)
        : connection.request(method, { cursor }, options)
    const anew = Effect.gen(function* () {
      let page: Page = yield* first
      for (let passed = 0; passed < given; passed++) {
        if (page.nextCursor === undefined) return undefined
        const following = yield* next(page.nextCursor)
        // Gives up if the new session also ends.
        if (isOver(following)) return yield* new Closed({ message: "The session ended twice while reading a list" })
        page = following
      }
      return page
    })
    const read = (cursor: string | undefined): Effect.Effect<Page | undefined, ClientError> =>
      cursor === undefined
        ? first
        : Effect.flatMap(next(cursor), (page) => (isOver(page) ? anew : Effect.succeed(page)))
    return pagesOf(method, limits, (cursor) => Effect.tap(read(cursor), () => Effect.sync(() => void given++)))
  })

/** Streams the pages that `read` returns until it returns `undefined`. */
export const pagesOf = <P extends { readonly nextCursor?: string }>(
  method: string,
  { maxBytes = defaultMaxBytes, maxPages = defaultMaxPages }: ListLimits,
  read: (cursor: string | undefined) => Effect.Effect<P | undefined, ClientError>
): Stream.Stream<P, ClientError> =>
  Stream.suspend(() => {
    const seen = new Set<string>()
    let bytes = 0
    const bad = (message: string, result?: unknown) => Effect.fail(new InvalidResult({ method, message, result }))
    let cursor: string | undefined
    let isOver = false
    return paged(
      Effect.suspend(() =>
        isOver
          ? Effect.undefined
          : Effect.flatMap(read(cursor), (page): Effect.Effect<ReadonlyArray<P> | undefined, ClientError> => {
              const { nextCursor } = page ?? {}
              isOver = nextCursor === undefined
              if (page === undefined) return Effect.undefined
              bytes += sizeOf(page)
              if (bytes > maxBytes) {
                return bad(
                  `The list is larger than ${maxBytes} bytes after ${seen.size + 1} pages. Read fewer items, or raise \`maxListBytes\`.`
                )
              }
              if (nextCursor === undefined) return Effect.succeed([page])
              if (seen.has(nextCursor))
                return bad(`The server returned the same cursor twice: ${excerpt(JSON.stringify(nextCursor))}`, page)
              seen.add((cursor = nextCursor))
              return seen.size >= maxPages
                ? bad(`The list has more than ${maxPages} pages. Read fewer items, or raise \`maxPages\`.`)
                : Effect.succeed([page])
            })
      )
    )
  })
