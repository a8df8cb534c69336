/**
 * Connects a command to its server.
 *
 * Also writes the server's log messages, its stderr and invalid input to stderr, and completes that before the command ends.
 */
import { Consent } from "@effect-mcp/client/Consent"
import * as McpClient from "@effect-mcp/client/McpClient"
import { type Confinement, describe } from "@effect-mcp/client/Sandbox"
import * as Roots from "@effect-mcp/core/Roots"
import * as Sampling from "@effect-mcp/core/Sampling"
import type { LogMessageParams } from "@effect-mcp/protocol/model/Logging"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { usage } from "../terminal/Exit.ts"
import { Output } from "../terminal/Output.ts"
import * as Questions from "../questions/Questions.ts"
import { jsonLine } from "../render/Text.ts"
import { type Settings, settings as readSettings } from "../target/Settings.ts"
import type { Style } from "../terminal/Style.ts"
import { safe, safeLine } from "../terminal/Style.ts"
import * as PackageSpec from "../target/PackageSpec.ts"
import * as Target from "../target/Target.ts"

type CommandTarget = Target.CommandTarget

/** The server on this command line, or `undefined` if there is none. */
export class SelectedServer extends Context.Service<SelectedServer, { readonly target: CommandTarget | undefined }>()(
  "@effect-mcp/cli/Server"
) {}

/** The client and settings that a command runs with. */
export interface CommandSession {
  readonly client: McpClient.McpClient["Service"]
  readonly settings: Settings
  readonly output: Output["Service"]
  /** True if flags or the terminal can answer the server's questions. */
  readonly canAnswer: boolean
  /** The server's name in lock files. */
  readonly pinName: string
  /** Options for requests during which the server may ask the user. On a terminal, they have no time limit. */
  readonly patient: McpClient.CallOptions
}

/** Version of this package. */
export const version = "0.1.0"

export const noServer = usage(
  "No server given: put its command or its URL after --, for example: effect-mcp tools -- node server.js"
)

/** Returns the server with the command line of `--sandbox`. */
export const confined = Effect.fnUntraced(function* (target: CommandTarget, { roots, sandbox }: Settings) {
  if (sandbox === undefined) return target
  if (!Target.isCommand(target)) return yield* usage("--sandbox confines a command, but the server is not one")
  const { note, noteStyle } = yield* Output
  const path = yield* Path.Path
  const write = yield* Effect.forEach(yield* rootsOf(roots), ({ uri }) =>
    Effect.mapError(path.fromFileUrl(new URL(uri)), () => usage(`--root ${uri} is not a path`))
  )
  const confinement = {
    network: sandbox.network,
    write,
    report: (found: Confinement) => note(noteStyle.dim(`[sandbox] ${describe(found)}`))
  }
  return { ...target, connect: (options: Target.Options) => target.connect({ ...options, confinement }) }
})

/** Returns the server on this command line, from the words after `--` or from `--config`. */
export const chosen = Effect.fnUntraced(function* (settings: Settings) {
  const { config, server } = settings
  const { target } = yield* SelectedServer
  if (config === undefined) return yield* confined(target ?? (yield* noServer), settings)
  if (target !== undefined) return yield* usage("--config already names the server. Leave out everything after --")
  // Loaded on demand, because most command lines don't use it.
  const Configured = yield* Effect.promise(() => import("../hosts/Configured.ts"))
  return yield* confined(yield* Configured.target(config, server), settings)
})

const logLine = ({ data, level, logger }: LogMessageParams, style: Style): string => {
  const severe = level !== "debug" && level !== "info" && level !== "notice"
  const text = typeof data === "string" ? safe(data) : jsonLine(data)
  const head = `[${safeLine(level)}]${logger === undefined ? "" : ` ${safeLine(logger)}:`}`
  return `${severe ? style.yellow(head) : style.dim(head)} ${text}`
}

/** Converts folders to roots with their names. */
export const rootsOf = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
  const path = yield* Path.Path
  return yield* Effect.forEach(paths, (given) =>
    given.startsWith("file:")
      ? Effect.succeed({ uri: given })
      : Effect.map(
          Effect.mapError(path.toFileUrl(path.resolve(given)), () => usage(`--root ${given} is not a path`)),
          ({ href }) => ({ uri: href, name: path.basename(path.resolve(given)) })
        )
  )
})

/** Returns a server's name in lock files and rules. It stays the same when a package's version changes. */
const pinName = ({ server }: Pick<Settings, "server">, target: CommandTarget): string =>
  server ?? PackageSpec.withoutVersion(target.name)

/** Returns the guards of `--lock` and `--policy`, which apply to the client. Empty without these flags. */
export const guards = Effect.fnUntraced(function* (
  settings: Pick<Settings, "lock" | "policy" | "server">,
  target: CommandTarget,
  output: Output["Service"]
) {
  const { lock, policy } = settings
  if (lock === undefined && policy === undefined) return Context.empty()
  const Guards = yield* Effect.promise(() => import("./Guards.ts"))
  return yield* Guards.make({ lock, policy, name: pinName(settings, target), output })
})

