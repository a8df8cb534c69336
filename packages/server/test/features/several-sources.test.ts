/** Which of several mounted sources answers for a name: the first whose list for the caller contains it. */
import { Principal } from "@effect-mcp/core/Principal"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as UriTemplate from "@effect-mcp/protocol/UriTemplate"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer, PubSub, Stream } from "effect"
import { TestClock } from "effect/testing"
import { connect, everyVersion, serve, quiesce } from "../support/raw.ts"

/** A source that can be called by any name, like a client's, and counts how often its list is read. */
const toolSource = (title: string, names: () => ReadonlyArray<string>) => {
  const changed = Effect.runSync(PubSub.unbounded<void>())
  const state = { lists: 0, failing: false }
  const source: Tools.ToolSource = {
    list: Effect.suspend(() => {
      state.lists++
      return state.failing
        ? Effect.fail(McpError.internalError("The server is gone"))
        : Effect.succeed(names().map((name) => ({ name, inputSchema: { type: "object" as const } })))
    }),
    call: ({ name }) =>
      names().includes(name)
        ? Effect.succeed({ content: [{ type: "text" as const, text: `${title} ${name}` }] })
        : Effect.fail(McpError.invalidParams(`${title} has no tool ${name}`)),
    changes: Stream.fromPubSub(changed)
  }
  return { state, source, announce: PubSub.publish(changed, undefined) }
}

const mountTools = (...sources: ReadonlyArray<Tools.ToolSource>) =>
  Layer.effectDiscard(
    Effect.flatMap(Tools.ToolRegistry, (registry) => Effect.forEach(sources, (source) => registry.mount(source)))
  )

