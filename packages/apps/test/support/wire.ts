/** A view without a browser: the test writes and reads its messages. */
import * as AppHost from "@effect-mcp/apps/AppHost"
import type { ViewOpening } from "@effect-mcp/apps/AppHost"
import { Consent } from "@effect-mcp/client"
import { McpTest, quiesce } from "@effect-mcp/testing"
import type { Layer } from "effect"
import { type Cause, Effect, Queue, Stream } from "effect"
import type { McpServer } from "@effect-mcp/server"

export type Message = { readonly [field: string]: any }

/** A host of a server with these features, in the newest revision. Everything is allowed unless `Consent` is provided. */
export const hostOf = Effect.fnUntraced(function* (
  features: Layer.Layer<never, never, McpServer.Registries>,
  options: AppHost.Options = {}
) {
  const client = yield* Effect.provide(McpTest.connect(features, "2026-07-28"), AppHost.declaration)
  return {
    client,
    host: yield* Effect.provideService(AppHost.make(client, options), Consent.Consent, yield* Consent.Consent)
  }
})

/** Opens a view whose messages the test writes. With `closes`, the wire ends before the session. */
export const openWire = Effect.fnUntraced(function* (
  host: AppHost.ViewHost,
  { closes = true, ...opening }: Omit<ViewOpening, "wire" | "uri"> & { readonly closes?: boolean } = {}
) {
  const incoming = yield* Queue.unbounded<string, Cause.Done>()
  const received: Array<Message> = []
  let lastId = 0
  const session = yield* host.open({
    uri: "ui://dice",
    ...opening,
    wire: {
      incoming: Stream.fromQueue(incoming),
      send: (text) => Effect.sync(() => void received.push(JSON.parse(text)))
    }
  })
  const write = (text: string) => Effect.andThen(Queue.offer(incoming, text), quiesce)
  const send = (message: Message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }))
  /** Sends a request and returns its answer. */
  const ask = Effect.fnUntraced(function* (method: string, params: Message = {}) {
    const id = ++lastId
    yield* send({ id, method, params })
    return received.find((message) => message["id"] === id) ?? {}
  })
  const initialize = (appCapabilities: Message = {}) =>
    ask("ui/initialize", {
      protocolVersion: "2026-01-26",
      appInfo: { name: "view", version: "1.0.0" },
      appCapabilities
    })
  const start = (appCapabilities?: Message) =>
    Effect.andThen(initialize(appCapabilities), send({ method: "ui/notifications/initialized" }))
  const close = Effect.andThen(Queue.end(incoming), quiesce)
  // Otherwise, the end of the test would wait for the view to answer.
  if (closes) yield* Effect.addFinalizer(() => close)
  return { session, received, write, send, ask, initialize, start, close }
})
