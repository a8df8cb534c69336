/** The outcome of requests of every kind and revision as middleware sees it, and the changes middleware may make. */
import * as Elicitation from "@effect-mcp/core/Elicitation"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import * as Resources from "@effect-mcp/core/Resources"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Layer, Schema, Scope } from "effect"
import * as MiddlewareRegistry from "../../src/features/MiddlewareRegistry.ts"
import { everyVersion, session, quiesce } from "../support/raw.ts"

const Name = Schema.Struct({ name: Schema.String })
const version = { form: { applyDefaults: true } }
const capabilities = { elicitation: version }

type Answers<R> = Effect.Effect<string, McpError.McpError, R>
/** One handler as a tool, a prompt, a resource and a template. */
const everyKind = <R>(handler: Answers<R>) =>
  Layer.mergeAll(
    Tools.layer(Tool.make("t", { description: "" }), () => handler),
    Prompts.layer(Prompt.make("p"), () => handler),
    Resources.layer({ uri: "static:", name: "r" }, handler),
    Resources.layerTemplate({ uriTemplate: "x:{id}", name: "x" }, () => handler)
  )
const requests = [
  ["tools/call", { name: "t" }],
  ["prompts/get", { name: "p" }],
  ["resources/read", { uri: "static:" }],
  ["resources/read", { uri: "x:1" }]
] as const

const observed = Effect.gen(function* () {
  const outcomes: Array<string> = []
  const layer = Middleware.observe(({ method }, outcome) =>
    Effect.sync(() => outcomes.push(`${method} ${outcome._tag}`))
  )
  const take = (): ReadonlyArray<string> => outcomes.splice(0)
  return { layer, take }
})
const each = (tag: string) => requests.map(([method]) => `${method} ${tag}`)
const accept = () => Effect.succeed({ action: "accept", content: { name: "Ada" } })

describe("Observers", () => {
  for (const version of everyVersion()) {
    it.effect(`An observer sees answers, failures and defects (${version})`, () =>
      Effect.gen(function* () {
        const { layer, take } = yield* observed
        const run = (handler: Answers<never>) =>
          Effect.gen(function* () {
            const client = yield* session(Layer.merge(everyKind(handler), layer), { version })
            take()
            for (const [method, params] of requests) yield* Effect.exit(client.request(method, params))
            return take()
          })
        assert.deepStrictEqual(yield* run(Effect.succeed("")), each("Answered"))
        assert.deepStrictEqual(yield* run(Effect.fail(McpError.invalidParams("no"))), each("Failed"))
        assert.deepStrictEqual(yield* run(Effect.die(new Error("bug"))), each("Died"))
        assert.deepStrictEqual(yield* run(Effect.andThen(Effect.yieldNow, Effect.succeed(""))), each("Answered"))
      })
    )

    it.effect(`An observer distinguishes a tool's failure from a rejected call (${version})`, () =>
      Effect.gen(function* () {
        const { layer, take } = yield* observed
        const tool = Tools.layer(Tool.make("t", { description: "" }), () =>
          Effect.fail(new Tools.ToolFailure({ message: "no" }))
        )
        const client = yield* session(Layer.merge(tool, layer), { version })
        take()
        yield* client.call("t")
        yield* client.refused("tools/call", { name: "unknown" })
        assert.deepStrictEqual(take(), ["tools/call ToolFailed", "tools/call Failed"])
      })
    )

    it.effect(`An observer sees a cancelled request as cancelled (${version})`, () =>
      Effect.gen(function* () {
        const { layer, take } = yield* observed
        const started = yield* Latch.make()
        const client = yield* session(Layer.merge(everyKind(Effect.andThen(started.open, Effect.never)), layer), {
          version
        })
        take()
        for (const [method, params] of requests) {
          const call = yield* Effect.forkChild(client.request(method, params), { startImmediately: true })
          yield* started.await
          yield* Fiber.interrupt(call)
          yield* quiesce
          yield* started.close
        }
        assert.deepStrictEqual(take(), each("Cancelled"))
      })
    )
  }

  for (const version of everyVersion("2025-06-18")) {
    const rounds = version === "2026-07-28"
    it.effect(
      `An observer sees a question as ${rounds ? "an asked round, then an answered one" : "part of one answered request"} (${version})`,
      () =>
        Effect.gen(function* () {
          const { layer, take } = yield* observed
          const handler = Effect.map(Elicitation.form("Who?", Name), ({ name }) => name)
          const failing = Effect.catch(handler, () => Effect.fail(McpError.internalError("no answer")))
          const client = yield* session(Layer.merge(everyKind(failing), layer), {
            version,
            capabilities,
            answer: accept
          })
          take()
          for (const [method, params] of requests) {
            yield* client.request(method, params)
            assert.deepStrictEqual(take(), rounds ? [`${method} Asked`, `${method} Answered`] : [`${method} Answered`])
          }
        })
    )
  }

  it.effect("An observer sees a waiting 2026-07-28 round as cancelled when its call is interrupted", () =>
    Effect.gen(function* () {
      const { layer, take } = yield* observed
      const waiting = yield* Latch.make()
      const handler = Effect.andThen(waiting.open, Effect.never)
      const client = yield* session(Layer.merge(everyKind(handler), layer), { version: "2026-07-28" })
      take()
      const call = yield* Effect.forkChild(client.call("t"), { startImmediately: true })
      yield* waiting.await
      yield* Fiber.interrupt(call)
      yield* quiesce
      assert.deepStrictEqual(take(), ["tools/call Cancelled"])
    })
  )

  it.effect("An observer outside middleware sees its rejections and questions (2026-07-28)", () =>
    Effect.gen(function* () {
      const { layer, take } = yield* observed
      const inner = Middleware.layer((request, next) => {
        if (request.method !== "tools/call") return next
        if (request.params.name === "refused") return Effect.fail(McpError.invalidRequest("no"))
        return Effect.andThen(Effect.orDie(Elicitation.confirm("May I?")), next)
      })
      const features = Layer.provideMerge(inner, Layer.provideMerge(layer, everyKind(Effect.succeed(""))))
      const client = yield* session(features, { version: "2026-07-28", capabilities, answer: accept })
      take()
      yield* client.refused("tools/call", { name: "refused" })
      yield* Effect.exit(client.call("t"))
      assert.deepStrictEqual(take().slice(0, 2), ["tools/call Failed", "tools/call Asked"])
    })
  )
})

