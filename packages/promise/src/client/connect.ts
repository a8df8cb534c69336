/** Opens the client of a target: a child process, a URL, or a server in this process. What a target does not need is not loaded. */
import type * as Client from "@effect-mcp/client/Client"
import * as EffectClient from "@effect-mcp/client/McpClient"
import { imported } from "@effect-mcp/client/internal/Late"
import * as Stdio from "@effect-mcp/client/Stdio"
import * as Memory from "@effect-mcp/core/Memory"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { runtimeOf } from "../server/running.ts"
import type { ServerRuntime } from "../server/runtime.ts"
import { answers } from "./answers.ts"
import type { CommandTarget, ConnectOptions, Target, UrlTarget } from "./Options.ts"

type Opened = Effect.Effect<Client.Client, Client.ConnectError, Scope.Scope>

const settings = ({ clientInfo, maxTotal, reconnect, revisions, timeout }: ConnectOptions): Client.Options => ({
  clientInfo,
  maxTotal,
  revisions,
  timeout,
  ...(reconnect === false && { reconnect })
})

const command = (target: CommandTarget, options: Client.Options): Opened =>
  Effect.flatMap(
    imported(() => import("@effect/platform-node/NodeServices")),
    (NodeServices) => Effect.provide(EffectClient.open(Stdio.open(target), options), NodeServices.layer)
  )

const url = (target: UrlTarget, options: Client.Options): Opened =>
  Effect.flatMap(
    imported(() => import("@effect-mcp/client/Fetch")),
    ({ open }) => EffectClient.open(open(target), options)
  )

/** The session ends with the client or the server, whichever closes first. */
const memory = (runtime: ServerRuntime, options: Client.Options): Opened =>
  Effect.gen(function* () {
    const server = yield* runtime.server
    const session = yield* Scope.fork(yield* Effect.scope)
    const close = Scope.close(session, Exit.void)
    yield* Effect.acquireRelease(
      Effect.sync(() => runtime.onClose(() => Effect.runPromise(close))),
      (forget) => Effect.sync(forget)
    )
    const [near, far] = yield* Scope.provide(Memory.pair(), session)
    yield* Scope.provide(server.connect(far), session)
    return yield* EffectClient.connect(near, options)
  }).pipe(Effect.provideService(Logger.LogToStderr, true))

const opened = (target: Target, options: Client.Options): Opened => {
  const runtime = runtimeOf(target)
  if (runtime !== undefined) return memory(runtime, options)
  if (target instanceof URL) return url({ url: target }, options)
  if ("command" in target) return command(target, options)
  if ("url" in target) return url(target, options)
  return Effect.die(new TypeError("A client connects to { command }, { url }, a URL or an McpServer"))
}

/** A client for as long as the scope. */
export const connect = (target: Target, options: ConnectOptions): Opened =>
  Effect.provide(opened(target, settings(options)), answers(options))
