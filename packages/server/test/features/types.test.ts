// @effect-diagnostics missingEffectError:off missingLayerContext:off globalErrorInEffectFailure:off -- the compiler says it first, as expected
/** Code that must not compile. The type checker reads this file with all the others and checks each expectation. */
import { EncodedResult } from "@effect-mcp/core/EncodedResult"
import * as Extension from "@effect-mcp/core/Extension"
import * as ElicitationOf from "@effect-mcp/core/Elicitation"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Log } from "@effect-mcp/core/Log"
import { Principal } from "@effect-mcp/core/Principal"
import { Progress } from "@effect-mcp/core/Progress"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Prompts from "@effect-mcp/core/Prompts"
import { RequestContext } from "@effect-mcp/core/RequestContext"
import * as Resources from "@effect-mcp/core/Resources"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Schema, type Scope, Stream } from "effect"

class Kitchen extends Context.Service<Kitchen, { readonly cook: Effect.Effect<string> }>()("Kitchen") {}
const cook = Effect.flatMap(Kitchen, (kitchen) => kitchen.cook)
const Cook = Tool.make("cook", { description: "", input: { dish: Schema.String } })
const Menu = Prompt.make("menu", { arguments: { day: Schema.String } })

type Closed<L> = L extends Layer.Layer<any, any, never> ? true : false
type Services<L> = L extends Layer.Layer<any, any, infer R> ? R : never
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
const holds = <T extends true>(value: T): T => value

const everyRequestService = Effect.gen(function* () {
  yield* Effect.scope
  yield* RequestContext
  yield* Principal
  yield* Progress
  yield* Elicitation
  yield* Sampling
  yield* Roots
  yield* Log
  return ""
})
const serve = <E, R>(features: Layer.Layer<never, E, R>) => McpServer.layer({ name: "t", version: "0", features })

it("A server requires the services its features need, except request services", () => {
  holds<Closed<ReturnType<typeof serve<never, never>>>>(true)

  const tool = serve(Tools.layer(Cook, () => cook))
  holds<Same<Services<typeof tool>, Kitchen>>(true)
  const prompt = serve(Prompts.layer(Menu, () => cook))
  holds<Same<Services<typeof prompt>, Kitchen>>(true)
  const completer = serve(
    Prompts.layer(Menu, () => Effect.succeed(""), { complete: { day: () => Effect.map(cook, (dish) => [dish]) } })
  )
  holds<Same<Services<typeof completer>, Kitchen>>(true)
  const resource = serve(Resources.layer({ uri: "x:", name: "x" }, cook))
  holds<Same<Services<typeof resource>, Kitchen>>(true)
  const watched = serve(Resources.layer({ uri: "x:", name: "x" }, Effect.succeed(""), Stream.fromEffect(cook)))
  holds<Same<Services<typeof watched>, Kitchen>>(true)
  const middleware = serve(Middleware.layer((_, next) => Effect.andThen(cook, next)))
  holds<Same<Services<typeof middleware>, Kitchen>>(true)

  const requests = serve(
    Layer.mergeAll(
      Tools.layer(Cook, () => everyRequestService),
      Prompts.layer(Menu, () => everyRequestService),
      Resources.layer({ uri: "x:", name: "x" }, everyRequestService),
      Middleware.layer((_, next) => Effect.andThen(everyRequestService, next))
    )
  )
  holds<Closed<typeof requests>>(true)

  const perCaller = Stream.unwrap(Effect.as(Principal, Stream.never))
  // @ts-expect-error one watcher serves all subscribers: it has no principal
  Resources.layer({ uri: "x:", name: "x" }, Effect.succeed(""), perCaller)
  Resources.layerTemplate(
    { uriTemplate: "x:{a}", name: "x" },
    () => Effect.succeed(""),
    // @ts-expect-error the same of a template's members
    () => perCaller
  )

  // @ts-expect-error a server without its Kitchen is not complete
  const incomplete: Layer.Layer<McpServer.McpServer> = tool
  const complete: Layer.Layer<McpServer.McpServer> = Layer.provide(
    tool,
    Layer.succeed(Kitchen, { cook: Effect.succeed("") })
  )
  assert.isDefined(incomplete ?? complete)
})