/** Marks the requests of a command as the user's, if guards decide about them. */
export const byUser = <A, E, R>({ lock, policy }: Pick<Settings, "lock" | "policy">, effect: Effect.Effect<A, E, R>) =>
  lock === undefined && policy === undefined
    ? effect
    : Effect.flatMap(
        Effect.promise(() => import("./Guards.ts")),
        (Guards) => Guards.byUser(effect)
      )

/** Provides the services with which the client answers the server, based on the flags and the terminal. */
const offered = Effect.fnUntraced(function* (options: Questions.Options & { readonly settings: Settings }) {
  const { roots, sample } = options.settings
  const elicitation = Questions.elicitation(options)
  const folders = yield* rootsOf(roots)
  const policy = yield* Questions.consent(options)
  const canAnswer = elicitation !== undefined || folders.length > 0 || sample !== undefined
  const services = Layer.mergeAll(
    elicitation ?? Layer.empty,
    folders.length === 0 ? Layer.empty : Roots.layerStatic(folders),
    sample === undefined
      ? Layer.empty
      : Sampling.layer(() =>
          Effect.succeed({
            role: "assistant",
            content: { type: "text", text: sample },
            model: "effect-mcp --sample",
            stopReason: "endTurn"
          })
        ),
    Layer.succeed(Consent, policy)
  )
  return { canAnswer, services, policy }
})

/** How a command uses its client. */
export interface UseOptions extends Pick<Questions.Options, "leavesTasks"> {
  /** Extensions to declare to the server. Default none. */
  readonly extensions?: Layer.Layer<never> | undefined
  /** True to ignore `--lock` and `--policy`, because the command only compares lists with the lock file. Default false. */
  readonly ignoresGuards?: boolean | undefined
}

/**
 * Runs `body` with a connected client and the terminal's consent policy. The client is closed afterwards. With `leavesTasks`, tasks'
 * questions are left to another command.
 */
export const use = <A, E, R>(
  body: (session: CommandSession) => Effect.Effect<A, E, R>,
  { extensions = Layer.empty, ignoresGuards = false, leavesTasks }: UseOptions = {}
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const settings = yield* readSettings
      const output = yield* Output
      const target = yield* chosen(settings)
      const outer = yield* Effect.scope
      const listeners: Array<Fiber.Fiber<void>> = []
      /** Prints a stream's events until the connection closes. */
      const listen = <T>(stream: Stream.Stream<T>, line: (event: T) => string) =>
        Effect.map(
          Effect.forkIn(
            Stream.runForEach(stream, (event) => output.note(line(event))),
            outer,
            { startImmediately: true }
          ),
          (fiber) => void listeners.push(fiber)
        )
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      const { dim } = output.noteStyle
      // Expected events, such as a late answer, are for --verbose.
      const dropped = (reason: string, level: "Warn" | "Debug") =>
        level === "Debug" && !settings.verbose
          ? undefined
          : void runFork(output.note(dim(`[ignored] ${safeLine(reason)}`)))

      const conversation = Effect.gen(function* () {
        const wire = target.connect({
          env: settings.env,
          cwd: settings.cwd,
          headers: settings.headers,
          transport: settings.transport,
          tell: output.canAsk ? output.note : undefined,
          words: (lines) => (settings.verbose ? listen(lines, (line) => dim(`[server] ${safe(line)}`)) : Effect.void)
        })
        const { canAnswer, policy, services } = yield* offered({ output, server: target.name, settings, leavesTasks })
        const guarded = ignoresGuards ? Context.empty() : yield* guards(settings, target, output)
        const client = yield* McpClient.open(wire, {
          clientInfo: { name: "effect-mcp", title: "effect-mcp command", version },
          revisions: settings.revision === undefined ? undefined : [settings.revision],
          // Logging in may take a user a while, and has a separate time limit.
          timeout: settings.timeout ?? (output.canAsk && target.mayDemandLogin === true ? "6 minutes" : undefined),
          // The command reports the end of this connection, so it does not reconnect.
          reconnect: false,
          // The `call` command prints the result before it validates it.
          validateOutput: false,
          dropped
        }).pipe(Effect.provide(Layer.merge(services, extensions)), Effect.provideContext(guarded))
        yield* listen(client.logs, (log) => logLine(log, output.noteStyle))
        if (settings.logLevel !== undefined) yield* client.setLogLevel(settings.logLevel)
        const patient = settings.timeout ?? (output.canAsk ? Duration.infinity : undefined)
        const limits = { timeout: patient, maxTotal: Duration.infinity }
        return yield* Effect.provideService(
          byUser(
            settings,
            body({ client, settings, output, canAnswer, patient: limits, pinName: pinName(settings, target) })
          ),
          Consent,
          policy
        )
      })
      return yield* Effect.ensuring(
        Effect.scoped(conversation),
        Effect.suspend(() => Effect.timeoutOption(Fiber.awaitAll(listeners), "1 second"))
      )
    })
  )
