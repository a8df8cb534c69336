/**
 * What is fuzzed: a client that does the same work with every server that it is given.
 */
import type { Version } from "@effect-mcp/protocol/Revision"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as FileSystem from "effect/FileSystem"
import type * as Scope from "effect/Scope"
import type * as SocketServer from "effect/socket/SocketServer"
import type { TargetError } from "../target/Target.ts"
import type { HttpHandler } from "./HttpDouble.ts"
import type { Process, ProcessListener } from "./LineDouble.ts"
import type { Ending } from "./model/ClientModel.ts"
import { type CommandLine, listen, type Startable } from "./relay.ts"

/** A misbehaving server, as clients reach it. */
export interface Offered {
  /** Answers a request over HTTP. */
  readonly answer: HttpHandler
  /** Takes a process that the client started as a stdio server. */
  readonly start: (process: Process) => ProcessListener
}

export interface ClientTarget {
  /** How people recognise it. */
  readonly name: string
  readonly transport: "http" | "stdio"
  /** Does the work with this server. Interruption ends the client. */
  readonly run: (server: Offered, revision: Version) => Effect.Effect<Ending, TargetError>
}

export const done: Ending = { kind: "done", how: "is done" }

/** How the work of a client of this process ended. */
const endingOf = <E, R>(work: Effect.Effect<unknown, E, R>): Effect.Effect<Ending, never, R> =>
  Effect.matchCause(work, {
    onSuccess: () => done,
    onFailure: (cause): Ending =>
      Cause.hasDies(cause)
        ? { kind: "crashed", how: `died of ${Cause.pretty(cause).split("\n")[0] ?? ""}` }
        : { kind: "failed", how: `says ${Cause.pretty(cause).split("\n")[0] ?? ""}` }
  })

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
      transport: "http",
      run: ({ answer }, revision) => {
        const fetch: typeof globalThis.fetch = (input, init) => {
          const request = new Request(input, init)
          return new Promise((resolve, reject) => {
            const cut = () => reject(new DOMException("The request was aborted", "AbortError"))
            if (request.signal.aborted) cut()
            request.signal.addEventListener("abort", cut)
            answer(request).then(resolve, reject)
          })
        }
        const given: Given = { url: "http://127.0.0.1/mcp", revision, fetch }
        return endingOf(work(given)).pipe(Effect.provideService(FetchHttpClient.Fetch, fetch), Effect.provide(context))
      }
    })
  )

/** What a client of this process is given that starts its server. */
export interface GivenCommand extends CommandLine {
  readonly revision: Version
}

/** How long the last things that a client did to its servers may take to be seen. */
const settling = "1 second"

/** Once all that the client did to the processes that it started is known. */
export const settled = ({ ended }: Startable): Effect.Effect<void> => Effect.ignore(Effect.timeout(ended, settling))

/**
 * A client of this process over stdio: an effect that starts the server by this command, as any host does, and talks to it over stdin and
 * stdout. It fails where the client could not do its work; a defect counts as a crash.
 */
export const stdioClient = <R>(
  name: string,
  work: (given: GivenCommand) => Effect.Effect<unknown, unknown, R>
): Effect.Effect<ClientTarget, TargetError, R | FileSystem.FileSystem | SocketServer.SocketServer | Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<R>()
    const { offer } = yield* listen
    return {
      name,
      transport: "stdio",
      run: ({ start }, revision) =>
        Effect.gen(function* () {
          const startable = yield* offer(start)
          const { args, command } = startable
          const ending = yield* endingOf(work({ command, args, revision }))
          yield* settled(startable)
          return ending
        }).pipe(Effect.scoped, Effect.provide(context))
    }
  })
