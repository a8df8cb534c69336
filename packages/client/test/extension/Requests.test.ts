/** Requests of an extension: declared and typed, with every feature of other requests. */
import * as ClientExtension from "@effect-mcp/client/ClientExtension"
import { CapabilityMissing, InvalidResult, Timeout } from "@effect-mcp/client/ClientError"
import type * as McpClient from "@effect-mcp/client/McpClient"
import * as Extension from "@effect-mcp/core/Extension"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Meta from "@effect-mcp/protocol/model/Meta"
import * as Revision from "@effect-mcp/protocol/Revision"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { all, cancellation, quiesce } from "../support/connected.ts"
import * as Modern from "../support/modern.ts"
import { capabilitiesOf, declared, declaring, find, noted, Notes, result } from "../support/notes.ts"
import { fork, recovering } from "../support/recovering.ts"

const { find: Find, write: Write } = Notes.requests
const found = { [find]: () => result({ ids: [1, 2] }) }
const failing = (code: number, data?: unknown) => ({
  [find]: () => Effect.fail(new McpError.McpError({ code, message: "No", ...(data === undefined ? {} : { data }) }))
})
const Other = Extension.make("com.example/other", { requests: { go: Extension.request("com.example/other/go") } })

describe.each(all)("Extension requests in %s", (version) => {
  const member = version === Modern.version ? "extensions" : "experimental"
  const revision = Revision.all.find((revision) => revision.version === version)!

  it.effect("An extension request returns its declared result type", () =>
    Effect.gen(function* () {
      const { client, server } = yield* declared({ version, answers: found })
      const { ids } = yield* client.request(Find, { text: "milk" })
      assert.deepStrictEqual(ids, [1, 2])
      assert.deepInclude(server.requests(find)[0]?.params, { text: "milk" })
    })
  )

  it.effect(
    "An extension is declared with its settings, in addition to other declarations",
    () =>
      Effect.gen(function* () {
        const plain = { "com.example/plain": { a: 1 } }
        const { server } = yield* noted({ version }, { [member]: plain, tasks: false })
        assert.deepStrictEqual(capabilitiesOf(server, version), {
          [member]: { ...plain, "com.example/notes": { colours: "red" }, "com.example/other": {} }
        })
      }).pipe(
        Effect.provide(
          Layer.merge(ClientExtension.layer(Notes, { settings: { colours: "red" } }), ClientExtension.layer(Other))
        )
      ),
    member === "extensions"
      ? verifies("versioning.extension.advertised", "versioning.extension.no-settings")
      : verifies("lifecycle.capability.experimental")
  )

  it.effect(
    "An extension request is not sent to a server that did not declare the extension",
    () =>
      Effect.gen(function* () {
        const capabilities = declaring(version, Other, {})
        const { client, server } = yield* declared({ version, capabilities, answers: found })
        const error = yield* Effect.flip(client.request(Find, { text: "milk" }))
        assert.deepInclude(error, { _tag: "CapabilityMissing", capability: "com.example/notes" })
        assert.lengthOf(server.requests(find), 0)
        assert.isTrue(Option.isNone(yield* client.serverSettings(Notes)))
      }),
    verifies("versioning.extension.unsupported")
  )

  it.effect("An undeclared extension's request is not sent, unless the extension allows it", () =>
    Effect.gen(function* () {
      const { client, server } = yield* noted({ version, answers: found })
      const error = yield* Effect.flip(client.request(Find, { text: "milk" }))
      assert.instanceOf(error, CapabilityMissing)
      assert.include(error.message, "ClientExtension.layer")
      assert.lengthOf(server.requests(find), 0)
      const Open = Extension.make("com.example/notes", { undeclared: "served", requests: { find: Find } })
      assert.deepStrictEqual(yield* client.request(Open.requests.find, { text: "milk" }), { ids: [1, 2] })
    })
  )

  it.effect("An extension request is sent if the options declare the extension without a layer", () =>
    Effect.gen(function* () {
      const options = { [member]: { "com.example/notes": {} } }
      const { client } = yield* noted({ version, answers: found }, options)
      assert.deepStrictEqual(yield* client.request(Find, { text: "milk" }), { ids: [1, 2] })
    })
  )

  it.effect("An extension request with invalid params is not sent", () =>
    Effect.gen(function* () {
      const { client, server } = yield* declared({ version })
      const error = yield* Effect.flip(client.request(Write, { text: "" }))
      assert.deepInclude(error, { _tag: "McpError", code: McpError.InvalidParams })
      assert.lengthOf(server.requests(Write.method), 0)
    })
  )

  it.effect("An extension request fails with its declared failure or the server's error", () =>
    Effect.gen(function* () {
      const errorOf = (code: number, data?: unknown) =>
        Effect.flatMap(declared({ version, answers: failing(code, data) }), ({ client }) =>
          Effect.flip(client.request(Find, { text: "m" }))
        )
      const own = (wire: unknown) => ({ [Extension.failureKey]: wire })
      assert.deepStrictEqual(yield* errorOf(Find.failureCode, own({ tooShort: 1 })), { tooShort: 1 })
      const others = [
        yield* errorOf(-32000, own({ tooShort: 1 })),
        yield* errorOf(Find.failureCode),
        yield* errorOf(Find.failureCode, {}),
        yield* errorOf(Find.failureCode, [1])
      ]
      for (const error of others) assert.instanceOf(error, McpError.McpError)
      assert.instanceOf(yield* errorOf(Find.failureCode, own({ tooShort: "x" })), InvalidResult)
    })
  )

  it.effect("An extension request fails with InvalidResult if its result is invalid", () =>
    Effect.gen(function* () {
      const { client } = yield* declared({ version, answers: { [find]: () => result({ ids: ["x"] }) } })
      const error = yield* Effect.flip(client.request(Find, { text: "m" }))
      assert.instanceOf(error, InvalidResult)
      assert.include(error.message, find)
    })
  )

  it.effect("An extension request reports progress on request, or if it may be long-running", () =>
    Effect.gen(function* () {
      const { client, server } = yield* declared({
        version,
        answers: {
          ...found,
          [Write.method]: ({ _meta }, { peer }) => {
            const { progressToken } = _meta as { readonly progressToken: number }
            peer.notify("notifications/progress", { progressToken, progress: 1 })
            return result({})
          }
        }
      })
      const events: Array<number> = []
      yield* client.request(Write, { text: "a" }, { onProgress: ({ progress }) => void events.push(progress) })
      yield* client.request(Write, { text: "a" })
      yield* client.request(Find, { text: "a" })
      assert.deepStrictEqual(events, [1])
      const token = (method: string, nth: number) => Modern.declared(server.requests(method)[nth], "progressToken")
      assert.isDefined(token(Write.method, 1))
      assert.isUndefined(token(find, 0))
    })
  )

  it.effect("An extension request is cancelled by interruption and by its timeout", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const { client, server } = yield* declared({
        version,
        answers: { [find]: () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never) }
      })
      const call = yield* fork(client.request(Find, { text: "a" }))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(call)
      assert.strictEqual((yield* cancellation(server)).params?.requestId, server.requests(find)[0]?.id)
      const late = yield* fork(Effect.flip(client.request(Find, { text: "a" }, { timeout: "1 second" })))
      yield* quiesce
      yield* TestClock.adjust("1 second")
      assert.instanceOf(yield* Fiber.join(late), Timeout)
      assert.strictEqual((yield* cancellation(server)).params?.requestId, server.requests(find)[1]?.id)
      assert.strictEqual(server.peer.outstanding(), 0)
    })
  )

  it.effect("Only a read-only extension request is retried on another connection", () =>
    Effect.gen(function* () {
      const hanging = { [find]: () => Effect.never, [Write.method]: () => Effect.never }
      const answers = { ...found, [Write.method]: () => result({}) }
      const { client, server, tries } = yield* recovering({
        version,
        script: (n) => ({ version, capabilities: declaring(version), answers: n === 0 ? hanging : answers })
      })
      const read = yield* fork(client.request(Find, { text: "a" }))
      const write = yield* fork(Effect.flip(client.request(Write, { text: "a" })))
      yield* quiesce
      server(0).cut()
      assert.deepStrictEqual(yield* Fiber.join(read), { ids: [1, 2] })
      assert.strictEqual((yield* Fiber.join(write))._tag, "Closed")
      assert.strictEqual(tries(), 2)
      assert.deepStrictEqual(yield* client.request(Write, { text: "a" }), {})
    }).pipe(Effect.provide(ClientExtension.layer(Notes)))
  )

  it.effect("An extension request is unavailable in revisions its definition omits", () =>
    Effect.gen(function* () {
      const before = Revision.all.filter((other) => other !== revision).map(({ version }) => version)
      const go = Extension.request("com.example/elsewhere/go", { revisions: before })
      const Elsewhere = Extension.make("com.example/elsewhere", { requests: { go } })
      const Never = Extension.make("com.example/never", { revisions: before, requests: { go } })
      const capabilities = declaring(version, Elsewhere, {})
      const { client, server } = yield* Effect.provide(
        noted({ version, capabilities }),
        ClientExtension.layer(Elsewhere)
      )
      for (const { requests } of [Elsewhere, Never]) {
        assert.strictEqual((yield* Effect.flip(client.request(requests.go, {})))._tag, "CapabilityMissing")
      }
      assert.lengthOf(server.requests(go.method), 0)
    })
  )

  it.effect("Server extension settings are returned, or fail if they have the wrong shape", () =>
    Effect.gen(function* () {
      const { client } = yield* declared({ version })
      assert.deepStrictEqual(yield* client.serverSettings(Notes), Option.some({ shelf: "top" }))
      const wrong = yield* declared({ version, capabilities: declaring(version, Notes, { shelf: 1 }) })
      const error = yield* Effect.flip(wrong.client.serverSettings(Notes))
      assert.instanceOf(error, InvalidResult)
      assert.include(error.message, "com.example/notes")
    })
  )

  it.effect("A server that declares __proto__ declares no extension", () =>
    Effect.gen(function* () {
      const capabilities = JSON.parse(`{"${member}":{"__proto__":{"com.example/notes":{"shelf":"x"}}}}`)
      const { client } = yield* declared({ version, capabilities })
      assert.instanceOf(yield* Effect.flip(client.request(Find, { text: "a" })), CapabilityMissing)
    })
  )

  it.effect("A built-in request sent by name is unaffected by extensions", () =>
    Effect.gen(function* () {
      const { client } = yield* declared({ version, answers: { "tools/list": () => result({ tools: [] }) } })
      assert.deepStrictEqual((yield* client.request("tools/list", {})).tools, [])
    })
  )
})