it("Handlers must match their contract", () => {
  class Full extends Schema.TaggedError<Full>()("Full", {}) {}
  class Other extends Schema.TaggedError<Other>()("Other", {}) {}
  const Sum = Tool.make("sum", {
    description: "",
    input: { a: Schema.Int },
    output: { sum: Schema.Int },
    failure: Full
  })

  Tools.layer(Sum, ({ a }) => (a > 1 ? Effect.succeed({ sum: a }) : Effect.fail(new Full())))
  // @ts-expect-error a failure that is not declared
  Tools.layer(Sum, () => Effect.fail(new Other()))
  // @ts-expect-error a failure of a tool that declares none
  Tools.layer(Cook, () => Effect.fail(new Error("x")))
  // @ts-expect-error an async handler
  Tools.layer(Cook, async ({ dish }) => dish)
  // The compiler error says what to use: ToolFailure, failure:, Effect.tryPromise.
  type Failing = Tools.Mistake<Effect.Effect<string, Full | Other | Tools.ToolFailure>, Full, string>
  holds<Same<Failing, Effect.Effect<string, Tools.Undeclared<Other>>>>(true)
  // A ternary has a single return type: its undeclared failure gets the same explanation.
  type Ternary = Tools.Mistake<Effect.Effect<string> | Effect.Effect<never, Other>, Full, string>
  holds<Same<Ternary, Effect.Effect<string, Tools.Undeclared<Other>>>>(true)
  holds<Same<Tools.Mistake<Promise<string>, never, string>, Tools.NoEffect<Promise<string>>>>(true)
  type Advice = keyof Tools.Undeclared<Other> | keyof Tools.NoEffect<string>
  holds<Advice extends `${string}ToolFailure${string}` ? true : false>(true)
  holds<keyof Tools.Undeclared<Other> extends `${string}\`failure:\`${string}` ? true : false>(true)
  Tools.layer(Cook, ({ dish }) => Effect.succeed(dish), {
    limits: { bytes: 1 },
    // @ts-expect-error a misspelt option is reported at its name, not as a mistake of the handler
    visable: () => true
  })
  // @ts-expect-error an output that does not fit
  Tools.layer(Sum, () => Effect.succeed({ sum: "1" }))
  // @ts-expect-error an input that is not there
  Tools.layer(Sum, ({ b }) => Effect.succeed({ sum: b }))
  // @ts-expect-error neither text nor content
  Tools.layer(Cook, () => Effect.succeed(42))
  // @ts-expect-error a completer must not ask the user
  const asks: Layer.Layer<never, never, McpServer.Registries> = Prompts.layer(Menu, () => Effect.succeed(""), {
    complete: { day: () => Effect.map(Elicitation, () => []) }
  })
  // @ts-expect-error a prompt's argument travels as a string
  assert.throws(() => Prompt.make("p", { arguments: { n: Schema.Finite } }))
  // @ts-expect-error a resource is text, bytes or contents
  Resources.layer({ uri: "x:", name: "x" }, Effect.succeed(42))
  assert.isDefined(asks)
})

it("Completers, variables and forms must match their features", () => {
  const none = () => Effect.succeed([])
  Prompts.layer(Menu, ({ day }) => Effect.succeed(day), { complete: { day: none } })
  Prompts.layer(Menu, ({ day }) => Effect.succeed(day), {
    // @ts-expect-error the prompt has no such argument
    complete: { dya: none }
  })
  Resources.layerTemplate(
    { uriTemplate: "x://{id}/{+path}/{list*}{?page}", name: "x", complete: { id: none, path: none } },
    (variables, uri) => {
      holds<Same<typeof variables.id, string>>(true)
      holds<Same<typeof variables.path, string>>(true)
      holds<Same<typeof variables.list, string | ReadonlyArray<string>>>(true)
      holds<Same<typeof variables.page, string | undefined>>(true)
      return Effect.succeed(uri)
    }
  )
  // @ts-expect-error the template has no such variable
  Resources.layerTemplate({ uriTemplate: "x://{id}", name: "x" }, ({ di }) => Effect.succeed(di))
  Resources.layerTemplate(
    // @ts-expect-error the template has no such variable to complete
    { uriTemplate: "x://{id}", name: "x", complete: { di: none } },
    () => Effect.succeed("")
  )
  const text: string = "x://{id}"
  Resources.layerTemplate({ uriTemplate: text, name: "x", complete: { id: none } }, ({ id }) =>
    Effect.succeed(String(id))
  )
  const Choice = Schema.Struct({
    size: Schema.Literals(["s", "l"]),
    n: Schema.optionalKey(Schema.Int),
    tags: Schema.Array(Schema.Literals(["a", "b"])),
    on: Schema.DateTimeUtcFromString
  })
  holds<Same<Effect.Success<ReturnType<typeof Choices>>, typeof Choice.Type>>(true)
  const Choices = () => ElicitationOf.form("?", Choice)
  // @ts-expect-error a field of a form is no object
  const nested = ElicitationOf.form("?", Schema.Struct({ address: Schema.Struct({ city: Schema.String }) }))
  const Addresses = Schema.Struct({ addresses: Schema.Array(Schema.Struct({ city: Schema.String })) })
  // @ts-expect-error nor an array of objects
  const array = ElicitationOf.form("?", Addresses)
  assert.isDefined([Choices, nested, array])
})

