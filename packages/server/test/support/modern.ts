/** A minimal client of the stateless era: every request states its revision, and nothing is answered automatically. */
import type { JsonRpc } from "@effect-mcp/protocol"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import type * as Peer from "@effect-mcp/core/Peer"
import type * as McpServer from "@effect-mcp/server/McpServer"
import { Effect, Fiber, type Layer, type Scope } from "effect"
import * as raw from "./raw.ts"

export const version = "2026-07-28"
export const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} }
const info = { name: "modern", version: "0" }

/** The `_meta` of a request; `undefined` removes an entry. */
export const metaOf = (capabilities: object = everything, extra: object = {}): { [key: string]: unknown } =>
  Object.fromEntries(
    Object.entries({
      [Meta.protocolVersion]: version,
      [Meta.clientInfo]: info,
      [Meta.clientCapabilities]: capabilities,
      ...extra
    }).filter(([, value]) => value !== undefined)
  )

export interface Options extends raw.ConnectOptions {
  readonly capabilities?: object
}

/** Answers one question; `undefined` leaves it unanswered. */
export type Answer = (question: { readonly method: string; readonly params: any }, key: string) => unknown

export interface Played {
  readonly result: any
  /** The questions of each round. */
  readonly asked: ReadonlyArray<ReadonlyArray<{ readonly method: string; readonly params: any }>>
}

export interface Listening {
  readonly id: JsonRpc.Id
  readonly fiber: Fiber.Fiber<any, Peer.RequestError>
  /** Every message with the id of the subscription, oldest first. */
  readonly messages: () => ReadonlyArray<any>
  readonly cancel: Effect.Effect<void>
}

export interface Modern extends raw.Client {
  /** Answers `input_required` rounds until the request is done. */
  readonly play: (method: string, params: object, answer: Answer) => Effect.Effect<Played, Peer.RequestError>
  readonly playTool: (name: string, answer: Answer, args?: object) => Effect.Effect<Played, Peer.RequestError>
  readonly listen: (notifications: object) => Effect.Effect<Listening, never, Scope.Scope>
}

/** A client of the era on top of any connection. */
export const modern = (client: raw.Client, capabilities: object = everything): Modern => {
  const request = (method: string, params: object = {}) => {
    const { _meta }: { readonly _meta?: object } = params
    return client.request(method, { ...params, _meta: metaOf(capabilities, _meta) })
  }
  const play: Modern["play"] = Effect.fnUntraced(function* (method, params, answer) {
    const asked: Array<Played["asked"][number]> = []
    let retry: object = {}
    for (;;) {
      const result = yield* request(method, { ...params, ...retry })
      if (result.resultType !== "input_required") return { result, asked }
      asked.push(Object.values(result.inputRequests))
      const inputResponses: { [key: string]: unknown } = {}
      for (const [key, question] of Object.entries<any>(result.inputRequests)) {
        const answered = answer(question, key)
        if (answered !== undefined) inputResponses[key] = answered
      }
      retry = { inputResponses, requestState: result.requestState }
    }
  })
  return {
    ...client,
    request,
    refused: (method, params) =>
      Effect.matchEffect(request(method, params), {
        onFailure: (error) => (error instanceof McpError.McpError ? Effect.succeed(error) : Effect.die(error)),
        onSuccess: (result) => Effect.die(new Error(`${method} was answered: ${JSON.stringify(result)}`))
      }),
    call: (name, args, meta) => request("tools/call", { name, arguments: args ?? {}, ...(meta && { _meta: meta }) }),
    play,
    playTool: (name, answer, args = {}) => play("tools/call", { name, arguments: args }, answer),
    listen: Effect.fnUntraced(function* (notifications) {
      let id: JsonRpc.Id = -1
      const fiber = yield* Effect.forkScoped(
        client.peer.request(
          "subscriptions/listen",
          { notifications, _meta: metaOf(capabilities) },
          { onSend: (sent) => void (id = sent) }
        ),
        { startImmediately: true }
      )
      yield* raw.quiesce
      return {
        id,
        fiber,
        messages: () =>
          client.received.filter((message) => (message.params ?? message.result)?._meta?.[Meta.subscriptionId] === id),
        cancel: Effect.andThen(Fiber.interrupt(fiber), raw.quiesce)
      }
    })
  }
}

/** A server with these features and a client of the era. */
export const open = <E>(
  features: Layer.Layer<never, E, McpServer.Registries>,
  options: Options = {},
  serverOptions: Partial<McpServer.Options<never, never>> = {}
): Effect.Effect<Modern, E | Peer.RequestError, Scope.Scope> =>
  Effect.flatMap(raw.serve({ ...serverOptions, features }), (server) => join(server, options))

/** Another client of a server. */
export const join = (
  server: McpServer.McpServer["Service"],
  options: Options = {}
): Effect.Effect<Modern, Peer.RequestError, Scope.Scope> =>
  Effect.map(raw.connect(server, { ...options, handshake: false }), (client) => modern(client, options.capabilities))

export const accept = (content: object = {}) => ({ action: "accept", content })
/** Fills the form's `name` with the question's message. */
export const echo: Answer = ({ params }) => accept({ name: params.message })
