/**
 * The callers whose requests this client carries (see `Sources`): a question of the server goes to the caller of the request that asks.
 *
 * A question that names no request is put to a caller only where all requests in flight come over one connection. Otherwise it is
 * refused: the user of another caller must not be asked.
 */
import type { ClientInput } from "@effect-mcp/core/ClientInput"
import { Elicitation } from "@effect-mcp/core/Elicitation"
import { Roots } from "@effect-mcp/core/Roots"
import { Sampling } from "@effect-mcp/core/Sampling"
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as McpError from "@effect-mcp/protocol/McpError"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { Requester } from "./Requester.ts"
import type { Services } from "./ServerRequests.ts"

type Ask = ClientInput["Service"]["ask"]

/** Who has a request carried: how it is asked, and the connection that it came over, if that is kept open. */
export interface Caller {
  readonly input: ClientInput["Service"]
  readonly connection: object | undefined
}

interface Carried {
  readonly ask: Ask
  readonly connection: object | undefined
  wireId: JsonRpc.Id | undefined
}

/** The request that a fiber carries: where there are no sessions, a question is answered inside its request. */
const Current = Context.Reference<Carried | undefined>("@effect-mcp/client/Callers/Current", {
  defaultValue: () => undefined
})

const ended = McpError.invalidRequest("The request that this question belongs to has ended")
const ambiguous = McpError.invalidRequest(
  "Several callers have requests in flight: the question must say to which it belongs"
)

export class Callers {
  private readonly carried = new Set<Carried>()

  /** Runs a request for a caller. `onSend` is to be told of the id that the request has on the wire. */
  carry<A, E, R>(
    { connection, input }: Caller,
    run: (onSend: (id: JsonRpc.Id) => void) => Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const over = Deferred.makeUnsafe<never, McpError.McpError>()
      const one: Carried = {
        connection,
        wireId: undefined,
        ask: (method, params, options) => Effect.raceFirst(input.ask(method, params, options), Deferred.await(over))
      }
      this.carried.add(one)
      const end = Effect.sync(() => {
        this.carried.delete(one)
        Deferred.doneUnsafe(over, Exit.fail(ended))
      })
      const sent = run((id) => {
        one.wireId = id
      })
      return Effect.ensuring(Effect.provideService(sent, Current, one), end)
    })
  }

  /** The services of a client, each of which passes on what the request of a caller asks. */
  routed({ consent, elicitation, roots, sampling }: Services): Services {
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

  /** How the caller is asked whose request asks; nothing where it is a request of the client itself. */
  private readonly askCaller: Effect.Effect<Ask | undefined, McpError.McpError> = Effect.flatMap(
    Effect.all([Current, Requester]),
    ([current, asking]) => {
      const asks = (carried: Carried): Ask => {
        const onProgress = asking?.progress
        return onProgress === undefined
          ? carried.ask
          : (method, params, options) => carried.ask(method, params, { ...options, onProgress })
      }
      if (current !== undefined) return Effect.succeed(asks(current))
      const [oldest, ...others] = this.carried
      const id = asking?.relatedTo
      if (oldest === undefined) return Effect.undefined
      if (id !== undefined) {
        const named = [oldest, ...others].find((carried) => carried.wireId === id)
        return Effect.succeed(named && asks(named))
      }
      const shared = others.every(({ connection }) => connection !== undefined && connection === oldest.connection)
      return shared ? Effect.succeed(asks(oldest)) : Effect.fail(ambiguous)
    }
  )
}

const none = Effect.fail(McpError.invalidRequest("There is no caller who could answer this"))

/**
 * Declares to a server all that callers may be able to answer, and answers nothing itself: for a client that only carries the requests
 * of callers. A caller that did not declare what is asked is not asked.
 */
export const layer: Layer.Layer<Elicitation | Roots | Sampling> = Layer.succeedContext(
  Context.make(Elicitation, { modes: { form: true, url: true }, elicit: () => none }).pipe(
    Context.add(Sampling, { capabilities: { tools: true, context: true }, createMessage: () => none }),
    Context.add(Roots, { list: none, changes: undefined })
  )
)
