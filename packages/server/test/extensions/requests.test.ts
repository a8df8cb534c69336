/**
 * Methods of extensions: which callers have them, how params and results are encoded, and how each failure is reported.
 */
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import { ExtensionRegistry } from "@effect-mcp/core/Extensions"
import { anonymous } from "@effect-mcp/core/Principal"
import * as Progress from "@effect-mcp/core/Progress"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { verifies } from "@effect-mcp/spec/verifies"
import { assert, describe, it } from "@effect/vitest"
import { Context, Data, Deferred, Effect, Fiber, Layer, Option, Schema } from "effect"
import { metaOf, open } from "../support/modern.ts"
import { declaring, id, Notes } from "../support/notes.ts"
import { connect, everyVersion, quiesce, serve, session } from "../support/raw.ts"

const method = Notes.requests.find.method

class Store extends Context.Service<Store, { readonly ids: ReadonlyArray<number> }>()("test/Store") {}

/** Only `find` is implemented. */
const Find = Extension.make(id, { clientSettings: { colours: Schema.Boolean }, requests: Notes.requests })
const finding = Extensions.layer(Find, {
  requests: { find: ({ text }) => Effect.succeed({ ids: [text.length] }) }
})

describe("Extension methods", () => {
  for (const version of everyVersion()) {
    it.effect(`An extension method is answered by its handler, with its layer's services (${version})`, () =>
      Effect.gen(function* () {
        const features = Extensions.layer(Find, {
          requests: {
            find: ({ text }) => Effect.map(Store, ({ ids }) => ({ ids: [...ids, text.length] }))
          }
        }).pipe(Layer.provide(Layer.succeed(Store, { ids: [7] })))
        const client = yield* session(features, { version, capabilities: declaring(version) })
        assert.deepStrictEqual(yield* client.request(method, { text: "abc" }), { ids: [7, 3] })
      })
    )

    it.effect(`An extension method can return an already encoded result (${version})`, () =>
      Effect.gen(function* () {
        const wire = { ids: ["a"], _meta: { "com.example/more": 1 }, more: true }
        const features = Extensions.layer(Find, {
          requests: { find: () => Effect.succeed(EncodedResult.core("complete", wire)) }
        })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        const { _meta, ...others } = yield* client.request(method, { text: "abc" })
        assert.deepInclude(_meta, wire._meta)
        assert.deepStrictEqual(others, { ids: ["a"], more: true })
      })
    )

    it.effect(`An extension method with invalid or missing params fails with -32602 (${version})`, () =>
      Effect.gen(function* () {
        const client = yield* session(finding, { version, capabilities: declaring(version) })
        for (const params of [{ text: 1 }, {}, undefined]) {
          const { code, message } = yield* client.refused(method, params)
          assert.strictEqual(code, McpError.InvalidParams)
          assert.include(message, method)
          assert.include(message, "text")
        }
      })
    )

    it.effect(`An extension method sends declared failures as error data, and McpErrors unchanged (${version})`, () =>
      Effect.gen(function* () {
        const features = Extensions.layer(Find, {
          requests: {
            find: ({ text }) =>
              text === "" ? Effect.fail({ tooShort: 1 }) : Effect.fail(McpError.invalidParams("No such note", { text }))
          }
        })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        const failed = yield* client.refused(method, { text: "" })
        assert.strictEqual(failed.code, Extension.failureCode)
        assert.deepStrictEqual(failed.data, { [Extension.failureKey]: { tooShort: 1 } })
        const refused = yield* client.refused(method, { text: "a" })
        assert.deepInclude(refused, { code: McpError.InvalidParams, message: "No such note", data: { text: "a" } })
      })
    )

    it.effect(`An extension method fails with a bare -32603 on a defect or an invalid result (${version})`, () =>
      Effect.gen(function* () {
        const features = Extensions.layer(Find, {
          requests: {
            find: ({ text }) => {
              if (text === "throws") throw new Error("secret")
              return text === "dies" ? Effect.die(new Error("secret")) : Effect.succeed({ ids: [1.5] })
            }
          }
        })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        for (const text of ["throws", "dies", "unfit"]) {
          const error = yield* client.refused(method, { text })
          assert.deepInclude(error, { code: McpError.InternalError, message: "Internal error" })
          assert.isUndefined(error.data)
        }
      })
    )

    it.effect(
      `An extension method fails without the client's declaration, and names it (${version})`,
      () =>
        Effect.gen(function* () {
          const client = yield* session(finding, { version, capabilities: declaring(version, ["com.example/other"]) })
          const { code, data, message } = yield* client.refused(method, { text: 1 })
          const isModern = version === "2026-07-28"
          assert.strictEqual(code, isModern ? McpError.MissingClientCapability : McpError.MethodNotFound)
          assert.include(message, id)
          assert.deepStrictEqual(data, { requiredCapabilities: declaring(version) })
        }),
      verifies("versioning.extension.unsupported")
    )

    it.effect(`An extension method can serve every client if the extension allows it (${version})`, () =>
      Effect.gen(function* () {
        const Open = Extension.make(id, { requests: Notes.requests, undeclared: "served" })
        const features = Extensions.layer(Open, { requests: { find: () => Effect.succeed({ ids: [] }) } })
        const client = yield* session(features, { version })
        assert.deepStrictEqual(yield* client.request(method, { text: "" }), { ids: [] })
      })
    )

    it.effect(`An extension method receives params named like answers (${version})`, () =>
      Effect.gen(function* () {
        const params = { inputResponses: Schema.optionalKey(Schema.Unknown) }
        const shapes = { params, result: { seen: Schema.String } }
        const own = Extension.request(method, { ...shapes, mayAsk: false })
        const asking = Extension.request("com.example/notes/asking", shapes)
        const Both = Extension.make(id, { requests: { own, asking }, undeclared: "served" })
        const seen = ({ inputResponses }: { readonly inputResponses?: unknown }) =>
          Effect.succeed({ seen: JSON.stringify(inputResponses) ?? "nothing" })
        const features = Extensions.layer(Both, { requests: { own: seen, asking: seen } })
        const client = yield* session(features, { version })
        const sent = { inputResponses: { a: {} } }
        assert.deepStrictEqual(yield* client.request(method, sent), { seen: '{"a":{}}' })
        assert.deepStrictEqual(yield* client.request(asking.method, sent), { seen: "nothing" })
      })
    )

    it.effect(`An extension method exists only in its own revisions (${version})`, () =>
      Effect.gen(function* () {
        const only = (revisions: ReadonlyArray<typeof version>, ofMethod?: ReadonlyArray<typeof version>) => {
          const find = Extension.request(method, { params: { text: Schema.String }, revisions: ofMethod })
          const Only = Extension.make(id, { requests: { find }, revisions, undeclared: "served" })
          return Extensions.layer(Only, { requests: { find: () => Effect.succeed({}) } })
        }
        const others = everyVersion().filter((other) => other !== version)
        for (const features of [only(others), only([version], others)]) {
          const client = yield* session(features, { version, capabilities: declaring(version) })
          const { code, data } = yield* client.refused(method, { text: "" })
          assert.deepStrictEqual([code, data], [McpError.MethodNotFound, undefined])
        }
      })
    )

    it.effect(`An extension request can report progress, be observed and be cancelled (${version})`, () =>
      Effect.gen(function* () {
        const started = yield* Deferred.make<void>()
        const ended = yield* Deferred.make<void>()
        const features = Extensions.layer(Find, {
          requests: {
            find: () =>
              Effect.onInterrupt(
                Effect.andThen(Progress.report(1), Effect.andThen(Deferred.succeed(started, undefined), Effect.never)),
                () => Deferred.succeed(ended, undefined)
              )
          }
        })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        const fiber = yield* Effect.forkChild(client.request(method, { text: "", _meta: { progressToken: "p" } }), {
          startImmediately: true
        })
        yield* Deferred.await(started)
        yield* quiesce
        const [running] = yield* client.session.peer.inFlight
        assert.strictEqual(running?.method, method)
        assert.deepStrictEqual(client.notes("notifications/progress")[0].params, { progressToken: "p", progress: 1 })
        yield* Fiber.interrupt(fiber)
        yield* Deferred.await(ended)
        yield* quiesce
        assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
      })
    )
  }

  it.effect("Names from Object.prototype and extension ids are unknown methods", () =>
    Effect.gen(function* () {
      for (const version of everyVersion()) {
        const client = yield* session(finding, { version, capabilities: declaring(version) })
        for (const name of ["__proto__", "constructor", "toString", "", id]) {
          assert.strictEqual((yield* client.refused(name)).code, McpError.MethodNotFound, `${name} in ${version}`)
        }
      }
    })
  )

  it.effect("An extension method can share its name with an Object.prototype member", () =>
    Effect.gen(function* () {
      const Odd = Extension.make(id, {
        requests: {
          toString: Extension.request("constructor", { result: { odd: Schema.Boolean } }),
          proto: Extension.request("__proto__", { result: { odd: Schema.Boolean } })
        }
      })
      const odd = () => Effect.succeed({ odd: true })
      for (const version of everyVersion()) {
        const features = Extensions.layer(Odd, { requests: { toString: odd, proto: odd } })
        const client = yield* session(features, { version, capabilities: declaring(version) })
        for (const name of ["constructor", "__proto__"]) {
          assert.deepStrictEqual(yield* client.request(name), { odd: true })
        }
      }
    })
  )

  it.effect("An inherited extension declaration is ignored", () =>
    Effect.gen(function* () {
      const Odd = Extension.make("com.example/constructor", { requests: Notes.requests })
      const features = Extensions.layer(Odd, { requests: { find: () => Effect.succeed({ ids: [] }) } })
      const client = yield* session(features, { capabilities: { experimental: {} } })
      assert.strictEqual((yield* client.refused(method, { text: "" })).code, McpError.MethodNotFound)
    })
  )

  it.effect("Closing an extension's layer removes its methods after in-flight requests finish", () =>
    Effect.gen(function* () {
      const registry = yield* Deferred.make<ExtensionRegistry["Service"]>()
      const capture = Layer.effectDiscard(
        Effect.flatMap(ExtensionRegistry, (found) => Deferred.succeed(registry, found))
      )
      const client = yield* session(capture, { capabilities: declaring("2025-11-25") })
      const release = yield* Deferred.make<void>()
      const late = Extensions.layer(Find, {
        requests: { find: () => Effect.as(Deferred.await(release), { ids: [] }) }
      })
      const provided = Layer.provide(late, Layer.effect(ExtensionRegistry, Deferred.await(registry)))
      const held = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(Effect.scoped(Effect.andThen(Layer.build(provided), Deferred.await(held))))
      yield* quiesce
      const answer = yield* Effect.forkChild(client.request(method, { text: "" }))
      yield* quiesce
      yield* Deferred.succeed(held, undefined)
      yield* quiesce
      assert.isUndefined(fiber.pollUnsafe())
      assert.strictEqual((yield* client.refused(method, { text: "" })).code, McpError.MethodNotFound)
      yield* Deferred.succeed(release, undefined)
      yield* quiesce
      assert.isDefined(fiber.pollUnsafe())
      assert.deepStrictEqual(answer.pollUnsafe()?._tag, "Success")
    })
  )

  it.effect("An extension method is limited by the rate set for its name", () =>
    Effect.gen(function* () {
      const client = yield* session(finding, { capabilities: declaring("2025-11-25") }, { rateLimit: { [method]: 1 } })
      yield* client.request(method, { text: "" })
      yield* client.request(method, { text: "" })
      assert.strictEqual((yield* client.refused(method, { text: "" })).code, McpError.LimitExceeded)
    })
  )
})