describe("Changing a request", () => {
  const Said = Schema.Struct({ said: Schema.String })
  const features = Layer.mergeAll(
    Tools.layer(Tool.make("say", { description: "", input: Said }), ({ said }) => Effect.succeed(said)),
    Prompts.layer(Prompt.make("say", { arguments: { said: Schema.String } }), ({ said }) => Effect.succeed(said)),
    Resources.layerTemplate({ uriTemplate: "say:{said}", name: "say" }, ({ said }) => Effect.succeed(said))
  )
  const changing = Middleware.layer((request, next, proceed) => {
    switch (request.method) {
      case "tools/call":
        return proceed({ ...request, params: { ...request.params, arguments: { said: "changed" } } })
      case "prompts/get":
        return proceed({ ...request, params: { ...request.params, arguments: { said: "changed" } } })
      case "resources/read":
        return proceed({ ...request, params: { ...request.params, uri: "say:changed" } })
      default:
        return next
    }
  })

  for (const version of everyVersion()) {
    it.effect(
      `Middleware can change a tool, prompt or resource request before inner middleware sees it (${version})`,
      () =>
        Effect.gen(function* () {
          const seen: Array<unknown> = []
          const inner = Middleware.layer((request, next) => {
            if (request.method === "tools/call") seen.push(request.params.arguments)
            return next
          })
          const client = yield* session(Layer.provideMerge(inner, Layer.provideMerge(changing, features)), { version })
          const result = yield* client.call("say", { said: "plain" })
          assert.strictEqual(result.content[0].text, "changed")
          const prompt = yield* client.request("prompts/get", { name: "say", arguments: { said: "plain" } })
          assert.strictEqual(prompt.messages[0].content.text, "changed")
          const read = yield* client.request("resources/read", { uri: "say:plain" })
          assert.strictEqual(read.contents[0].text, "changed")
          assert.deepStrictEqual(seen, [{ said: "changed" }])
        })
    )

    it.effect(`Middleware that changes a request's method is a defect (${version})`, () =>
      Effect.gen(function* () {
        const swapping = Middleware.layer((request, next, proceed) =>
          request.method === "tools/call" ? proceed({ ...request, method: "prompts/get" } as Middleware.Request) : next
        )
        const { layer, take } = yield* observed
        const around = Layer.provideMerge(swapping, Layer.provideMerge(layer, features))
        const client = yield* session(around, { version })
        take()
        const error = yield* client.refused("tools/call", { name: "say", arguments: { said: "plain" } })
        assert.strictEqual(error.code, McpError.InternalError)
        assert.deepStrictEqual(take(), ["tools/call Died"])
      })
    )
  }

  it.effect("Middleware can change every round of a request without breaking its state (2026-07-28)", () =>
    Effect.gen(function* () {
      const asking = Tools.layer(Tool.make("ask", { description: "", input: Said }), ({ said }) =>
        Effect.map(Effect.orDie(Elicitation.form(said, Name)), ({ name }) => `${said} ${name}`)
      )
      const client = yield* session(Layer.merge(asking, changing), {
        version: "2026-07-28",
        capabilities,
        answer: accept
      })
      assert.strictEqual((yield* client.call("ask", { said: "plain" })).content[0].text, "changed Ada")
      assert.strictEqual(client.asked[0]?.params.message, "changed")
    })
  )
})