describe.each(everyVersion())("Sources mounted without a prefix, %s", (version) => {
  const texts = (client: { call: (name: string) => Effect.Effect<any, any> }, ...names: ReadonlyArray<string>) =>
    Effect.forEach(names, (name) => Effect.map(client.call(name), (result) => result.content[0].text))

  it.effect("A call is routed to the first mounted source that lists its tool", () =>
    Effect.gen(function* () {
      const first = toolSource("first", () => ["a", "both"])
      const second = toolSource("second", () => ["b", "both"])
      const server = yield* serve({ features: mountTools(first.source, second.source) })
      const client = yield* connect(server, { version })
      assert.deepStrictEqual(yield* texts(client, "a", "b", "both"), ["first a", "second b", "first both"])
      assert.strictEqual((yield* client.refused("tools/call", { name: "c" })).message, "first has no tool c")
    })
  )

  it.effect("Source lists are cached until a list changes", () =>
    Effect.gen(function* () {
      let names: ReadonlyArray<string> = ["a"]
      const first = toolSource("first", () => names)
      const second = toolSource("second", () => ["b"])
      const server = yield* serve({ features: mountTools(first.source, second.source) })
      const client = yield* connect(server, { version })
      assert.deepStrictEqual(yield* texts(client, "b", "b", "b"), ["second b", "second b", "second b"])
      assert.strictEqual(first.state.lists, 1)
      names = ["a", "b"]
      yield* quiesce
      yield* first.announce
      yield* quiesce
      assert.deepStrictEqual(yield* texts(client, "b", "b"), ["first b", "first b"])
      assert.strictEqual(first.state.lists, 2)
    })
  )

  it.effect("A source with an unreadable list does not affect other sources", () =>
    Effect.gen(function* () {
      const first = toolSource("first", () => ["a"])
      const second = toolSource("second", () => ["b"])
      const server = yield* serve({ features: mountTools(first.source, second.source) })
      const client = yield* connect(server, { version })
      first.state.failing = true
      assert.deepStrictEqual(yield* texts(client, "b"), ["second b"])
    })
  )

  it.effect("A call is routed to the source that lists its tool for this caller", () =>
    Effect.gen(function* () {
      const first = toolSource("first", () => ["a"])
      const listed = Effect.flatMap(Principal, ({ subject }) =>
        subject === "admin" ? first.source.list : Effect.succeed([])
      )
      const second = toolSource("second", () => ["a"])
      const server = yield* serve({ features: mountTools({ ...first.source, list: listed }, second.source) })
      const as = (subject: string) => connect(server, { version, principal: { subject, scopes: [], claims: {} } })
      assert.deepStrictEqual(yield* texts(yield* as("admin"), "a"), ["first a"])
      assert.deepStrictEqual(yield* texts(yield* as("guest"), "a"), ["second a"])
    })
  )

  it.effect("Source lists are read once for all of a caller's requests, even concurrent ones", () =>
    Effect.gen(function* () {
      const first = toolSource("first", () => ["a"])
      const second = toolSource("second", () => ["b"])
      const reading = yield* Latch.make()
      const listed = Effect.andThen(reading.await, first.source.list)
      const server = yield* serve({ features: mountTools({ ...first.source, list: listed }, second.source) })
      // Every request has a new principal object.
      const as = () => connect(server, { version, principal: { subject: "user", scopes: ["read"], claims: {} } })
      const clients = [yield* as(), yield* as()]
      const calls = yield* Effect.forEach(clients, (client) =>
        Effect.forkChild(texts(client, "a", "b"), { startImmediately: true })
      )
      yield* quiesce
      yield* reading.open
      assert.deepStrictEqual(yield* Effect.forEach(calls, Fiber.join), [
        ["first a", "second b"],
        ["first a", "second b"]
      ])
      assert.deepStrictEqual([first.state.lists, second.state.lists], [1, 1])
    })
  )

  it.effect("A cancelled lookup does not cancel a list read that other lookups share", () =>
    Effect.gen(function* () {
      const first = toolSource("first", () => ["a"])
      const second = toolSource("second", () => ["b"])
      const reading = yield* Latch.make()
      const listed = Effect.andThen(reading.await, first.source.list)
      const server = yield* serve({ features: mountTools({ ...first.source, list: listed }, second.source) })
      const client = yield* connect(server, { version })
      const other = yield* connect(server, { version })
      const cancelled = yield* Effect.forkChild(client.call("b"), { startImmediately: true })
      yield* quiesce
      const call = yield* Effect.forkChild(texts(other, "b"), { startImmediately: true })
      yield* quiesce
      yield* Fiber.interrupt(cancelled)
      yield* quiesce
      yield* reading.open
      assert.deepStrictEqual(yield* Fiber.join(call), ["second b"])
    })
  )

  it.effect("Source lists are read at most once a second for unknown names", () =>
    Effect.gen(function* () {
      let names = ["b"]
      const first = toolSource("first", () => ["a"])
      const second = toolSource("second", () => names)
      const client = yield* connect(yield* serve({ features: mountTools(first.source, second.source) }), { version })
      for (const name of ["x", "y", "x"]) yield* client.refused("tools/call", { name })
      assert.strictEqual(first.state.lists, 1)
      // Not every server announces its changes.
      names = ["b", "x"]
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* texts(client, "x"), ["second x"])
      assert.strictEqual(first.state.lists, 2)
    })
  )

  it.effect("A single source is called without reading its list", () =>
    Effect.gen(function* () {
      const only = toolSource("only", () => ["a"])
      const client = yield* connect(yield* serve({ features: mountTools(only.source) }), { version })
      yield* texts(client, "a")
      assert.strictEqual(only.state.lists, 0)
    })
  )

  it.effect("A prompt and its completions come from the source that lists the prompt", () =>
    Effect.gen(function* () {
      const source = (title: string, ...names: ReadonlyArray<string>): Prompts.PromptSource => ({
        list: Effect.succeed(names.map((name) => ({ name }))),
        get: () => Effect.succeed({ messages: [Prompts.user(title)] }),
        completerOf: () => () => Effect.succeed([title]),
        changes: Stream.never
      })
      const features = Layer.effectDiscard(
        Effect.gen(function* () {
          const registry = yield* Prompts.PromptRegistry
          yield* registry.mount(source("first", "p", "both"))
          yield* registry.mount(source("second", "q", "both"))
        })
      )
      const client = yield* connect(yield* serve({ features }), { version })
      for (const [name, owner] of [
        ["p", "first"],
        ["q", "second"],
        ["both", "first"]
      ]) {
        const { messages } = yield* client.request("prompts/get", { name })
        assert.strictEqual(messages[0].content.text, owner)
        const completed = yield* client.request("completion/complete", {
          ref: { type: "ref/prompt", name },
          argument: { name: "x", value: "" }
        })
        assert.deepStrictEqual(completed.completion.values, [owner])
      }
    })
  )

  it.effect("A resource comes from the source that lists or matches its URI", () =>
    Effect.gen(function* () {
      const source = (title: string, uri: string, uriTemplate: string) => {
        const updates = Effect.runSync(PubSub.unbounded<string>())
        const resources: Resources.ResourceSource = {
          list: Effect.succeed([{ uri, name: title }]),
          templates: Effect.succeed([{ uriTemplate, name: title }]),
          read: (params) => Effect.succeed({ contents: [{ uri: params.uri, text: title }] }),
          watch: () => Stream.fromPubSub(updates),
          matches: UriTemplate.matches,
          completerOf: () => () => Effect.succeed([title]),
          changes: Stream.never
        }
        return { resources, update: PubSub.publish(updates, "updated") }
      }
      const first = source("first", "test://a", "test://first/{id}")
      const second = source("second", "test://b", "test://second/{id}")
      const features = Layer.effectDiscard(
        Effect.gen(function* () {
          const registry = yield* Resources.ResourceRegistry
          yield* registry.mount(first.resources)
          yield* registry.mount(second.resources)
        })
      )
      const client = yield* connect(yield* serve({ features }), { version })
      const read = (uri: string) =>
        Effect.map(client.request("resources/read", { uri }), ({ contents }) => contents[0].text)
      assert.strictEqual(yield* read("test://a"), "first")
      assert.strictEqual(yield* read("test://b"), "second")
      assert.strictEqual(yield* read("test://second/7"), "second")
      const completed = yield* client.request("completion/complete", {
        ref: { type: "ref/resource", uri: "test://second/{id}" },
        argument: { name: "id", value: "" }
      })
      assert.deepStrictEqual(completed.completion.values, ["second"])
      if (version === "2026-07-28") return
      yield* client.request("resources/subscribe", { uri: "test://b" })
      yield* quiesce
      yield* second.update
      yield* quiesce
      assert.deepStrictEqual(
        client.notes("notifications/resources/updated").map(({ params }) => params.uri),
        ["test://b"]
      )
    })
  )
})
