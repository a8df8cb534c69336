/**
 * Services created for each request: which handlers can use them, how often they are created, and when they are released.
 */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import { Principal } from "@effect-mcp/core/Principal"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Latch, Layer, Schema } from "effect"
import { everyVersion, serve, session, quiesce } from "../support/raw.ts"

class User extends Context.Service<User, { readonly name: string }>()("test/User") {}
class Tenant extends Context.Service<Tenant, string>()("test/Tenant") {}

const say = Effect.map(User, ({ name }) => name)
const suggest = () => Effect.map(say, (name) => [name])

/** One handler of every kind that needs the user. */
const everyKind = <R>(handler: Effect.Effect<string, never, R>) =>
  Layer.mergeAll(
    Tools.layer(Tool.make("t", { description: "" }), () => handler),
    Prompts.layer(Prompt.make("p", { arguments: { a: Schema.String } }), () => handler, { complete: { a: suggest } }),
    Resources.layer({ uri: "static:", name: "r" }, handler),
    Resources.layerTemplate(
      {
        uriTemplate: "x:{id}",
        name: "x",
        list: Effect.map(say, (name) => [{ uri: `x:${name}`, name }]),
        complete: { id: suggest }
      },
      () => handler
    )
  )

/** Requests of every kind, and where their results contain the name of the user. */
const requests = [
  ["tools/call", { name: "t" }, (r: any) => r.content[0].text],
  ["prompts/get", { name: "p", arguments: { a: "" } }, (r: any) => r.messages[0].content.text],
  ["resources/read", { uri: "static:" }, (r: any) => r.contents[0].text],
  ["resources/read", { uri: "x:1" }, (r: any) => r.contents[0].text],
  ["resources/list", {}, (r: any) => r.resources[1].name],
  [
    "completion/complete",
    { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } },
    (r: any) => r.completion.values[0]
  ],
  [
    "completion/complete",
    { ref: { type: "ref/resource", uri: "x:{id}" }, argument: { name: "id", value: "" } },
    (r: any) => r.completion.values[0]
  ]
] as const

/** A numbered user for each request, and how its lifetime ended. */
const users = () => {
  const log: Array<string> = []
  let count = 0
  const make = Effect.gen(function* () {
    const name = `user${++count}`
    log.push(`made ${name}`)
    yield* Effect.addFinalizer((exit) => Effect.sync(() => log.push(`${exit._tag} ${name}`)))
    return { name }
  })
  return { make, take: (): ReadonlyArray<string> => log.splice(0) }
}

