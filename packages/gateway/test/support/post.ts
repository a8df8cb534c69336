/** Separate requests of 2026-07-28, as over HTTP: each has its own way back. */
import type { Envelope } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { dispatch, McpServer } from "@effect-mcp/server/McpServer"
import { Effect } from "effect"

export const everything = { elicitation: { form: {} }, sampling: {}, roots: {} }

let id = 0

/** The answer, and the messages that preceded it. */
export interface Reply {
  readonly result: any
  readonly error: any
  readonly before: ReadonlyArray<any>
}

export const post = (
  method: string,
  params: { readonly [key: string]: unknown },
  options: { readonly capabilities?: object; readonly meta?: object; readonly envelope?: Envelope } = {}
): Effect.Effect<Reply, never, McpServer> =>
  Effect.flatMap(McpServer, (server) => {
    const handle = dispatch(server)
    const messages: Array<any> = []
    const _meta = {
      [Meta.protocolVersion]: "2026-07-28",
      [Meta.clientInfo]: { name: "post", version: "0" },
      [Meta.clientCapabilities]: options.capabilities ?? everything,
      ...options.meta
    }
    const request = JsonRpc.request(++id, method, { ...params, _meta })
    const sink = {
      send: (message: unknown) => void messages.push(JSON.parse(JSON.stringify(message))),
      writable: () => true,
      ready: Effect.void
    }
    return Effect.map(handle(request, options.envelope ?? {}, sink), () => {
      const { error, result } = messages.at(-1)
      return { error, result, before: messages.slice(0, -1) }
    })
  })

/** A tool call and the user's answers, round by round. */
export const play = (
  name: string,
  args: object,
  answer: (message: string) => string
): Effect.Effect<Reply, never, McpServer> => {
  const next = (more: object): Effect.Effect<Reply, never, McpServer> =>
    Effect.flatMap(post("tools/call", { name, arguments: args, ...more }), (reply) => {
      if (reply.result?.resultType !== "input_required") return Effect.succeed(reply)
      const inputResponses = Object.fromEntries(
        Object.entries<any>(reply.result.inputRequests).map(([key, { params }]) => [
          key,
          { action: "accept", content: { name: answer(params.message) } }
        ])
      )
      return next({ requestState: reply.result.requestState, inputResponses })
    })
  return next({})
}
