import { Extension, Extensions } from "@effect-mcp/core"
import { Revision } from "@effect-mcp/protocol"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Schema } from "effect"

const Notes = Extension.make("com.example/notes", {
  clientSettings: { colours: Schema.Boolean },
  requests: {
    find: Extension.request("com.example/notes/find", {
      params: { text: Schema.String },
      result: { ids: Schema.Array(Schema.Int) },
      failure: Schema.Struct({ tooShort: Schema.Int })
    })
  },
  questions: { pick: Extension.question("com.example/notes/pick", { params: { ids: Schema.Array(Schema.Int) } }) },
  notifications: {
    added: Extension.notification("notifications/com.example/notes/added", {
      from: "server",
      params: { id: Schema.Int }
    })
  },
  subscriptions: { added: Extension.subscription("com.example/notes", Schema.Array(Schema.Int)) },
  meta: { author: Extension.meta("com.example/author", Schema.NonEmptyString) }
})

/** Compiles only if both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const typed = <T extends true>(): T | undefined => undefined

describe("Extension contracts", () => {
  it("Extension methods are typed by their schemas", () => {
    const { find } = Notes.requests
    type Find = typeof find extends Extension.Request<infer P, infer A, infer F, infer D> ? [P, A, F, D] : never
    typed<
      Same<
        Find,
        [{ readonly text: string }, { readonly ids: ReadonlyArray<number> }, { readonly tooShort: number }, "client"]
      >
    >()
    assert.deepStrictEqual(
      [find.method, find.from, Notes.questions.pick.from],
      ["com.example/notes/find", "client", "server"]
    )
  })

  it.effect("An extension method decodes params with its schema and explains a mismatch", () =>
    Effect.gen(function* () {
      const { params, result } = Notes.requests.find
      assert.deepStrictEqual(yield* params.decode({ text: "a", _meta: {} }), { text: "a" })
      const { message } = yield* Effect.flip(params.decode({ text: 1 }))
      assert.include(message, "text")
      assert.deepStrictEqual(yield* result.encode({ ids: [1] }), { ids: [1] })
    })
  )

  it.effect("An extension method drops _meta from params and results unless its schema declares it", () =>
    Effect.gen(function* () {
      const Counts = Schema.Record(Schema.String, Schema.Int)
      const marked = { _meta: Schema.Struct({ author: Schema.String }) }
      const wire = { _meta: { author: "Ada" } }
      const { params, result } = Extension.request("x/count", { params: Counts, result: marked })
      assert.deepStrictEqual(yield* params.decode({ a: 1, ...wire }), { a: 1 })
      assert.deepStrictEqual(yield* result.decode(wire), wire)
      const counted = Extension.notification("notifications/x/counted", { from: "server", params: Counts })
      assert.deepStrictEqual(yield* counted.params.decode({ a: 1, ...wire }), { a: 1 })
    })
  )

  it("Every method and notification of an extension references its extension", () => {
    const parts = [Notes.requests.find, Notes.questions.pick, Notes.notifications.added, Notes.subscriptions.added]
    for (const { extension } of parts) assert.strictEqual(extension?.id, "com.example/notes")
  })

  it.effect("An extension reads and writes its _meta keys, and returns undefined for a missing key", () =>
    Effect.gen(function* () {
      const { author } = Notes.meta
      assert.isUndefined(yield* author.read({ other: 1 }))
      assert.strictEqual(yield* author.read(yield* author.entry("Ada")), "Ada")
      yield* Effect.flip(author.read({ "com.example/author": "" }))
      assert.isUndefined(yield* author.read(Object.create({ "com.example/author": "inherited" })))
    })
  )

  it("An extension rejects a subscription that is built in or declared twice", () => {
    const known = Extension.subscription("resourceSubscriptions", Schema.Boolean)
    assert.throws(() => Extension.make("com.example/x", { subscriptions: { known } }), /MCP already defines it/)
    const own = Extension.subscription("com.example/x", Schema.Boolean)
    assert.throws(() => Extension.make("com.example/x", { subscriptions: { own, again: own } }), /twice/)
  })

  it.effect("An extension schema without a JSON form is rejected when served, naming the part", () =>
    Effect.gen(function* () {
      const text = Schema.declare((value): value is symbol => typeof value === "symbol")
      const definitions: Record<string, Extension.Definition<any, any, any, any, any, any, any>> = {
        "The client settings of com.example/x": { clientSettings: { text } },
        "The server settings of com.example/x": { serverSettings: { text } },
        "The params of x/find": { requests: { find: Extension.request("x/find", { params: { text } }) } },
        "The result of x/find": { requests: { find: Extension.request("x/find", { result: { text } }) } },
        "The failure of x/find": { requests: { find: Extension.request("x/find", { failure: text }) } },
        "The params of x/pick": { questions: { pick: Extension.question("x/pick", { params: { text } }) } },
        "The params of notifications/x": {
          notifications: { added: Extension.notification("notifications/x", { from: "server", params: { text } }) }
        },
        "The filter com.example/x": { subscriptions: { added: Extension.subscription("com.example/x", text) } },
        "The _meta key com.example/x": { meta: { mark: Extension.meta("com.example/x", text) } }
      }
      for (const [where, definition] of Object.entries(definitions)) {
        const extension: Extension.Any = Extension.make("com.example/x", definition)
        const registry = Layer.mock(Extensions.ExtensionRegistry, {})
        const handlers = { requests: {}, notifications: {}, subscriptions: {} }
        const layer = Layer.provide(Extensions.layer(extension, handlers), registry)
        const cause = yield* Effect.flip(Effect.sandbox(Effect.scoped(Layer.build(layer))))
        assert.include(Cause.pretty(cause), `${where}: `)
      }
    })
  )

  it("An extension rejects an unprefixed id, a built-in method and a duplicate method", () => {
    assert.throws(() => Extension.make("notes"), /must have a prefix/)
    const ping = Extension.request("ping")
    assert.throws(() => Extension.make("com.example/x", { requests: { ping } }), /MCP already defines it/)
    const find = Extension.request("x/find")
    assert.throws(() => Extension.make("com.example/x", { requests: { find, again: find } }), /twice/)
  })

  it("An extension rejects an unprefixed _meta key", verifies("meta.extension.prefix"), () => {
    for (const name of ["key", "/key", "1com.example/key", "com.example/-"]) {
      const key = Extension.meta(name, Schema.String)
      assert.throws(() => Extension.make("com.example/x", { meta: { key } }), /must have a prefix/)
    }
  })

  for (const revision of Revision.all) {
    const member = revision.rules.extensions
    it(
      `An extension is declared under ${member} in ${revision.version}, even without settings`,
      member === "extensions"
        ? verifies("versioning.extension.advertised", "versioning.extension.no-settings")
        : verifies("lifecycle.capability.experimental"),
      () => {
        for (const settings of [{ colours: true }, {}]) {
          const declared = Extension.declarationOf(Notes, revision, settings)
          assert.deepStrictEqual(declared, { [member]: { "com.example/notes": settings } })
          assert.deepStrictEqual(Extension.settingsIn(Notes, revision, declared), settings)
        }
        assert.isUndefined(Extension.settingsIn(Notes, revision, {}))
      }
    )

    it(`Extension settings are read from capabilities.extensions in ${revision.version}`, () => {
      assert.deepStrictEqual(Extension.settingsIn(Notes, revision, { extensions: { "com.example/notes": {} } }), {})
    })
  }

  it("An extension can be declared among extensions in every revision", () => {
    const New = Extension.make("com.example/new", { inSessions: "extensions" })
    for (const revision of Revision.all) {
      const declared = Extension.declarationOf(New, revision, { size: 1 })
      assert.deepStrictEqual(declared, { extensions: { "com.example/new": { size: 1 } } })
      assert.deepStrictEqual(Extension.settingsIn(New, revision, declared), { size: 1 })
    }
  })

  it("An extension is not found in an unsupported revision", () => {
    const [oldest] = Revision.all
    const New = Extension.make("com.example/new", { revisions: ["2026-07-28"] })
    assert.isUndefined(Extension.settingsIn(New, oldest!, Extension.declarationOf(New, oldest!, {})))
    assert.isFalse(Extension.isIn(New, oldest!))
  })

  it("An extension with a dedicated capability is declared by that capability", () => {
    const revision = Revision.all.find(({ version }) => version === "2025-11-25")!
    const Tasks = Extension.make("com.example/tasks", { capability: "tasks", revisions: ["2025-11-25"] })
    assert.deepStrictEqual(Extension.declarationOf(Tasks, revision, { list: {} }), { tasks: { list: {} } })
    assert.deepStrictEqual(Extension.settingsIn(Tasks, revision, { tasks: { list: {} } }), { list: {} })
  })
})
