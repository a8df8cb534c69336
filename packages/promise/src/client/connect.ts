/** Opens the client for a target: a child process, a URL, or a server in this process. */
import type * as Client from "@effect-mcp/client/Client"
import * as Fetch from "@effect-mcp/client/Fetch"
import * as EffectClient from "@effect-mcp/client/McpClient"
import * as Limits from "@effect-mcp/client/QuestionLimits"
import * as Stdio from "@effect-mcp/client/Stdio"
import * as Memory from "@effect-mcp/core/Memory"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { checkedOptions, type Known, required } from "../server/checked.ts"
import { principalOf } from "../server/principal.ts"
import { runtimeOf } from "../server/running.ts"
import type { ServerRuntime } from "../server/runtime.ts"
import type { Principal } from "../handler/Context.ts"
import { answers } from "./answers.ts"
import type { CommandTarget, ConnectOptions, QuestionLimits, QuestionRate, Target, UrlTarget } from "./Options.ts"

const known: Known<ConnectOptions> = {
  elicitation: "object",
  sampling: "function",
  samplingTools: "boolean",
  roots: "any",
  questionLimits: "object",
  clientInfo: "object",
  revisions: "array",
  timeout: "number",
  maxTotal: "number",
  reconnect: "boolean",
  tasks: "boolean",
  principal: "object"
}
const knownQuestions: Known<NonNullable<ConnectOptions["elicitation"]>> = { form: "function", url: "function" }

const knownQuestionLimits: Known<QuestionLimits> = { sampling: "any", elicitation: "any", toolIterations: "number" }
const knownRate: Known<QuestionRate> = { requests: "number", per: "number" }

const checkedQuestionLimits = (limits: QuestionLimits): void => {
  const where = "McpClient.connect, questionLimits"
  const { elicitation, sampling } = checkedOptions(where, limits, knownQuestionLimits)
  for (const [name, rate] of Object.entries({ elicitation, sampling })) {
    if (rate === undefined || rate === false) continue
    const { per, requests } = checkedOptions(`${where}.${name}`, rate, knownRate)
    required(`${where}.${name}`, "requests", requests, "number")
    required(`${where}.${name}`, "per", per, "number")
  }
}

type Opened = Effect.Effect<Client.Client, Client.ConnectError, Scope.Scope>

const settings = ({ clientInfo, maxTotal, reconnect, revisions, tasks, timeout }: ConnectOptions): Client.Options => ({
  clientInfo,
  maxTotal,
  revisions,
  tasks,
  timeout,
  ...(reconnect === false && { reconnect })
})

/** Loads Node's services, which only the clients of child processes need. */
const nodeServices = Effect.tryPromise({
  try: () => import("@effect/platform-node/NodeServices"),
  catch: (cause) =>
    new TransportError({ reason: "Open", message: "Failed to load @effect/platform-node/NodeServices", cause })
})

const command = (target: CommandTarget, options: Client.Options): Opened =>
  Effect.flatMap(nodeServices, (NodeServices) =>
    Effect.provide(EffectClient.open(Stdio.open(target), options), NodeServices.layer)
  )

const url = (target: UrlTarget, options: Client.Options): Opened => EffectClient.open(Fetch.open(target), options)

/** Connects within this process. The session ends when either the client or the server closes. */
const memory = (runtime: ServerRuntime, options: Client.Options, principal: Principal | undefined): Opened =>
  Effect.gen(function* () {
    runtime.assertOpen()
    const server = yield* runtime.server
    const scope = yield* Scope.fork(yield* Effect.scope)
    const [near, far] = yield* Scope.provide(Memory.pair(), scope)
    const session = yield* Scope.provide(server.connect(far, { principal }), scope)
    const close = Effect.andThen(session.drain(runtime.drain), Scope.close(scope, Exit.void))
    yield* Effect.acquireRelease(
      Effect.sync(() => runtime.onClose(() => Effect.runPromise(close))),
      (forget) => Effect.sync(forget)
    )
    return yield* EffectClient.connect(near, options)
  }).pipe(Effect.provideService(Logger.LogToStderr, true))

const foreignPrincipal: Opened = Effect.sync(() => {
  throw new TypeError(
    "The `principal` option only works with an McpServer in the same process. For other servers, authenticate with `headers`"
  )
})

const unknownTarget = (target: unknown): Opened => {
  const given = typeof target === "string" ? JSON.stringify(target) : `a value of type ${typeof target}`
  return Effect.die(
    new TypeError(`Cannot connect to ${given}: expected { command, args }, { url, headers }, a URL or an McpServer`)
  )
}

const opened = (target: Target, options: Client.Options, principal: Principal | undefined): Opened => {
  // Callers in plain JavaScript may pass null.
  const runtime = typeof target === "object" && target !== null ? runtimeOf(target) : undefined
  if (runtime !== undefined) return memory(runtime, options, principal)
  if (principal !== undefined) return foreignPrincipal
  if (typeof target === "string" && /^https?:/i.test(target)) return url({ url: target }, options)
  if (typeof target !== "object") return unknownTarget(target)
  if (target instanceof URL) return url({ url: target }, options)
  if ("command" in target) return command(target, options)
  if ("url" in target) return url(target, options)
  return unknownTarget(target)
}

/** Opens a client that closes with the scope. Validates the options first. */
export const connect = (target: Target, options: ConnectOptions): Opened =>
  Effect.suspend(() => {
    const { elicitation, principal, questionLimits } = checkedOptions("McpClient.connect", options, known)
    if (elicitation !== undefined) checkedOptions("McpClient.connect, elicitation", elicitation, knownQuestions)
    if (questionLimits !== undefined) checkedQuestionLimits(questionLimits)
    const user = principal === undefined ? undefined : principalOf("McpClient.connect received", principal)
    const limits = questionLimits === undefined ? Layer.empty : Limits.layer(questionLimits)
    return Effect.provide(opened(target, settings(options), user), Layer.merge(answers(options), limits))
  })
