/**
 * The requests that this client forwards for another server's callers (see `Sources`). A question from the upstream server goes to the
 * caller whose request asks it.
 *
 * A question that names no request goes to a caller only if all forwarded requests belong to one connection. Otherwise it is rejected,
 * because it must not reach another caller's user.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import type { CreateMessageResult } from "@effect-mcp/protocol/model/Sampling"
import * as Validate from "@effect-mcp/protocol/Validate"
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
  /** The request's connection, or `undefined` for a request without a session. */
  readonly connection: object | undefined
}

interface Forwarded {
  readonly ask: Ask
  readonly connection: object | undefined
  wireId: JsonRpc.Id | undefined
}

/** The forwarded request that the fiber is running. Without sessions, a question is answered within its request. */
const Current = Context.Reference<Forwarded | undefined>("@effect-mcp/client/ForwardedRequests/Current", {
  defaultValue: () => undefined
})

const ended = McpError.invalidRequest("The request that this question belongs to has ended")
const ambiguous = McpError.invalidRequest(
  "Several callers have running requests, so the question must say which request it belongs to"
)

/** Marks an answer as checked, because answers from other clients are forwarded unchanged. */
const unchecked = ({ content }: CreateMessageResult): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const block of [content].flat()) Validate.checked(block)
  })

export class ForwardedRequests {
  private readonly inFlight = new Set<Forwarded>()

  /** Runs a request for a caller. `run` passes the request's id on the wire to `onSend`. */
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

  /** Wraps a client's services. Each one sends a question about a forwarded request to its caller, and answers all others itself. */
  routed({ consent, elicitation, limits, roots, sampling }: HostServices): HostServices {
    return {
      consent,
      // The callers' own clients limit questions. A shared limit would let one caller lock out the others.
      limits: { ...limits, elicitation: limits.elicitation ?? false, sampling: limits.sampling ?? false },
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
          Effect.flatMap(this.askCaller, (ask) => {
            const asked = ask?.("sampling/createMessage", params)
            return asked === undefined ? sampling.createMessage(params, options) : Effect.tap(asked, unchecked)
          })
      },
      roots: roots && {
        changes: roots.changes,
        list: Effect.flatMap(this.askCaller, (ask) =>
          ask === undefined ? roots.list : Effect.map(ask("roots/list", {}), (answer) => answer.roots)
        )
      }
    }
  }

  /** How to ask the caller whose request the question belongs to, or `undefined` for the client's own requests. */
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
