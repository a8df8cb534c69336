/** Answers `completion/complete`, by what prompts and templates complete (spec: server/utilities/completion). */
import { ProtocolError, ProtocolErrorCode } from "../model/errors.ts"
import type { JsonObject } from "../model/types.ts"
import type { CompleteCallback } from "../schema/completable.ts"
import type { Server } from "./Server.ts"

/** Suggestions that are sent. */
const sent = 100

type Find = (ref: JsonObject, argument: string) => CompleteCallback | undefined

const finders = new WeakMap<Server, Map<string, Find>>()

const isObject = (u: unknown): u is JsonObject => typeof u === "object" && u !== null

const isTexts = (u: unknown): u is { [name: string]: string } =>
  isObject(u) && Object.values(u).every((value) => typeof value === "string")

/** Declares completions, and asks `find` for the completer of a reference of a type. */
export const offerCompletions = (server: Server, type: string, find: Find): void => {
  const known = finders.get(server)
  if (known !== undefined) return void known.set(type, find)
  const own = new Map([[type, find]])
  finders.set(server, own)
  server.registerCapabilities({ completions: {} })
  server.answer("completion/complete", async ({ params: { argument, context, ref } }) => {
    if (!isObject(ref) || !isObject(argument)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "A completion needs a ref and an argument")
    }
    const complete = own.get(String(ref["type"]))?.(ref, String(argument["name"]))
    if (complete === undefined) return { completion: { values: [], hasMore: false } }
    const others = isObject(context) && isTexts(context["arguments"]) ? { arguments: context["arguments"] } : undefined
    const values = await complete(String(argument["value"]), others)
    return {
      completion: { values: values.slice(0, sent), total: values.length, hasMore: values.length > sent }
    }
  })
}