describe("Extension method results", () => {
  it.effect(
    "A 2026-07-28 extension result names its type and server; earlier results do not",
    () =>
      Effect.gen(function* () {
        const modern = yield* open(finding, { capabilities: declaring("2026-07-28") })
        const result = yield* modern.request(method, { text: "a" })
        assert.deepStrictEqual(result, {
          ids: [1],
          resultType: "complete",
          _meta: { "io.modelcontextprotocol/serverInfo": { name: "test", version: "1.2.3" } }
        })
        const older = yield* session(finding, { capabilities: declaring("2025-11-25") })
        assert.deepStrictEqual(yield* older.request(method, { text: "a" }), { ids: [1] })
      }),
    verifies("json-rpc.result.type-included")
  )

  it.effect("An extension handler cannot change the type of its result", () =>
    Effect.gen(function* () {
      const Odd = Extension.make(id, {
        requests: { odd: Extension.request("x/odd", { result: { resultType: Schema.String } }) }
      })
      const features = Extensions.layer(Odd, { requests: { odd: () => Effect.succeed({ resultType: "task" }) } })
      const client = yield* open(features, { capabilities: declaring("2026-07-28") })
      assert.strictEqual((yield* client.request("x/odd")).resultType, "complete")
    })
  )
})

describe("Order of checks in 2026-07-28", () => {
  it.effect("Requests in 2026-07-28 are checked in order: version, method, declaration, params", () =>
    Effect.gen(function* () {
      const client = yield* open(finding, { capabilities: {} })
      const raw = (_meta: object, name = method) =>
        Effect.map(Effect.flip(client.peer.request(name, { text: 1, _meta })), (error) =>
          error instanceof McpError.McpError ? error.code : undefined
        )
      const foreign = { ...metaOf(), "io.modelcontextprotocol/protocolVersion": "1999-01-01" }
      assert.strictEqual(yield* raw(foreign, "x/unknown"), McpError.UnsupportedProtocolVersion)
      assert.strictEqual(yield* raw(metaOf({}), "x/unknown"), McpError.MethodNotFound)
      assert.strictEqual(yield* raw(metaOf({})), McpError.MissingClientCapability)
      assert.strictEqual(yield* raw(metaOf(declaring("2026-07-28"))), McpError.InvalidParams)
    })
  )

  it.effect(
    "A request uses only its own extension declaration, not an earlier request's",
    () =>
      Effect.gen(function* () {
        const client = yield* open(finding, { capabilities: {} })
        const params = { text: "a" }
        yield* client.peer.request(method, { ...params, _meta: metaOf(declaring("2026-07-28")) })
        assert.strictEqual((yield* client.refused(method, params)).code, McpError.MissingClientCapability)
      }),
    verifies("stateless.request.no-prior-context")
  )

  it.effect("An extension request with malformed answers or state fails", () =>
    Effect.gen(function* () {
      const client = yield* open(finding, { capabilities: declaring("2026-07-28") })
      for (const wrong of [{ requestState: 1 }, { inputResponses: [] }]) {
        assert.strictEqual((yield* client.refused(method, { text: "", ...wrong })).code, McpError.InvalidParams)
      }
    })
  )
})