describe("Middleware for one method", () => {
  const features = Layer.mergeAll(
    Tools.layer(Tool.make("t", { description: "" }), () => Effect.succeed("said")),
    Resources.layer({ uri: "static:", name: "r" }, Effect.succeed("read"))
  )

  for (const version of everyVersion()) {
    it.effect(`Middleware for one method wraps only its requests, in registration order (${version})`, () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const note = (name: string) => Effect.sync(() => seen.push(name))
        const around = (name: string) => Middleware.layer((_, next) => Effect.andThen(note(name), next))
        const one = Middleware.on("tools/call", ({ params }, next, proceed) =>
          Effect.andThen(
            note(`on ${params.name}`),
            params.name === "renamed" ? proceed({ method: "tools/call", params: { ...params, name: "t" } }) : next
          )
        )
        const ordered = Layer.provideMerge(around("last"), Layer.provideMerge(one, around("first")))
        const client = yield* session(Layer.merge(features, ordered), { version })
        seen.splice(0)
        const { content } = yield* client.call("renamed")
        assert.strictEqual(content[0].text, "said")
        yield* client.request("resources/read", { uri: "static:" })
        assert.deepStrictEqual(seen, ["first", "on renamed", "last", "first", "last"])
      })
    )
  }

  it.effect("Middleware for one method wraps no other method and ends with its layer", () =>
    Effect.gen(function* () {
      const { context, middleware } = yield* MiddlewareRegistry.make
      const request = { method: "tools/call", params: { name: "t" } } as const
      const wrapped = () => ["tools/call", "prompts/get"].map((method) => middleware.wraps(method, request))
      const scope = yield* Scope.make()
      const one = Layer.buildWithScope(
        Middleware.on("tools/call", (_, next) => next),
        scope
      )
      yield* Effect.provide(one, context)
      assert.deepStrictEqual(wrapped(), [true, false])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(wrapped(), [false, false])
    })
  )

  it.effect("Conditional middleware sees only matching requests, after outer middleware changed them", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const named = ({ method, params }: Middleware.Request, name: string) =>
        method === "tools/call" && params.name === name
      const wrapped: Array<boolean> = []
      const registered = (middleware: Middleware.Middleware, place?: Middleware.Place) =>
        Layer.effectDiscard(
          Effect.flatMap(Middleware.MiddlewareRegistry, ({ register }) => register(middleware, place))
        )
      const note: Middleware.Middleware = ({ params }, next) =>
        Effect.andThen(
          Effect.sync(() => seen.push(JSON.stringify({ params }))),
          next
        )
      const place = { method: "tools/call", when: (request: Middleware.Request) => named(request, "a") }
      const tools = ["a", "b", "c"].map((name) =>
        Tools.layer(Tool.make(name, { description: "" }), () => Effect.succeed(name))
      )
      const renaming = registered((request, next, proceed) =>
        named(request, "c") ? proceed({ method: "tools/call", params: { name: "a" } }) : next
      )
      const both = Layer.provideMerge(registered(note, place), renaming)
      for (const name of ["a", "b", "c"]) {
        for (const middleware of [registered(note, place), both]) {
          const client = yield* session(Layer.mergeAll(tools[0]!, tools[1]!, tools[2]!, middleware))
          yield* client.call(name)
        }
      }
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 3 }, () => '{"params":{"name":"a"}}')
      )
      const { context, middleware } = yield* MiddlewareRegistry.make
      yield* Effect.provide(Layer.build(registered(note, place)), context)
      for (const name of ["a", "b"]) {
        wrapped.push(middleware.wraps("tools/call", { method: "tools/call", params: { name } }))
      }
      assert.deepStrictEqual(wrapped, [true, false])
    })
  )
})
