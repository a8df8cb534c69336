/** A transport of a program as the layers below have it. */
import * as Duplex from "@effect-mcp/core/Duplex"
import type * as Core from "@effect-mcp/core/Transport"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Transport } from "./Transport.ts"

const errorOf = (cause: unknown, reason: "Read" | "Write"): TransportError =>
  new TransportError({ reason, message: cause instanceof Error ? cause.message : String(cause), cause })

interface Opened {
  readonly core: Core.Transport
  /** Ends once the transport is open, and fails with what its `start` rejects with. */
  readonly started: Effect.Effect<void, unknown>
}

/** The transport as the layers below have it, for as long as the scope. */
export const opened = (transport: Transport): Effect.Effect<Opened, never, Scope.Scope> => {
  const started = Deferred.makeUnsafe<void, unknown>()
  const begun = (how: Effect.Effect<void, unknown>) => Deferred.doneUnsafe(started, how)
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
        try {
          onclose?.()
        } catch (error) {
          onerror?.(error instanceof Error ? error : new Error(String(error)))
        }
        begun(Effect.void)
        resume(Effect.void)
      }
      transport.onerror = (error) => onerror?.(error)
      /* oxlint-enable unicorn/prefer-add-event-listener */
      const start = async () => transport.start()
      start().then(
        () => begun(Effect.void),
        (cause: unknown) => {
          begun(Effect.fail(cause))
          resume(Effect.fail(errorOf(cause, "Read")))
        }
      )
    })
  )
  const send = (text: string) =>
    Effect.tryPromise({
      try: async () => {
        for (const line of text.split("\n")) if (line !== "") await transport.send(JSON.parse(line))
      },
      catch: (cause) => errorOf(cause, "Write")
    })
  const close = async () => transport.close()
  const core = Effect.andThen(
    Effect.addFinalizer(() => Effect.promise(() => close().catch(() => undefined))),
    Duplex.make({ ...incoming, write: (outgoing) => Stream.runForEach(outgoing, send) })
  )
  return Effect.map(core, (core) => ({ core, started: Deferred.await(started) }))
}
