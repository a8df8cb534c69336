/**
 * Lists as streams over all pages (spec: server/utilities/pagination).
 *
 * A cursor is returned unchanged, the empty one included. Fails with `InvalidResult` for a repeated cursor, too many pages and too many
 * bytes. Keeps no page.
 */
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import type { ClientRequests } from "@effect-mcp/protocol/Method"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type ClientError, InvalidResult } from "../ClientError.ts"
import type { CallOptions } from "../CallOptions.ts"
import type { ReconnectingConnection } from "../reconnect/ReconnectingConnection.ts"
import { sizeOf } from "../internal/sizeOf.ts"

export type ListMethod = "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list"

/** Pages that one listing reads at most, unless the client says otherwise. */
export const defaultMaxPages = 1000
/** Bytes that one listing reads at most, over all of its pages, unless the client says otherwise. */
export const defaultMaxBytes = 64 * 1024 * 1024

export interface ListLimits {
  readonly maxPages: number
  readonly maxBytes: number
}

/** Requests page after page as the stream is pulled. */
export const pages = <M extends ListMethod>(
  connection: ReconnectingConnection,
  method: M,
  limits: ListLimits,
  options?: CallOptions
): Stream.Stream<ClientRequests[M]["result"], ClientError> =>
  pagesOf(method, limits, (cursor) => connection.request(method, cursor === undefined ? {} : { cursor }, options))

/** The pages that `read` gives, one after the other. */
export const pagesOf = <P extends { readonly nextCursor?: string }>(
  method: string,
  { maxBytes, maxPages }: ListLimits,
  read: (cursor: string | undefined) => Effect.Effect<P, ClientError>
): Stream.Stream<P, ClientError> =>
  Stream.suspend(() => {
    const seen = new Set<string>()
    let bytes = 0
    const bad = (message: string, result?: unknown) => Effect.fail(new InvalidResult({ method, message, result }))
    return Stream.paginate<string | undefined, P, ClientError>(undefined, (cursor) =>
      Effect.flatMap(read(cursor), (page) => {
        const { nextCursor } = page
        bytes += sizeOf(page)
        if (bytes > maxBytes) {
          return bad(
            `The list has more than ${maxBytes} bytes on ${seen.size + 1} pages. Read less of it, or raise \`maxListBytes\`.`
          )
        }
        if (nextCursor === undefined) return Effect.succeed([[page], Option.none()] as const)
        if (seen.has(nextCursor))
          return bad(`The server gave the same cursor twice: ${excerpt(JSON.stringify(nextCursor))}`, page)
        seen.add(nextCursor)
        return seen.size >= maxPages
          ? bad(`The list has more than ${maxPages} pages. Read less of it, or raise \`maxPages\`.`)
          : Effect.succeed([[page], Option.some<string | undefined>(nextCursor)] as const)
      })
    )
  })
