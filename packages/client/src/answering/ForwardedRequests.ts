/**
 * The requests that this client forwards for callers of another server (see `Sources`): a question of the upstream server goes to the
 * caller of the request that asks.
 *
 * A question that names no request goes to a caller only if all forwarded requests belong to one connection. Otherwise it is refused,
 * since another caller's user must not be asked.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Requester } from "./Requester.ts"
import type { HostServices } from "./ServerRequests.ts"

type Ask = ClientInput["Service"]["ask"]

/** Where questions about a forwarded request go. */
interface Caller {
  readonly input: ClientInput["Service"]
  /** The connection of the request; undefined for a request without a session. */
  readonly connection: object | undefined
}

interface Forwarded {
  readonly ask: Ask
  readonly connection: object | undefined
  wireId: JsonRpc.Id | undefined
}

/** The forwarded request that a fiber runs: without sessions, a question is answered inside its request. */
const Current = Context.Reference<Forwarded | undefined>("@effect-mcp/client/ForwardedRequests/Current", {
  defaultValue: () => undefined
})

const ended = McpError.invalidRequest("The request that this question belongs to has ended")
const ambiguous = McpError.invalidRequest(
  "Several callers have requests in flight: the question must say to which it belongs"
)

export class ForwardedRequests {
  private readonly inFlight = new Set<Forwarded>()

  /** Runs a request for a caller. `run` passes the id of the request on the wire to `onSend`. */
  forward<A, E, R>(
    { connection, input }: Caller,
    run: (onSend: (id: JsonRpc.Id) => void) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const over = Deferred.makeUnsafe<never, McpError.McpError>()
      const forwarded: Forwarded = {
        connection,
        wireId: undefined,
        ask: (method, params, options) => Effect.raceFirst(input.ask(method, params, options), Deferred.await(over))
      }
      this.inFlight.add(forwarded)
      const end = Effect.sync(() => {
        this.inFlight.delete(forwarded)
        Deferred.doneUnsafe(over, Exit.fail(ended))
      })
      const running = run((id) => {
        forwarded.wireId = id
      })
      return Effect.ensuring(Effect.provideService(running, Current, forwarded), end)
    })
  }

  /** The services of a client. Each passes a question about a forwarded request to its caller, and answers any other itself. */
  routed({ consent, elicitation, roots, sampling }: HostServices): HostServices {
    return {
      consent,
      elicitation: elicitation && {
        modes: elicitation.modes,
        elicit: (params, options) =>
          Effect.flatMap(
            this.askCaller,
            (ask) => ask?.("elicitation/create", params) ?? elicitation.elicit(params, options)
          )
      },
      sampling: sampling && {
        capabilities: sampling.capabilities,
        createMessage: (params, options) =>
          Effect.flatMap(
            this.askCaller,
            (ask) => ask?.("sampling/createMessage", params) ?? sampling.createMessage(params, options)
          )
      },
      roots: roots && {
        changes: roots.changes,
        list: Effect.flatMap(this.askCaller, (ask) =>
          ask === undefined ? roots.list : Effect.map(ask("roots/list", {}), (answer) => answer.roots)
        )
      }
    }
  }

  /** How the caller is asked to whose request the question belongs; undefined for a request of the client itself. */
  private readonly askCaller: Effect.Effect<Ask | undefined, McpError.McpError> = Effect.flatMap(
    Effect.all([Current, Requester]),
    ([current, requester]) => {
      const onProgress = requester?.progress
      const asks = ({ ask }: Forwarded): Ask =>
        onProgress === undefined ? ask : (method, params, options) => ask(method, params, { ...options, onProgress })
      if (current !== undefined) return Effect.succeed(asks(current))
      const [oldest, ...others] = this.inFlight
      const id = requester?.relatedTo
      if (oldest === undefined) return Effect.undefined
      if (id !== undefined) {
        const named = [oldest, ...others].find((forwarded) => forwarded.wireId === id)
        return Effect.succeed(named && asks(named))
      }
      const shared = others.every(({ connection }) => connection !== undefined && connection === oldest.connection)
      return shared ? Effect.succeed(asks(oldest)) : Effect.fail(ambiguous)
    }
  )
}
