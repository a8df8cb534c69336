/** A client program, started once per conversation. */
import { inheritedEnvironment } from "@effect-mcp/client/Stdio"
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { PlatformError } from "effect/PlatformError"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type * as Scope from "effect/Scope"
import type * as SocketServer from "effect/socket/SocketServer"
import { signalOf, TargetError } from "../target/Target.ts"
import { type ClientTarget, done, settled } from "./ClientTarget.ts"
import type { HttpHandler } from "./HttpDouble.ts"
import type { Ending } from "./model/ClientModel.ts"
import { listen } from "./relay.ts"

export interface CommandOptions {
  readonly command: string
  /** Arguments of the program. The server's URL or command is appended. */
  readonly args?: ReadonlyArray<string> | undefined
  readonly env?: { readonly [name: string]: string } | undefined
  readonly cwd?: string | undefined
  /** The scenario to run. Default `tools_call`: lists the tools and calls `add_numbers`. */
  readonly scenario?: string | undefined
}

/** Signals that a program receives because of a bug in its code, with their numbers. */
const faults = new Map([
  ["SIGILL", 4],
  ["SIGTRAP", 5],
  ["SIGABRT", 6],
  ["SIGBUS", 7],
  ["SIGFPE", 8],
  ["SIGSEGV", 11],
  ["SIGSYS", 31]
])

/** True for the exit codes of such a signal in a shell, and of an exception on Windows. */
const isFault = (code: number): boolean => code >= 0xc0000000 || [...faults.values()].includes(code - 128)

const endingOf = (code: number): Ending =>
  code === 0 ? done : { kind: isFault(code) ? "crashed" : "failed", how: `exited with code ${code}` }

const endingBySignal = (error: PlatformError): Ending => {
  const signal = signalOf(error)
  if (signal === undefined) return { kind: "failed", how: error.message }
  return { kind: faults.has(signal) ? "crashed" : "failed", how: `was stopped by ${signal}` }
}

/** Runs the client once, with these additional arguments. */
type Start = (
  words: ReadonlyArray<string>,
  revision: Version,
  env?: { readonly [name: string]: string }
) => Effect.Effect<Ending, TargetError>

const nameOf = ({ args = [], command }: CommandOptions): string => [command, ...args].join(" ")

const starting = (options: CommandOptions): Effect.Effect<Start, never, ChildProcessSpawner> =>
  Effect.map(ChildProcessSpawner, (spawner): Start => {
    const { args = [], command, cwd, env, scenario = "tools_call" } = options
    const cannot = ({ message }: { readonly message: string }) =>
      new TargetError({ message: `Cannot start ${nameOf(options)}: ${message}` })
    return (words, revision, more) => {
      const child = ChildProcess.make(command, [...args, ...words], {
        env: {
          ...inheritedEnvironment(),
          MCP_CONFORMANCE_SCENARIO: scenario,
          MCP_CONFORMANCE_PROTOCOL_VERSION: revision,
          ...more,
          ...env
        },
        ...(cwd === undefined ? undefined : { cwd }),
        stdin: "ignore",
        stdout: "ignore",
        stderr: "ignore",
        killSignal: "SIGKILL"
      })
      const ended = Effect.flatMap(Effect.mapError(spawner.spawn(child), cannot), ({ exitCode }) =>
        Effect.match(exitCode, {
          onSuccess: endingOf,
          onFailure: endingBySignal
        })
      )
      return Effect.scoped(ended)
    }
  })

/**
 * Creates a target from a client program that follows the official conformance suite's convention. The URL is the last argument, and the
 * environment variables `MCP_CONFORMANCE_SCENARIO` and `MCP_CONFORMANCE_PROTOCOL_VERSION` contain the scenario and the revision. The
 * program is started once per conversation.
 */
export const command = (
  options: CommandOptions
): Effect.Effect<ClientTarget, never, ChildProcessSpawner | HttpServer.HttpServer | Scope.Scope> =>
  Effect.gen(function* () {
    const start = yield* starting(options)
    const { address } = yield* HttpServer.HttpServer
    const port = address._tag === "UnixPathAddress" ? 0 : address.port
    const handlers = new Map<string, HttpHandler>()
    // Each conversation has a separate path.
    const app = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const handler = handlers.get(url.split("/")[1] ?? "")
      return handler === undefined
        ? HttpServerResponse.empty({ status: 404 })
        : yield* HttpEffect.fromWebHandler(handler)
    })
    yield* Effect.forkScoped(HttpServer.serveEffect(app))
    let next = 0
    return {
      name: nameOf(options),
      transport: "http",
      run: ({ answer }, revision) =>
        Effect.suspend(() => {
          const path = `${++next}`
          handlers.set(path, answer)
          return Effect.ensuring(
            start([`http://127.0.0.1:${port}/${path}/mcp`], revision),
            Effect.sync(() => handlers.delete(path))
          )
        })
    }
  })

/**
 * Creates a target from a client program that starts its server over stdio. The server's command is appended to the arguments and is also
 * available in `MCP_SERVER_COMMAND`, as a JSON array. `MCP_CONFORMANCE_SCENARIO` and `MCP_CONFORMANCE_PROTOCOL_VERSION` are set as for
 * `command`.
 */
export const stdioCommand = (
  options: CommandOptions
): Effect.Effect<
  ClientTarget,
  TargetError,
  ChildProcessSpawner | FileSystem.FileSystem | SocketServer.SocketServer | Scope.Scope
> =>
  Effect.gen(function* () {
    const start = yield* starting(options)
    const { offer } = yield* listen
    return {
      name: nameOf(options),
      transport: "stdio",
      run: ({ start: serve }, revision) =>
        Effect.gen(function* () {
          const startable = yield* offer(serve)
          const words = [startable.command, ...startable.args]
          const ending = yield* start(words, revision, { MCP_SERVER_COMMAND: JSON.stringify(words) })
          yield* settled(startable)
          return ending
        }).pipe(Effect.scoped)
    }
  })
