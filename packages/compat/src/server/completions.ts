/** Answers `completion/complete` with the completers of prompts and templates (spec: server/utilities/completion). */
import { memoize } from "effect/Function"
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { JsonObject } from "../model/types.ts"
import type { CompleteCallback } from "../schema/completable.ts"
import type { Server } from "./Server.ts"

/** Maximum number of suggestions sent. */
const sent = 100

type Find = (ref: JsonObject, argument: string) => CompleteCallback | undefined

const findersOf = memoize<Server, Map<string, Find>>(() => new Map())

const isObject = (u: unknown): u is JsonObject => typeof u === "object" && u !== null

const isTexts = (u: unknown): u is { [name: string]: string } =>
  isObject(u) && Object.values(u).every((value) => typeof value === "string")

/** Declares completions. `find` returns the completer for a reference of the given type. */
export const offerCompletions = (server: Server, type: string, find: Find): void => {
  const finders = findersOf(server).set(type, find)
  if (finders.size > 1) return
  server.registerCapabilities({ completions: {} })
  server.answer("completion/complete", async ({ params: { argument, context, ref } }) => {
    if (!isObject(ref) || !isObject(argument)) {
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        "completion/complete requires the params ref and argument"
      )
    }
    const complete = finders.get(String(ref["type"]))?.(ref, String(argument["name"]))
    if (complete === undefined) return { completion: { values: [], hasMore: false } }
    const others = isObject(context) && isTexts(context["arguments"]) ? { arguments: context["arguments"] } : undefined
    const values = await complete(String(argument["value"]), others)
    return {
      completion: { values: values.slice(0, sent), total: values.length, hasMore: values.length > sent }
    }
  })
}
