/** A transport of a program as the layers below have it. */
import * as Duplex from "@effect-mcp/core/Duplex"
import type * as Core from "@effect-mcp/core/Transport"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Transport } from "./Transport.ts"

const errorOf = (cause: unknown, reason: "Read" | "Write"): TransportError =>
  new TransportError({ reason, message: cause instanceof Error ? cause.message : String(cause), cause })

/** The transport as the layers below have it, for as long as the scope. */
export const opened = (transport: Transport): Effect.Effect<Core.Transport, never, Scope.Scope> => {
  const incoming = Duplex.fromCallback((receive) =>
    Effect.callback<void, TransportError>((resume) => {
      const { onclose, onerror } = transport
      /* oxlint-disable unicorn/prefer-add-event-listener -- a transport of the SDK is no event target */
      transport.onmessage = (message: unknown) => {
        try {
          receive(Buffer.from(`${JSON.stringify(message)}\n`))
        } catch (defect) {
          resume(Effect.die(defect))
        }
      }
      transport.onclose = () => {
        onclose?.()
        resume(Effect.void)
      }
      transport.onerror = (error) => onerror?.(error)
      /* oxlint-enable unicorn/prefer-add-event-listener */
      transport.start().catch((cause: unknown) => resume(Effect.fail(errorOf(cause, "Read"))))
    })
  )
  const send = (text: string) =>
    Effect.tryPromise({
      try: async () => {
        for (const line of text.split("\n")) if (line !== "") await transport.send(JSON.parse(line))
      },
      catch: (cause) => errorOf(cause, "Write")
    })
  return Effect.andThen(
    Effect.addFinalizer(() => Effect.promise(() => transport.close().catch(() => undefined))),
    Duplex.make({ ...incoming, write: (outgoing) => Stream.runForEach(outgoing, send) })
  )
}
