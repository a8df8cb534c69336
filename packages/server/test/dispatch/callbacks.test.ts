/**
 * User functions that return a promise instead of an Effect, as plain JavaScript allows: each fails only its own request.
 */
import * as Memory from "@effect-mcp/core/Memory"
import * as Peer from "@effect-mcp/core/Peer"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import { Context, Effect, Exit, Layer, Schema, Scope } from "effect"

const returning: ReadonlyArray<readonly [string, () => any]> = [
  ["a rejected promise", () => Promise.reject(new Error("rejected"))],
  ["a promise", () => Promise.resolve({ content: [] })],
  ["a number", () => 7],
  ["undefined", () => undefined]
]

describe.each(returning)("A function returning %s", (_title, call) => {
  const callEffect = (): Effect.Effect<string> => call()
  const tool = Tools.layer(Tool.make("tool", { description: "" }), callEffect)
  const open = (
    features: Layer.Layer<never, never, McpServer.Registries>,
    options: Partial<McpServer.Options<never, never>> = {}
  ) =>
    Effect.gen(function* () {
      const layer = McpServer.layer({ name: "test", version: "1", features, ...options })
      const server = Context.get(yield* Layer.build(Layer.fresh(layer)), McpServer.McpServer)
      const [mine, theirs] = yield* Memory.pair()
      yield* server.connect(theirs)
      return yield* Peer.make(mine, { request: () => Effect.never, notification: () => {} })
    })
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
  const modern = {
    _meta: {
      [Meta.protocolVersion]: "2026-07-28",
      [Meta.clientInfo]: { name: "test", version: "1" },
      [Meta.clientCapabilities]: {}
    }
  }
  const failed = (peer: Peer.Peer, method: string, params: object) =>
    Effect.map(Effect.flip(peer.request(method, { ...params })), (error) =>
      assert.deepInclude(error, { code: -32603, message: "Internal error" }, method)
    )

  it.effect("A handler that returns it fails its request", () =>
    Effect.gen(function* () {
      const peer = yield* open(
        Layer.mergeAll(
          tool,
          Layer.orDie(Resources.layerTemplate({ uriTemplate: "test://{id}", name: "resource" }, callEffect)),
          Prompts.layer(Prompt.make("prompt", { description: "", arguments: { x: Schema.String } }), callEffect, {
            complete: { x: (): Effect.Effect<ReadonlyArray<string>> => call() }
          })
        )
      )
      yield* peer.request("initialize", initialize)
      peer.notify("notifications/initialized")
      yield* failed(peer, "tools/call", { name: "tool" })
      yield* failed(peer, "resources/read", { uri: "test://a" })
      yield* failed(peer, "prompts/get", { name: "prompt", arguments: { x: "" } })
      const ref = { type: "ref/prompt", name: "prompt" }
      yield* failed(peer, "completion/complete", { ref, argument: { name: "x", value: "" } })
      yield* peer.request("tools/list", {})
    })
  )

  for (const version of ["2025-11-25", "2026-07-28"]) {
    it.effect(`A handler that flatMaps to it fails its request and does not block shutdown (${version})`, () =>
      Effect.gen(function* () {
        const late = Effect.flatMap(Effect.scope, (): Effect.Effect<string> => {
          const value = call()
          // Effect drops the promise without observing it.
          if (value instanceof Promise) value.catch(() => {})
          return value
        })
        const scope = yield* Scope.make()
        const features = Tools.layer(Tool.make("tool", { description: "" }), () =>
          Effect.andThen(Effect.yieldNow, late)
        )
        const peer = yield* Scope.provide(open(features), scope)
        if (version === "2025-11-25") {
          yield* peer.request("initialize", initialize)
          peer.notify("notifications/initialized")
        }
        yield* failed(peer, "tools/call", { name: "tool", ...(version === "2026-07-28" && modern) })
        yield* Scope.close(scope, Exit.void)
      })
    )
  }

  it.effect("Middleware that returns it fails its request", () =>
    Effect.gen(function* () {
      const peer = yield* open(Layer.merge(tool, Middleware.layer(call)))
      yield* peer.request("initialize", initialize)
      peer.notify("notifications/initialized")
      yield* failed(peer, "tools/list", {})
      yield* peer.request("ping", {})
    })
  )

  it.effect("A `visible` function that returns it hides the feature", () =>
    Effect.gen(function* () {
      const visible = (): boolean => call()
      const peer = yield* open(
        Layer.mergeAll(
          Tools.layer(Tool.make("tool", { description: "" }), () => Effect.succeed("secret"), { visible }),
          Resources.layer({ uri: "test://a", name: "resource", visible }, Effect.succeed("secret")),
          Prompts.layer(Prompt.make("prompt"), () => Effect.succeed("secret"), { visible })
        )
      )
      yield* peer.request("initialize", initialize)
      peer.notify("notifications/initialized")
      for (const method of ["tools/list", "resources/list", "prompts/list"]) yield* failed(peer, method, {})
      yield* failed(peer, "tools/call", { name: "tool" })
      yield* failed(peer, "resources/read", { uri: "test://a" })
      yield* failed(peer, "prompts/get", { name: "prompt" })
      yield* peer.request("ping", {})
    })
  )

  it.effect("An inbound hook that returns it fails its message", () =>
    Effect.gen(function* () {
      yield* failed(yield* open(Middleware.inbound(call)), "initialize", initialize)
    })
  )

  it.effect("onInitialize that returns it fails the handshake", () =>
    Effect.gen(function* () {
      const peer = yield* open(Layer.empty, { onInitialize: call })
      yield* failed(peer, "initialize", initialize)
      yield* failed(peer, "initialize", initialize)
    })
  )
})
