/** An in-memory connection. A `Stage` decides which messages are late and when it is cut. */
import * as Memory from "@effect-mcp/core/Memory"
import { type Inbound, type Transport, TransportError } from "@effect-mcp/core/Transport"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Stage } from "./Stage.ts"

/** The text that arrived, and a label for the trace. */
const shown = (inbound: Inbound): { readonly text: string; readonly what: string } => {
  if (inbound._tag === "InvalidMessage") return { text: inbound.text ?? "", what: "what is no message" }
  if (inbound._tag === "RequestAborted") return { text: "", what: "an aborted request" }
  if (inbound._tag === "Batch") {
    const texts = inbound.members.map((member) => shown(member).text)
    return { text: `[${texts.join()}]`, what: "a batch" }
  }
  const { message } = inbound
  return { text: JsonRpc.encode(message), what: nameOf(message) }
}

const nameOf = (message: JsonRpc.Message): string =>
  "method" in message ? message.method : `the response to ${String(message.id)}`

/** Creates the two ends. Calls `checked` before delivering each message. */
export const pair = (
  stage: Stage,
  client: string,
  connection: string,
  checked: Effect.Effect<void>
): Effect.Effect<readonly [client: Transport, server: Transport], never, Scope.Scope> =>
  Effect.gen(function* () {
    const [near, far] = yield* Memory.pair()
    const broken = yield* Deferred.make<never, TransportError>()
    const error = new TransportError({ reason: "Read", message: `The connection of ${client} was cut` })
    const cut = Effect.suspend(() => {
      stage.cut.add(client)
      stage.trace.add(`-- ${connection}: cut`)
      return Effect.andThen(Deferred.fail(broken, error), Effect.fail(error))
    })
    const end = (self: Transport, arrow: string): Transport => {
      const place = `${connection} ${arrow}`
      let count = 0
      const arriving = (inbound: Inbound) => {
        const { text, what } = shown(inbound)
        return Effect.flatMap(stage.arrival(place, ++count, what), (outcome) => {
          if (outcome === "cut") return cut
          stage.trace.add(`${place} ${text}`)
          return Effect.as(checked, inbound)
        })
      }
      return {
        ...self,
        incoming: Stream.interruptWhen(Stream.mapEffect(self.incoming, arriving), Deferred.await(broken)),
        broken: Effect.raceFirst(self.broken, Deferred.await(broken))
      }
    }
    return [end(near, "<"), end(far, ">")] as const
  })