describe("Extension declarations", () => {
  const limited = (settings: Extensions.Handlers<typeof Limited>["settings"]) =>
    Extensions.layer(Limited, { settings, requests: { find: () => Effect.succeed({ ids: [] }) } })
  const Limited = Extension.make(id, { serverSettings: { limit: Schema.Int }, requests: Notes.requests })

  for (const version of everyVersion()) {
    it.effect(
      `An extension declaration contains its settings, alongside declarations from the options (${version})`,
      () =>
        Effect.gen(function* () {
          const options = {
            experimental: { "com.example/a": {} },
            extensions: { "com.example/b": { c: 1 }, [id]: { limit: 0 } }
          }
          const client = yield* session(limited({ limit: 5 }), { version }, options)
          const { experimental, extensions } = client.initialized.capabilities
          const declared = { [id]: { limit: 5 } }
          assert.deepStrictEqual(
            { experimental, extensions },
            version === "2026-07-28"
              ? { experimental: options.experimental, extensions: { ...options.extensions, ...declared } }
              : { experimental: { ...options.experimental, ...declared }, extensions: options.extensions }
          )
        }),
      version === "2026-07-28"
        ? verifies("versioning.extension.identifier", "versioning.extension.advertised")
        : verifies("lifecycle.capability.experimental")
    )

    it.effect(`A caller-dependent extension declaration is computed for each caller (${version})`, () =>
      Effect.gen(function* () {
        const server = yield* serve({
          features: limited(({ duplex, principal: { subject }, revision }) => {
            assert.deepStrictEqual([duplex, revision.version], [true, version])
            return subject === undefined ? undefined : { limit: subject.length }
          })
        })
        const as = (subject: string | undefined) =>
          connect(server, {
            version,
            capabilities: declaring(version),
            principal: { ...anonymous, subject }
          })
        const limitOf = ({ initialized: { capabilities } }: any) =>
          (capabilities.experimental ?? capabilities.extensions)?.[id]?.limit
        const [none, ada, grace] = [yield* as(undefined), yield* as("ada"), yield* as("grace")]
        assert.deepStrictEqual([limitOf(none), limitOf(ada), limitOf(grace)], [undefined, 3, 5])
        const { code, data } = yield* none.refused(method, { text: "" })
        assert.deepStrictEqual([code, data], [McpError.MethodNotFound, undefined])
        assert.deepStrictEqual(yield* ada.request(method, { text: "" }), { ids: [] })
      })
    )
  }

  it.effect("A caller-dependent declaration makes discovery private, regardless of the caching hint", () =>
    Effect.gen(function* () {
      const caching = { discover: { scope: "public", ttl: "1 minute" } } as const
      const varying = yield* open(
        limited(() => ({ limit: 1 })),
        {},
        { caching }
      )
      assert.strictEqual((yield* varying.request("server/discover")).cacheScope, "private")
      const same = yield* open(limited({ limit: 1 }), {}, { caching })
      assert.strictEqual((yield* same.request("server/discover")).cacheScope, "public")
    })
  )

  it.effect("An extension declaration fails with -32603 if its settings are invalid or throw", () =>
    Effect.gen(function* () {
      const unfit = yield* open(limited(() => ({ limit: 1.5 })))
      assert.strictEqual((yield* unfit.refused("server/discover")).code, McpError.InternalError)
      const throws = limited(() => {
        throw new Error("secret")
      })
      const client = yield* open(throws, { capabilities: declaring("2026-07-28") })
      assert.deepInclude(yield* client.refused("server/discover"), {
        code: McpError.InternalError,
        message: "Internal error"
      })
      assert.deepInclude(yield* client.refused(method, { text: "" }), {
        code: McpError.InternalError,
        message: "Internal error"
      })
    })
  )

  for (const version of everyVersion()) {
    it.effect(`A handler reads the client's extension settings, or fails if they are invalid (${version})`, () =>
      Effect.gen(function* () {
        const Reading = Extension.make(id, {
          clientSettings: { colours: Schema.Boolean },
          requests: { read: Extension.request("x/read", { result: { colours: Schema.String } }) },
          undeclared: "served"
        })
        const features = Extensions.layer(Reading, {
          requests: {
            read: () =>
              Effect.map(Extensions.declared(Reading), (settings) => ({
                colours: JSON.stringify(Option.getOrNull(settings))
              }))
          }
        })
        const read = (capabilities: object) =>
          Effect.flatMap(session(features, { version, capabilities }), (client) => client.request("x/read"))
        assert.deepStrictEqual(yield* read({}), { colours: "null" })
        assert.deepStrictEqual(yield* read(declaring(version, [id], { colours: true })), {
          colours: `{"colours":true}`
        })
        const error = yield* Effect.flip(read(declaring(version)))
        assert.deepInclude(error, { code: McpError.InvalidParams })
      })
    )
  }
})