describe("Extension requests in 2026-07-28", () => {
  const { version } = Modern

  it.effect("Each request declares the extension", () =>
    Effect.gen(function* () {
      const { client, server } = yield* declared({
        version,
        answers: { ...found, "tools/list": () => result({ tools: [] }) }
      })
      yield* client.request(Find, { text: "a" })
      yield* client.request("tools/list", {})
      for (const method of [find, "tools/list", "server/discover"]) {
        assert.deepStrictEqual(Modern.declared(server.requests(method)[0], Meta.clientCapabilities), {
          extensions: { "com.example/notes": {}, ...Modern.tasks }
        })
      }
    })
  )

  it.effect(
    "An extension result may omit its type, but not have an undeclared one",
    () =>
      Effect.gen(function* () {
        let type: unknown = "task"
        const { client } = yield* declared({
          version,
          answers: { [find]: () => ({ ids: [1], ...(type === undefined ? {} : { resultType: type }) }) }
        })
        for (type of ["task", "", 1, null, "__proto__"]) {
          assert.instanceOf(yield* Effect.flip(client.request(Find, { text: "a" })), InvalidResult)
        }
        type = undefined
        assert.deepStrictEqual(yield* client.request(Find, { text: "a" }), { ids: [1] })
      }),
    verifies("json-rpc.result.type-unknown", "json-rpc.result.type-absent")
  )
})

