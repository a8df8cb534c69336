/**
 * Suggestions for arguments of prompts and resource templates (spec: server/utilities/completion).
 *
 * A completer belongs to the prompt or template it completes, and is registered with it. The wire carries at most 100 values.
 */
import type * as McpError from "@effect-mcp/protocol/McpError"
import type { CompleteParams, CompleteResult } from "@effect-mcp/protocol/model/Completion"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { isolate } from "./Isolate.ts"
import type { QueryServices } from "./RequestContext.ts"

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
  const { values, total, hasMore } = isList(suggestions)
    ? { values: suggestions, total: suggestions.length, hasMore: undefined }
    : suggestions
  const count = total ?? values.length
  return {
    completion: {
      values: values.slice(0, maxValues),
      total: count,
      hasMore: hasMore ?? count > Math.min(values.length, maxValues)
    }
  }
}
const isList = (suggestions: Suggestions): suggestions is ReadonlyArray<string> => Array.isArray(suggestions)

/** The given choices that start with what is typed, without regard to case. */
export const choices =
  (values: ReadonlyArray<string>): Completer =>
  (value) =>
    Effect.sync(() => values.filter((choice) => choice.toLowerCase().startsWith(value.toLowerCase())))

/** Completers by argument, on the services that their layer captured. */
export const inQuery = <R>(
  completers: { readonly [argument: string]: Completer<R> | undefined },
  services: Context.Context<Exclude<R, QueryServices>>
): { readonly [argument: string]: Completer<QueryServices> } => {
  const inContext = isolate<R, QueryServices>(services)
  return Object.fromEntries(
    Object.entries(completers).flatMap(([argument, completer]) =>
      completer === undefined
        ? []
        : [
            [argument, (value, others) => inContext(completer(value, others))] satisfies [
              string,
              Completer<QueryServices>
            ]
          ]
    )
  )
}