describe("Two extensions", () => {
  const fails = (features: Layer.Layer<never, never, any>) =>
    Effect.map(
      Effect.exit(serve({ features: features as Layer.Layer<never, never, ExtensionRegistry> })),
      (exit) => JSON.stringify(exit) + String(exit)
    )

  it.effect("Two extensions with the same id are a defect that names both definitions", () =>
    Effect.gen(function* () {
      const error = yield* fails(Layer.merge(finding, Extensions.layer(Extension.make(id), {})))
      assert.include(error, `The extension "${id}" is already registered`)
      assert.strictEqual(error.split("requests.test.ts").length > 2, true)
    })
  )

  it.effect("Two extensions with the same method are a defect that names the method", () =>
    Effect.gen(function* () {
      const Other = Extension.make("com.example/other", { requests: Notes.requests })
      const other = Extensions.layer(Other, { requests: { find: () => Effect.succeed({ ids: [] }) } })
      assert.include(yield* fails(Layer.merge(finding, other)), `The method "${method}" is already registered`)
    })
  )

  it.effect("Two servers can share an extension", () =>
    Effect.gen(function* () {
      yield* serve({ features: finding })
      yield* serve({ features: finding })
    })
  )
})

describe("Middleware", () => {
  for (const version of everyVersion()) {
    it.effect(`Middleware wraps extension methods and can change params and result (${version})`, () =>
      Effect.gen(function* () {
        const seen: Array<unknown> = []
        const around = Middleware.layer((request, next, proceed) => {
          seen.push(request.method)
          return Middleware.isOwn(request) ? proceed({ ...request, params: { ...request.params, text: "abc" } }) : next
        })
        const client = yield* session(Layer.merge(finding, around), { version, capabilities: declaring(version) })
        seen.length = 0
        assert.deepStrictEqual(yield* client.request(method, { text: "ab" }), { ids: [3] })
        assert.deepStrictEqual(seen, [method])
      })
    )
  }
})