describe("Request services", () => {
  for (const version of everyVersion()) {
    it.effect(`A request service is created once per request of any kind and released with it (${version})`, () =>
      Effect.gen(function* () {
        const { make, take } = users()
        const client = yield* session(Layer.provide(everyKind(say), Middleware.provide(User, make)), { version })
        assert.deepStrictEqual(take(), [])
        let count = 0
        for (const [method, params, nameIn] of requests) {
          const name = `user${++count}`
          assert.strictEqual(nameIn(yield* client.request(method, params)), name)
          assert.deepStrictEqual(take(), [`made ${name}`, `Success ${name}`])
        }
        yield* client.request("tools/list")
        assert.deepStrictEqual(take(), [])
      })
    )

    it.effect(`A failing request service answers the request without running its handler (${version})`, () =>
      Effect.gen(function* () {
        const refused = Middleware.provide(User, Effect.fail(McpError.unauthorized("Log in first")))
        let ran = 0
        const touched = () => Effect.sync(() => `${++ran}`)
        const handlers = Layer.mergeAll(
          Tools.layer(Tool.make("done", { description: "" }), () => {
            ran++
            return Effect.succeed("done")
          }),
          Resources.layer({ uri: "touched:", name: "touched" }, touched())
        )
        const client = yield* session(Layer.provide(Layer.merge(everyKind(say), handlers), refused), { version })
        for (const [method, params] of requests) {
          const { code, message } = yield* client.refused(method, params)
          assert.deepStrictEqual([code, message], [McpError.Unauthorized, "Log in first"], method)
        }
        yield* client.refused("tools/call", { name: "done" })
        yield* client.refused("resources/read", { uri: "touched:" })
        assert.strictEqual(ran, 0)
      })
    )

    it.effect(`Cancellation releases a request service during creation and use (${version})`, () =>
      Effect.gen(function* () {
        const { make, take } = users()
        const started = yield* Latch.make()
        const waits = Effect.andThen(started.open, Effect.never)
        const making = Middleware.provide(User, Effect.andThen(make, waits))
        const using = Layer.provide(
          Tools.layer(Tool.make("uses", { description: "" }), () => Effect.andThen(say, waits)),
          Middleware.provide(User, make)
        )
        const makes = Layer.provide(
          Tools.layer(Tool.make("makes", { description: "" }), () => say),
          making
        )
        const client = yield* session(Layer.merge(using, makes), { version })
        for (const [index, name] of ["uses", "makes"].entries()) {
          const call = yield* Effect.forkChild(client.call(name), { startImmediately: true })
          yield* started.await
          yield* Fiber.interrupt(call)
          yield* quiesce
          yield* started.close
          assert.deepStrictEqual(take(), [`made user${index + 1}`, `Failure user${index + 1}`], name)
          assert.deepStrictEqual(yield* client.session.peer.inFlight, [])
        }
      })
    )

    it.effect(`A defect in a request service or its finalizer answers -32603 (${version})`, () =>
      Effect.gen(function* () {
        const dying = [
          Effect.die(new Error("secret")),
          Effect.as(
            Effect.addFinalizer(() => Effect.die(new Error("secret"))),
            { name: "" }
          )
        ]
        for (const make of dying) {
          const client = yield* session(Layer.provide(everyKind(say), Middleware.provide(User, make)), { version })
          for (const [method, params] of requests) {
            const { code, message } = yield* client.refused(method, params)
            assert.strictEqual(code, McpError.InternalError, method)
            assert.notInclude(message, "secret")
          }
        }
      })
    )

    it.effect(`A request service shared by another service and middleware is created once (${version})`, () =>
      Effect.gen(function* () {
        const { make, take } = users()
        const user = Middleware.provide(User, make)
        let tenants = 0
        const tenant = Middleware.provide(
          Tenant,
          Effect.map(say, (name) => `tenant ${++tenants} of ${name}`)
        ).pipe(Layer.provide(user))
        const seen: Array<string> = []
        const audit = Middleware.layer((_, next) =>
          Effect.andThen(
            Effect.flatMap(Tenant, (tenant) => Effect.sync(() => seen.push(tenant))),
            next
          )
        )
        const both = Tools.layer(Tool.make("t", { description: "" }), () =>
          Effect.map(Effect.all([User, Tenant]), ([{ name }, tenant]) => `${name}, ${tenant}`)
        )
        const features = Layer.provide(Layer.merge(audit, both), Layer.merge(user, tenant))
        const client = yield* session(features, { version })
        take()
        tenants = 0
        seen.splice(0)
        const { content } = yield* client.call("t")
        const [made] = take()
        assert.strictEqual(
          content[0].text,
          `${made?.slice("made ".length)}, tenant 1 of ${made?.slice("made ".length)}`
        )
        assert.strictEqual(tenants, 1)
        assert.deepStrictEqual(seen, [`tenant 1 of ${made?.slice("made ".length)}`])
      })
    )

    it.effect(`A request service sees the caller provided by middleware (${version})`, () =>
      Effect.gen(function* () {
        const login = Middleware.layer((_, next) =>
          Effect.provideService(next, Principal, { subject: "ada", scopes: [], claims: {} })
        )
        const user = Middleware.provide(
          User,
          Effect.map(Principal, ({ subject = "nobody" }) => ({ name: subject }))
        )
        const client = yield* session(Layer.merge(Layer.provide(everyKind(say), user), login), { version })
        for (const [method, params, nameIn] of requests) {
          assert.strictEqual(nameIn(yield* client.request(method, params)), "ada", method)
        }
      })
    )

    it.effect(`An eager request service is created for every request, even if unused (${version})`, () =>
      Effect.gen(function* () {
        const { make, take } = users()
        const eager = Middleware.provide(User, make, { eager: true })
        const plain = Tools.layer(Tool.make("plain", { description: "" }), () => Effect.succeed("plain"))
        const client = yield* session(Layer.mergeAll(plain, Layer.provide(everyKind(say), eager)), { version })
        take()
        for (const [method, params] of [
          ...requests,
          ["tools/list", {}],
          ["tools/call", { name: "plain" }],
          ["tools/call", { name: "unknown" }]
        ] as const) {
          yield* Effect.exit(client.request(method, params))
          assert.deepStrictEqual(
            take().map((line) => line.split(" ")[0]),
            ["made", method === "tools/call" && "name" in params && params.name === "unknown" ? "Failure" : "Success"],
            method
          )
        }
      })
    )

    it.effect(`An eager request service runs inside all middleware, regardless of build order (${version})`, () =>
      Effect.gen(function* () {
        const login = Middleware.layer((_, next) =>
          Effect.provideService(next, Principal, { subject: "ada", scopes: [], claims: {} })
        )
        const made: Array<string | undefined> = []
        const user = Middleware.provide(
          User,
          Effect.map(Principal, ({ subject }) => {
            made.push(subject)
            return { name: "" }
          }),
          { eager: true }
        )
        const tool = Tools.layer(Tool.make("t", { description: "" }), () => Effect.succeed(""))
        for (const features of [Layer.merge(login, user), Layer.merge(user, login)]) {
          const client = yield* session(Layer.merge(tool, features), { version })
          made.splice(0)
          yield* client.call("t")
          assert.deepStrictEqual(made, ["ada"])
        }
      })
    )

    it.effect(`A failing eager request service rejects every request (${version})`, () =>
      Effect.gen(function* () {
        const eager = Middleware.provide(User, Effect.fail(McpError.forbidden("Not you")), { eager: true })
        const features = Layer.provide(everyKind(say), eager)
        if (version === "2026-07-28") {
          const error = yield* Effect.flip(session(features, { version }))
          assert.strictEqual(error._tag === "McpError" && error.code, McpError.Forbidden)
          return
        }
        const client = yield* session(features, { version })
        for (const [method, params] of [...requests, ["tools/list", {}]] as const) {
          assert.strictEqual((yield* client.refused(method, params)).code, McpError.Forbidden, method)
        }
      })
    )
  }

  for (const version of everyVersion("2025-06-18")) {
    const rounds = version === "2026-07-28" ? 2 : 1
    it.effect(`A request service is created once in each round of a request: ${rounds} (${version})`, () =>
      Effect.gen(function* () {
        const { make, take } = users()
        const asking = Tools.layer(Tool.make("ask", { description: "" }), () =>
          Effect.andThen(
            say,
            Effect.map(Elicitation.form("Who?", Schema.Struct({ name: Schema.String })), ({ name }) => name)
          )
        )
        const client = yield* session(Layer.provide(asking, Middleware.provide(User, make)), {
          version,
          capabilities: { elicitation: {} },
          answer: () => Effect.succeed({ action: "accept", content: { name: "Ada" } })
        })
        assert.strictEqual((yield* client.call("ask")).content[0].text, "Ada")
        assert.lengthOf(
          take().filter((line) => line.startsWith("made")),
          rounds
        )
      })
    )

    it.effect(`A request service can ask the client (${version})`, () =>
      Effect.gen(function* () {
        const asked = Effect.mapError(Elicitation.form("Who?", Schema.Struct({ name: Schema.String })), () =>
          McpError.forbidden("Say who you are")
        )
        const tool = Tools.layer(Tool.make("t", { description: "" }), () => say)
        const client = yield* session(Layer.provide(tool, Middleware.provide(User, asked)), {
          version,
          capabilities: { elicitation: {} },
          answer: () => Effect.succeed({ action: "accept", content: { name: "Ada" } })
        })
        assert.strictEqual((yield* client.call("t")).content[0].text, "Ada")
      })
    )
  }

  it.effect("A request's fibers and features share its request services", () =>
    Effect.gen(function* () {
      const { make, take } = users()
      const listing = (scheme: string) =>
        Resources.layerTemplate(
          {
            uriTemplate: `${scheme}:{id}`,
            name: scheme,
            list: Effect.map(say, (name) => [{ uri: `${scheme}:${name}`, name }])
          },
          () => say
        )
      const user = Middleware.provide(
        User,
        Effect.tap(make, () => Effect.yieldNow)
      )
      const client = yield* session(
        Layer.merge(Layer.provide(listing("a"), user), Layer.provide(listing("b"), user)),
        {}
      )
      const { resources } = yield* client.request("resources/list")
      assert.deepStrictEqual(
        resources.map(({ uri }: any) => uri),
        ["a:user1", "b:user1"]
      )
      assert.deepStrictEqual(take(), ["made user1", "Success user1"])
    })
  )

  it.effect("Using a request service while building features is a defect that names it", () =>
    Effect.gen(function* () {
      const built = Layer.effect(
        Tenant,
        Effect.map(User, ({ name }) => name)
      )
      const tool = Tools.layer(Tool.make("t", { description: "" }), () => Tenant)
      const features = tool.pipe(
        Layer.provide(built),
        Layer.provide(Middleware.provide(User, Effect.succeed({ name: "ada" })))
      )
      const exit = yield* Effect.exit(serve({ features }))
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "test/User is built for each request")
    })
  )

  it.effect("A request service sees its RequestContext, without an HTTP request in memory", () =>
    Effect.gen(function* () {
      const user = Middleware.provide(
        User,
        Effect.map(RequestContext, ({ http, method }) => ({ name: `${method} ${http?.method ?? "without HTTP"}` }))
      )
      const client = yield* session(Layer.provide(everyKind(say), user), {})
      assert.strictEqual((yield* client.call("t")).content[0].text, "tools/call without HTTP")
    })
  )
})
