/** The client to fuzz, which performs the same task with every server it is given. */
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

/** The interfaces of a misbehaving server that clients connect to. */
export interface Offered {
  /** Handles an HTTP request. */
  readonly answer: HttpHandler
  /** Handles a process that the client started as a stdio server. */
  readonly start: (process: Process) => ProcessListener
}

export interface ClientTarget {
  /** Display name. */
  readonly name: string
  readonly transport: "http" | "stdio"
  /** Performs the task with this server. Interrupting this effect stops the client. */
  readonly run: (server: Offered, revision: Version) => Effect.Effect<Ending, TargetError>
}

export const done: Ending = { kind: "done", how: "is done" }

/** Returns how an in-process client ended. */
const endingOf = <E, R>(work: Effect.Effect<unknown, E, R>): Effect.Effect<Ending, never, R> =>
  Effect.matchCause(work, {
    onSuccess: () => done,
    onFailure: (cause): Ending =>
      Cause.hasDies(cause)
        ? { kind: "crashed", how: `died of ${Cause.pretty(cause).split("\n")[0] ?? ""}` }
        : { kind: "failed", how: `says ${Cause.pretty(cause).split("\n")[0] ?? ""}` }
  })

/** The environment of a client that runs in this process. */
export interface Given {
  readonly url: string
  readonly revision: Version
  /** Sends requests only to the misbehaving server. For clients that accept a custom `fetch`. */
  readonly fetch: typeof globalThis.fetch
}

/**
 * Creates a target from an in-process client: an effect that talks to the server at `url`. Effect's `FetchHttpClient` reaches the server
 * without further setup; other clients should use `fetch`. The effect should fail if the client can't complete its task. A defect counts as
 * a crash.
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

/** The environment of an in-process client that starts its server. */
export interface GivenCommand extends CommandLine {
  readonly revision: Version
}

/** How long to wait until a client's last actions on its servers have been observed. */
const settling = "1 second"

/** Waits until all actions of the client on its server processes have been observed. */
export const settled = ({ ended }: Startable): Effect.Effect<void> => Effect.ignore(Effect.timeout(ended, settling))

/**
 * Creates a target from an in-process client that uses stdio: an effect that starts the server with the given command, as any host does,
 * and talks to it over stdin and stdout. The effect should fail if the client can't complete its task. A defect counts as a crash.
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
