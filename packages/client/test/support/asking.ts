/** A server that asks its client in the way of its era: by separate requests, or in the result of a call. */
import type { Version } from "@effect-mcp/protocol/Revision"
import { Effect } from "effect"
import { connected } from "./connected.ts"
import * as Modern from "./modern.ts"
import type * as Scripted from "./scripted.ts"

/** The tool `ask` asks the questions in its arguments. */
const asking: Scripted.Answer = ({ arguments: question, inputResponses }) =>
  inputResponses === undefined
    ? { resultType: "input_required", inputRequests: { q: question } }
    : { content: [], structuredContent: inputResponses }

export const asker = Effect.fnUntraced(function* (version: Version) {
  const { client, server } = yield* connected({ version, answers: { "tools/call": asking } })
  const ask = (method: string, params?: object): Effect.Effect<unknown, { readonly _tag: string }> =>
    version === Modern.version
      ? Effect.map(
          client.callToolByName("ask", { method, ...(params === undefined ? undefined : { params }) }),
          ({ structuredContent }) => (structuredContent as { readonly q: unknown }).q
        )
      : server.peer.request(method, params as never)
  return { client, server, ask }
})

/**
 * The failure of a question that must not be asked. A server with a session gets an error; others are not entitled to an answer.
 */
export const refused = (version: Version, code: number) => (version === Modern.version ? "InvalidResult" : code)
