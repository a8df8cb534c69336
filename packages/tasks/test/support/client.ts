/** A client of 2026-07-28 that only sends and records. Every request carries its declarations. */
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import type { Principal } from "@effect-mcp/core/Principal"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as McpServer from "@effect-mcp/server/McpServer"
import { Context, Effect, Layer } from "effect"

export const id = "io.modelcontextprotocol/tasks"
const asks = { elicitation: { form: {} }, roots: {} }
/** The declarations of a client with tasks, and of one without. */
export const declared = { ...asks, extensions: { [id]: {} } }
export const undeclared = asks

export const serve = (
  features: Layer.Layer<never, never, McpServer.Registries>,
  options: Partial<McpServer.Options<never, never>> = {}
) =>
  Effect.map(
    Layer.build(Layer.fresh(McpServer.layer({ name: "test", version: "1.0.0", ...options, features }))),
    (context) => Context.get(context, McpServer.McpServer)
  )

/** A task as any reader sees it. */
export interface Seen {
  readonly [key: string]: any
}

export const connect = Effect.fnUntraced(function* (
  server: McpServer.McpServer["Service"],
  {
    capabilities = declared,
    principal
  }: { readonly capabilities?: object; readonly principal?: Principal["Service"] | undefined } = {}
) {
  const [near, far] = yield* Memory.pair()
  yield* server.connect(far, { principal })
  const notifications: Array<{ readonly method: string; readonly params?: any }> = []
  const peer = yield* Peer.make(near, {
    request: () => Effect.never,
    notification: ({ method, params }) => void notifications.push({ method, params })
  })
  const request = (
    method: string,
    params: object = {},
    declares: object = capabilities
  ): Effect.Effect<Seen, Peer.RequestError> => {
    const _meta = {
      [Meta.protocolVersion]: "2026-07-28",
      [Meta.clientInfo]: { name: "test", version: "0" },
      [Meta.clientCapabilities]: declares
    }
    return Effect.map(peer.request(method, { ...params, _meta }), (result: any) => {
      const { _meta: _none, ...rest } = result
      return rest
    })
  }
  return {
    peer,
    notifications,
    request,
    /** The error that a request is answered with. */
    refused: (method: string, params?: object, declares?: object) =>
      Effect.flatMap(Effect.flip(request(method, params, declares)), (error) =>
        error instanceof McpError.McpError ? Effect.succeed(error) : Effect.die(error)
      ),
    call: (name: string, args: object = {}, declares?: object) =>
      request("tools/call", { name, arguments: args }, declares),
    get: (taskId: unknown) => request("tasks/get", { taskId }),
    update: (taskId: unknown, inputResponses: object) => request("tasks/update", { taskId, inputResponses })
  }
})

/** A server with the features, and its client. */
export const session = (
  features: Layer.Layer<never, never, McpServer.Registries>,
  options?: Parameters<typeof connect>[1]
) => Effect.flatMap(serve(features), (server) => connect(server, options))
