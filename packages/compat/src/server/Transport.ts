/**
 * Transports as the SDK has them: an object that a server or client is connected to. The SDK's own interface, for transports of a
 * program, and a pair in memory.
 */
import * as Duplex from "@effect-mcp/core/Duplex"
import type * as Core from "@effect-mcp/core/Transport"
import { TransportError } from "@effect-mcp/core/Transport"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** A transport of a program: messages are JSON-RPC. */
export interface Transport {
  start(): Promise<void>
  send(message: object, options?: object): Promise<void>
  close(): Promise<void>
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // oxlint-disable-next-line typescript/no-explicit-any -- transports of both versions of the SDK say what a message is in their own types
  onmessage?: ((message: any, extra?: any) => void) | undefined
  sessionId?: string | undefined
}

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

/** One end of a pair in memory. */
export class InMemoryTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: ((message: object) => void) | undefined
  sessionId?: string | undefined
  #other: InMemoryTransport | undefined
  #waiting: Array<object> = []

  /** Two ends: what one sends, the other receives. */
  static createLinkedPair(): [InMemoryTransport, InMemoryTransport] {
    const [one, other] = [new InMemoryTransport(), new InMemoryTransport()]
    one.#other = other
    other.#other = one
    return [one, other]
  }

  async start(): Promise<void> {
    for (const message of this.#waiting.splice(0)) this.onmessage?.(message)
  }

  async send(message: object): Promise<void> {
    const other = this.#other
    if (other === undefined) throw new Error("The transport is closed")
    if (other.onmessage === undefined) other.#waiting.push(message)
    else other.onmessage(message)
  }

  async close(): Promise<void> {
    const other = this.#other
    this.#other = undefined
    await other?.close()
    this.onclose?.()
  }
}