it("A client only accepts params of the request's type, and requires settings if needed", () => {
  const Strict = Extension.make("com.example/strict", { clientSettings: { level: Schema.Int } })
  const typed = (client: McpClient.Client) => {
    // @ts-expect-error -- the text is missing
    void client.request(Find, {})
    // @ts-expect-error -- it is no text
    void client.request(Find, { text: 1 })
    // @ts-expect-error -- a server sends it
    void client.request(Notes.questions.pick, { ids: [] })
    // @ts-expect-error -- a server sends it
    void client.notify(Notes.notifications.added, { id: 1 })
    const failure: Effect.Effect<{ readonly ids: ReadonlyArray<number> }, { readonly tooShort: number } | Error> =
      client.request(Find, { text: "a" })
    return failure
  }
  // @ts-expect-error -- the settings are missing
  const missing = () => ClientExtension.layer(Strict)
  // @ts-expect-error -- the level is no number
  const wrong = () => ClientExtension.layer(Strict, { settings: { level: "a" } })
  // @ts-expect-error -- the question has no handler
  const unanswered = () => ClientExtension.layer(Notes, { questions: {} })
  // @ts-expect-error -- the answer has no id
  const shapeless = () => ClientExtension.layer(Notes, { questions: { pick: () => Effect.succeed({}) } })
  assert.isFunction(typed)
  assert.lengthOf([missing, wrong, unanswered, shapeless], 4)
})

it.effect("A layer with invalid settings fails to build", () =>
  Effect.gen(function* () {
    const layer = ClientExtension.layer(Notes, { settings: { colours: "" } })
    const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
    assert.strictEqual(error._tag, "InvalidValue")
    assert.include(error.message, "colours")
  })
)

it("A layer with an unknown handler name or a built-in result type fails immediately", () => {
  assert.throws(() => ClientExtension.layer(Notes, { notifications: { gone: () => Effect.void } } as never), /gone/)
  const results = { resultType: "complete", follow: () => Effect.succeed({}) }
  assert.throws(() => ClientExtension.layer(Notes, { results }), /complete/)
})

it.effect("Two extensions with the same method fail when the client is built", () =>
  Effect.gen(function* () {
    const Twin = Extension.make("com.example/twin", { requests: { find: Find } })
    const client = declared({ version: "2025-11-25" })
    const exit = yield* Effect.exit(Effect.provide(client, ClientExtension.layer(Twin)))
    assert.isTrue(Exit.isFailure(exit))
    assert.include(String(exit), "both define the method com.example/notes/find")
  })
)
