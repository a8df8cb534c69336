/**
 * Opens sessions again whose node is gone.
 *
 * Owns that a session is opened once, however many requests and endpoints of this node wait for it, and that none leaks: it is opened in a
 * fiber of the endpoint, which no client interrupts.
 */
import type { Fork } from "@effect-mcp/core/internal/Deadlines"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { McpServer } from "../../dispatch/Server.ts"
import type { Located } from "../../session/SessionDirectory.ts"
import { type HttpRequest, principalOf } from "../request/HttpRequest.ts"
import { type ErrorResponse, refuse, shuttingDown } from "../response/Responses.ts"
import { type Config, HttpSession } from "./HttpSession.ts"
import { refusalOf } from "./HttpSessions.ts"
import type { NodeSessions } from "./NodeSessions.ts"
import type { SessionTable } from "./SessionTable.ts"

type Here = Extract<Located, { _tag: "Here" }>

export interface Options {
  readonly server: Pick<McpServer["Service"], "connect" | "restore">
  readonly table: SessionTable<HttpSession>
  readonly config: Config
  readonly exchanges: { readonly admits: boolean }
  readonly node: NodeSessions
  readonly fork: Fork
}

const notOpened = refuse(
  503,
  McpError.interrupted("The session of a node that is gone could not be opened here: send the request again"),
  undefined,
  { "retry-after": "1" }
)

export class Reopening {
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  /** The error response where no session may be opened again for that caller: at a shutdown, and beyond the limits of the table. */
  refusal(http: HttpRequest, id?: JsonRpc.Id): ErrorResponse | undefined {
    return !this.options.exchanges.admits ? shuttingDown(id) : refusalOf(this.options.table, http, id)
  }

  /** Opens the session, unless an endpoint of this node has it; gives the error response where that failed. */
  open(id: string, located: Here, http: HttpRequest): Effect.Effect<ErrorResponse | undefined> {
    return Effect.suspend(() => {
      const { fork, node } = this.options
      const opening = node.opening.get(id)
      if (opening !== undefined) return Deferred.await(opening)
      if (node.knows(id)) return Effect.succeed(undefined)
      const refused = this.refusal(http)
      if (refused !== undefined) return Effect.succeed(refused)
      const opened = Deferred.makeUnsafe<ErrorResponse | undefined>()
      node.opening.set(id, opened)
      const done = Effect.onExit(this.restored(id, located, http), (exit) =>
        Effect.sync(() => {
          node.opening.delete(id)
          Deferred.doneUnsafe(opened, Effect.succeed(Exit.isSuccess(exit) ? exit.value : notOpened))
        })
      )
      fork(Effect.asVoid(done))
      return Deferred.await(opened)
    })
  }

  private restored(id: string, { epoch, record }: Here, http: HttpRequest): Effect.Effect<ErrorResponse | undefined> {
    const { config, exchanges, server, table } = this.options
    return Effect.suspend(() => {
      const session = new HttpSession(id, principalOf(http), http.address, config, epoch)
      const connected = Effect.andThen(
        session.start(server.connect),
        Effect.suspend(() =>
          session.session === undefined
            ? Effect.fail(McpError.internalError("The session could not be connected"))
            : server.restore(session.session, record)
        )
      )
      return Effect.uninterruptibleMask((interruptible) =>
        Effect.flatMap(Effect.exit(interruptible(connected)), (exit) => {
          if (Exit.isSuccess(exit) && exchanges.admits) {
            table.add(session)
            return Effect.succeed(undefined)
          }
          const logged = Exit.isSuccess(exit)
            ? Effect.void
            : Effect.logWarning("A session of another node could not be opened here", exit.cause)
          return Effect.as(
            Effect.andThen(logged, session.close("The session could not be opened here")),
            exchanges.admits ? notOpened : shuttingDown()
          )
        })
      )
    })
  }
}
