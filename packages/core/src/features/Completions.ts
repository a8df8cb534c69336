/**
 * Suggestions for arguments of prompts and resource templates (spec: server/utilities/completion).
 *
 * A completer belongs to the prompt or template it completes, and is registered with it. The wire carries at most 100 values.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HandlerContext } from "./HandlerContext.ts"
import type { QueryServices } from "../request/RequestContext.ts"

/** Values in order of relevance; with `total` when there are more than given. */
export type Suggestions =
  | ReadonlyArray<string>
  | { readonly values: ReadonlyArray<string>; readonly total?: number; readonly hasMore?: boolean }

/** Suggests values for one argument. `value` is what is typed so far; `others` what the other arguments are already set to. */
export type Completer<R = never> = (
  value: string,
  others: { readonly [argument: string]: string }
) => Effect.Effect<Suggestions, McpError.McpError, R>

/** What answers `completion/complete`: a server's registries, or a client's view of a server. */
export class Completions extends Context.Service<
  Completions,
  {
    readonly complete: (params: CompleteParams) => Effect.Effect<CompleteResult, McpError.McpError, QueryServices>
  }
>()("@effect-mcp/core/Completions") {}

/** The most values that one answer carries. */
export const maxValues = 100

/** Cuts suggestions to what the wire carries, and says how many there were. */
export const resultOf = (suggestions: Suggestions): CompleteResult => {
  const given = isList(suggestions) ? { values: suggestions } : suggestions
  const values = given.values.slice(0, maxValues)
  // When there are more than were given, only the completer can know how many.
  const total = given.total ?? (given.hasMore === true ? undefined : given.values.length)
  const hasMore = given.hasMore === true || (total ?? 0) > values.length
  return { completion: total === undefined ? { values, hasMore } : { values, total, hasMore } }
}
const isList = (suggestions: Suggestions): suggestions is ReadonlyArray<string> => Array.isArray(suggestions)

/** The given choices that start with what is typed, without regard to case. */
export const choices =
  (values: ReadonlyArray<string>): Completer =>
  (value) =>
    Effect.sync(() => values.filter((choice) => choice.toLowerCase().startsWith(value.toLowerCase())))

/** The completer of an argument; names that every object has are no arguments. */
export const ownCompleter = <R>(
  completers: { readonly [argument: string]: Completer<R> },
  argument: string
): Completer<R> | undefined => (Object.hasOwn(completers, argument) ? completers[argument] : undefined)

/** Completers by argument, on the services that their layer captured. */
export const inQuery = <R>(
  completers: { readonly [argument: string]: Completer<R> | undefined },
  services: Context.Context<Exclude<R, QueryServices>>
): { readonly [argument: string]: Completer<QueryServices> } => {
  const context = new HandlerContext<R, QueryServices>(services)
  return Object.fromEntries(
    Object.entries(completers).flatMap(([argument, completer]) =>
      completer === undefined
        ? []
        : [
            [argument, (value, others) => context.provide(completer(value, others))] satisfies [
              string,
              Completer<QueryServices>
            ]
          ]
    )
  )
}
