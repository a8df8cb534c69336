/**
 * What is fuzzed: a client that does the same work with every server that it is given.
 */
import { inheritedEnvironment } from "@effect-mcp/client/Stdio"
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as ChildProcess from "effect/process/ChildProcess"
import { ChildProcessSpawner } from "effect/process/ChildProcessSpawner"
import type * as Scope from "effect/Scope"
import { TargetError } from "../target/Target.ts"
import type { Ending } from "./model/ClientModel.ts"

/** Answers HTTP requests. */
export type Handler = (request: Request) => Promise<Response>

export interface ClientTarget {
  /** How people recognise it. */
  readonly name: string
  /** Does the work with the server that answers `serve`. Interruption ends the client. */
  readonly run: (serve: Handler, revision: Version) => Effect.Effect<Ending, TargetError>
}

const done: Ending = { kind: "done", how: "is done" }

/** What a client of this process is given. */
export interface Given {
  readonly url: string
  readonly revision: Version
  /** Sends requests to the misbehaving server only; for clients that take a `fetch` of their own. */
  readonly fetch: typeof globalThis.fetch
}

/**
 * A client of this process: an effect that talks to the server at `url`. Effect's `FetchHttpClient` reaches the server by itself; other
 * clients take `fetch`. It fails where the client could not do its work; a defect counts as a crash.
 */
export const client = <R>(
  name: string,
  work: (given: Given) => Effect.Effect<unknown, unknown, R>
): Effect.Effect<ClientTarget, never, R> =>
  Effect.contextWith((context: Context.Context<R>) =>
    Effect.succeed<ClientTarget>({
      name,
      run: (serve, revision) => {
        const fetch: typeof globalThis.fetch = (input, init) => {
          const request = new Request(input, init)
          return new Promise((resolve, reject) => {
            const cut = () => reject(new DOMException("The request was aborted", "AbortError"))
            if (request.signal.aborted) cut()
            request.signal.addEventListener("abort", cut)
            serve(request).then(resolve, reject)
          })
        }
        const given: Given = { url: "http://127.0.0.1/mcp", revision, fetch }
        return work(given).pipe(
          Effect.provideService(FetchHttpClient.Fetch, fetch),
          Effect.provide(context),
          Effect.matchCause({
            onSuccess: () => done,
            onFailure: (cause): Ending =>
              Cause.hasDies(cause)
                ? { kind: "crashed", how: `died of ${Cause.pretty(cause).split("\n")[0] ?? ""}` }
                : { kind: "failed", how: `says ${Cause.pretty(cause).split("\n")[0] ?? ""}` }
          })
        )
      }
    })
  )

export interface CommandOptions {
  readonly command: string
  /** The URL of the server is added at the end. */
  readonly args?: ReadonlyArray<string> | undefined
  readonly env?: { readonly [name: string]: string } | undefined
  readonly cwd?: string | undefined
  /** What the client is told to do. Default `tools_call`: it lists tools and calls `add_numbers`. */
  readonly scenario?: string | undefined
}

/** Signals that only a program's own fault sends. */
const signals = /SIG(?:SEGV|ABRT|BUS|ILL|FPE|TRAP)/

const endingOf = (code: number): Ending =>
  code === 0
    ? done
    : code > 128 && code !== 130 && code !== 137 && code !== 143
      ? { kind: "crashed", how: `ended with code ${code}` }
      : { kind: "failed", how: `ended with code ${code}` }

/**
 * A client that is a program and keeps the convention of the official conformance suite: the URL is its last argument, and
 * `MCP_CONFORMANCE_SCENARIO` and `MCP_CONFORMANCE_PROTOCOL_VERSION` say what to do in which revision. It is started for each conversation.
 */
export const command = (
  options: CommandOptions
): Effect.Effect<ClientTarget, never, ChildProcessSpawner | HttpServer.HttpServer | Scope.Scope> =>
  Effect.gen(function* () {
    const spawner = yield* ChildProcessSpawner
    const { address } = yield* HttpServer.HttpServer
    const { args = [], cwd, env, scenario = "tools_call" } = options
    const port = address._tag === "UnixPathAddress" ? 0 : address.port
    const handlers = new Map<string, Handler>()
    // Each conversation has a path of its own.
    const app = Effect.gen(function* () {
      const { url } = yield* HttpServerRequest.HttpServerRequest
      const handler = handlers.get(url.split("/")[1] ?? "")
      return handler === undefined
        ? HttpServerResponse.empty({ status: 404 })
        : yield* HttpEffect.fromWebHandler(handler)
    })
    yield* Effect.forkScoped(HttpServer.serveEffect(app))
    let next = 0
    const name = [options.command, ...args].join(" ")
    return {
      name,
      run: (serve, revision) =>
        Effect.suspend(() => {
          const path = `${++next}`
          handlers.set(path, serve)
          const child = ChildProcess.make(options.command, [...args, `http://127.0.0.1:${port}/${path}/mcp`], {
            env: {
              ...inheritedEnvironment(),
              MCP_CONFORMANCE_SCENARIO: scenario,
              MCP_CONFORMANCE_PROTOCOL_VERSION: revision,
              ...env
            },
            ...(cwd === undefined ? undefined : { cwd }),
            stdin: "ignore",
            stdout: "ignore",
            stderr: "ignore",
            killSignal: "SIGKILL"
          })
          return Effect.scoped(
            Effect.flatMap(
              Effect.mapError(
                spawner.spawn(child),
                ({ message }) => new TargetError({ message: `Cannot start ${name}: ${message}` })
              ),
              ({ exitCode }) =>
                Effect.match(exitCode, {
                  onSuccess: endingOf,
                  onFailure: ({ message }): Ending =>
                    signals.test(message) ? { kind: "crashed", how: message } : { kind: "failed", how: message }
                })
            )
          ).pipe(Effect.ensuring(Effect.sync(() => handlers.delete(path))))
        })
    }
  })