it("Connecting requires only a scope", () => {
  type Connect = ReturnType<McpServer.McpServer["Service"]["connect"]>
  assert.isTrue(holds<Same<Effect.Services<Connect>, Scope.Scope>>(true))
  assert.isTrue(holds<Same<Effect.Error<Connect>, never>>(true))
})

it("A server with a missing request service does not compile", () => {
  class User extends Context.Service<User, { readonly name: string }>()("User") {}
  class Tenant extends Context.Service<Tenant, string>()("Tenant") {}
  const say = Effect.map(User, ({ name }) => name)
  const tool = Tools.layer(Cook, () => say)
  const user = Middleware.provide(User, Effect.succeed({ name: "ada" }))
  // @ts-expect-error User is missing
  const incomplete: Layer.Layer<McpServer.McpServer> = serve(tool)
  const complete: Layer.Layer<McpServer.McpServer> = serve(Layer.provide(tool, user))
  const tenant = Middleware.provide(Tenant, say)
  holds<Same<Services<typeof tenant>, User>>(true)
  const met: Layer.Layer<Tenant> = Layer.provide(tenant, user)
  // Services of the request are not requirements of the layers that create services from them.
  const asks: Layer.Layer<Tenant> = Middleware.provide(Tenant, Effect.orDie(everyRequestService))
  // @ts-expect-error its failure is an McpError
  Middleware.provide(User, Effect.fail("no"))
  // @ts-expect-error the value must have the type of the tag
  Middleware.provide(User, Effect.succeed("ada"))
  // @ts-expect-error an eager one registers with the server
  const alone: Layer.Layer<User> = Middleware.provide(User, Effect.succeed({ name: "" }), { eager: true })
  assert.isDefined([incomplete, complete, met, asks, alone])
})

it("Middleware for one method is typed with that method's params and result", () => {
  Middleware.on("tools/call", ({ params }, next) =>
    Effect.map(next, (result) => (params.name === "" ? result : result))
  )
  Middleware.on("resources/read", ({ params }, next, proceed) =>
    params.uri === "" ? next : proceed({ method: "resources/read", params: { uri: "x:" } })
  )
  // @ts-expect-error a result may be of another kind, without content
  Middleware.on("tools/call", (_, next) => Effect.tap(next, ({ content }) => Effect.log(content)))
  Middleware.on("tools/call", (_, next) =>
    Effect.tap(next, (result) => ("content" in result ? Effect.log(result.content[0]) : Effect.void))
  )
  const Later = Extension.make("com.example/later")
  Middleware.on("tools/call", () => Effect.succeed(EncodedResult.of(Later, "ticket", {})))
  // @ts-expect-error a call has no uri
  Middleware.on("tools/call", ({ params }, next) => (params.uri === "" ? next : next))
  // @ts-expect-error a list of tools is no result of a call
  Middleware.on("tools/call", () => Effect.succeed({ tools: [] }))
  // @ts-expect-error the handshake is the session's
  Middleware.on("initialize", (_, next) => next)
  const needy = serve(Middleware.on("tools/list", (_, next) => Effect.andThen(cook, next)))
  holds<Same<Services<typeof needy>, Kitchen>>(true)
  assert.isDefined(needy)
})
