/**
 * One conversation with the server of this command line, from the wire to the last log line.
 *
 * Owns what is said beside the answers: the server's log messages, its stderr, junk on the wire. All of it goes to our stderr, and is
 * written out before the command ends.
 */
import { Consent } from "@effect-mcp/client/Consent"
import * as McpClient from "@effect-mcp/client/McpClient"
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
import type { CommandTarget } from "../target/Target.ts"

/** The server of this command line; none if it names none, which only matters to commands that need one. */
export class SelectedServer extends Context.Service<SelectedServer, { readonly target: CommandTarget | undefined }>()(
  "@effect-mcp/cli/Server"
) {}

/** What a command works with. */
export interface CommandSession {
  readonly client: McpClient.McpClient["Service"]
  readonly settings: Settings
  readonly output: Output["Service"]
  /** For requests during which the server may ask the user: a person takes as long as they take. */
  readonly patient: McpClient.CallOptions
}

/** Of this package. */
export const version = "0.1.0"

export const noServer = usage(
  "No server: put its command or its URL after --, for example: effect-mcp tools -- node server.js"
)

/** The server of this command line: after `--`, or by `--config`. */
export const chosen = Effect.fnUntraced(function* ({ config, server }: Settings) {
  const { target } = yield* SelectedServer
  if (config === undefined) return target ?? (yield* noServer)
  if (target !== undefined) return yield* usage("--config names the server already: leave out what is after --")
  // Loaded when needed: most command lines name no file.
  const Configured = yield* Effect.promise(() => import("../hosts/Configured.ts"))
  return yield* Configured.target(config, server)
})

const logLine = ({ data, level, logger }: LogMessageParams, style: Style): string => {
  const severe = level !== "debug" && level !== "info" && level !== "notice"
  const text = typeof data === "string" ? safe(data) : jsonLine(data)
  const head = `[${safeLine(level)}]${logger === undefined ? "" : ` ${safeLine(logger)}:`}`
  return `${severe ? style.yellow(head) : style.dim(head)} ${text}`
}

/** Folders as file URIs, named like themselves. */
const rootsOf = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
  const path = yield* Path.Path
  return yield* Effect.forEach(paths, (given) =>
    given.startsWith("file:")
      ? Effect.succeed({ uri: given })
      : Effect.map(
          Effect.mapError(path.toFileUrl(path.resolve(given)), () => usage(`--root ${given} is no path`)),
          ({ href }) => ({ uri: href, name: path.basename(path.resolve(given)) })
        )
  )
})

/** The services that the client offers to the server, by the flags and the terminal. */
const offered = Effect.fnUntraced(function* (options: Questions.Options & { readonly settings: Settings }) {
  const { roots, sample } = options.settings
  const elicitation = Questions.elicitation(options)
  const folders = yield* rootsOf(roots)
  return Layer.mergeAll(
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
    Layer.effect(Consent, Questions.consent(options))
  )
})

/** Runs `body` with a connected client, which ends with it. `leavesTasks`: the questions of tasks are left to another command. */
export const use = <A, E, R>(
  body: (session: CommandSession) => Effect.Effect<A, E, R>,
  { leavesTasks }: Pick<Questions.Options, "leavesTasks"> = {}
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const settings = yield* readSettings
      const output = yield* Output
      const target = yield* chosen(settings)
      const outer = yield* Effect.scope
      const listeners: Array<Fiber.Fiber<void>> = []
      /** Listens until the connection is closed, which ends these streams. */
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
      // What must be expected, such as an answer that comes late, is for --verbose.
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
        const client = yield* McpClient.open(wire, {
          clientInfo: { name: "effect-mcp", title: "effect-mcp command", version },
          revisions: settings.revision === undefined ? undefined : [settings.revision],
          // A login takes as long as its user needs; it has a time limit of its own.
          timeout: settings.timeout ?? (output.canAsk && target.mayDemandLogin === true ? "6 minutes" : undefined),
          // What becomes of this one conversation is what is to be shown.
          reconnect: false,
          // Shown before it is judged: see `call`.
          validateOutput: false,
          dropped
        }).pipe(Effect.provide(yield* offered({ output, server: target.name, settings, leavesTasks })))
        yield* listen(client.logs, (log) => logLine(log, output.noteStyle))
        if (settings.logLevel !== undefined) yield* client.setLogLevel(settings.logLevel)
        const patient = settings.timeout ?? (output.canAsk ? Duration.infinity : undefined)
        return yield* body({ client, settings, output, patient: { timeout: patient, maxTotal: Duration.infinity } })
      })
      return yield* Effect.ensuring(
        Effect.scoped(conversation),
        Effect.suspend(() => Effect.timeoutOption(Fiber.awaitAll(listeners), "1 second"))
      )
    })
  )