class Shown extends Data.TaggedError("Shown")<{}> {}

/** Compiles only if both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const typed = <T extends true>(): T | undefined => undefined

describe("Types", () => {
  it("Types reject a missing handler, a wrong result, an undeclared failure or an unknown method", () => {
    const Limited = Extension.make(id, { serverSettings: { limit: Schema.Int } })
    const wrong = [
      // @ts-expect-error find has no handler
      () => Extensions.layer(Find, {}),
      // @ts-expect-error ids must be numbers
      () => Extensions.layer(Find, { requests: { find: () => Effect.succeed({ ids: ["a"] }) } }),
      // @ts-expect-error the failure is not declared
      // @effect-diagnostics-next-line missingEffectError:off
      () => Extensions.layer(Find, { requests: { find: () => Effect.fail(new Shown()) } }),
      // @ts-expect-error lost is no request of the extension
      () => Extensions.layer(Find, { requests: { find: () => Effect.succeed({ ids: [] }), lost: () => Effect.void } }),
      // @ts-expect-error its settings are missing
      () => Extensions.layer(Limited, {}),
      // @ts-expect-error its settings are of another type
      () => Extensions.layer(Limited, { settings: () => ({ limit: "" }) })
    ]
    assert.lengthOf(wrong, 6)
    const byCaller = Extensions.layer(Limited, {
      settings: ({ principal: { subject } }) => (subject === undefined ? undefined : { limit: subject.length })
    })
    typed<Same<typeof byCaller, Layer.Layer<never, never, ExtensionRegistry>>>()
  })

  it("Types require an extension handler's services, but not request services", () => {
    const needy = Extensions.layer(Find, {
      requests: {
        find: () =>
          Effect.andThen(
            Progress.report(1),
            Effect.map(Store, ({ ids }) => ({ ids }))
          )
      }
    })
    typed<Same<typeof needy, Layer.Layer<never, never, ExtensionRegistry | Store>>>()
    assert.isDefined(needy)
  })
})
