/**
 * Reopens sessions whose node is gone.
 *
 * Each session is reopened only once, no matter how many of this node's requests and endpoints are waiting for it. It is opened in one of
 * the endpoint's fibers, which no client can interrupt, so no session leaks.
 */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Located } from "@effect-mcp/server/Nodes"
import {
  type ErrorResponse,
  type HttpRequest,
  HttpSession,
  type ManagedEndpoint,
  principalOf,
  refusalOf,
  refuse,
  shuttingDown
} from "@effect-mcp/server/internal/sharing"
import type { NodeSessions } from "./NodeSessions.ts"

type Here = Extract<Located, { _tag: "Here" }>

const notOpened = refuse(
  503,
  McpError.interrupted(
    "The node that held this session is gone, and the session could not be reopened here. Send the request again"
  ),
  undefined,
  { "retry-after": "1" }
)

export class Reopening {
  private readonly endpoint: ManagedEndpoint
  private readonly node: NodeSessions

  constructor(endpoint: ManagedEndpoint, node: NodeSessions) {
    this.endpoint = endpoint
    this.node = node
  }

  /**
   * Returns the error response if no session may be reopened for this caller, either during shutdown or because the table's limits are
   * exceeded.
   */
  refusal(http: HttpRequest, id?: JsonRpc.Id): ErrorResponse | undefined {
    const { exchanges, table } = this.endpoint
    return exchanges.admits ? refusalOf(table, http, id) : shuttingDown(id)
  }

  /** Opens the session unless one of this node's endpoints has it. If that fails, returns the error response. */
  open(id: string, located: Here, http: HttpRequest): Effect.Effect<ErrorResponse | undefined> {
    return Effect.suspend(() => {
      const { node } = this
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
      this.endpoint.fork(Effect.asVoid(done))
      return Deferred.await(opened)
    })
  }

  private restored(id: string, { epoch, record }: Here, http: HttpRequest): Effect.Effect<ErrorResponse | undefined> {
    const { config, exchanges, server, table } = this.endpoint
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
            : Effect.logWarning("Failed to reopen a session from another node", exit.cause)
          return Effect.as(
            Effect.andThen(logged, session.close("The session could not be reopened here")),
            exchanges.admits ? notOpened : shuttingDown()
          )
        })
      )
    })
  }
}
