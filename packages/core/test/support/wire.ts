/** A wire whose other end is the test, which pushes lines by hand and keeps the peer's messages as parsed JSON. */
import { quiesce } from "@effect-mcp/testing/Quiesce"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type * as McpError from "@effect-mcp/protocol/McpError"
import { Cause, Effect, Latch, Queue, type Scope, Stream } from "effect"
import * as Framing from "../../src/transport/Framing.ts"
import * as Peer from "../../src/peer/Peer.ts"
import type { Inbound, Lane, Transport, TransportError } from "../../src/transport/Transport.ts"

export { quiesce }

export interface Sent {
  readonly message: any
  readonly lane: Lane
  readonly relatedTo: JsonRpc.Id | undefined
}

export interface Wire {
  readonly transport: Transport
  /** Everything sent so far, oldest first. */
  readonly sent: ReadonlyArray<Sent>
  readonly messages: () => ReadonlyArray<any>
  /** Waits for the next message that was not taken yet. */
  readonly take: Effect.Effect<any>
  /** Puts one line on the wire for the reader to pull. */
  readonly push: (json: unknown) => void
  readonly end: () => void
  readonly fail: (error: TransportError) => void
  readonly setWritable: (writable: boolean) => void
}

export const lineOf = (json: unknown): string => (typeof json === "string" ? json : JSON.stringify(json))

export const make = (): Wire => {
  const incoming = Effect.runSync(Queue.unbounded<Inbound, TransportError | Cause.Done>())
  const taken = Effect.runSync(Queue.unbounded<any>())
  const ready = Latch.makeUnsafe(true)
  const sent: Array<Sent> = []
  let writable = true
  return {
    transport: {
      incoming: Stream.fromQueue(incoming),
      sink: {
        send: (message, lane, relatedTo) => {
          const text = Array.isArray(message)
            ? `[${message.map(JsonRpc.encode).join(",")}]`
            : JsonRpc.encode(message as JsonRpc.Message)
          const parsed = JSON.parse(text)
          sent.push({ message: parsed, lane, relatedTo })
          Queue.offerUnsafe(taken, parsed)
        },
        writable: () => writable,
        ready: ready.await
      },
      broken: Effect.never
    },
    sent,
    messages: () => sent.map(({ message }) => message),
    take: Queue.take(taken),
    push: (json) => void Queue.offerUnsafe(incoming, Framing.decode(lineOf(json))),
    end: () => void Queue.endUnsafe(incoming),
    fail: (error) => void Queue.failCauseUnsafe(incoming, Cause.fail(error)),
    setWritable: (next) => {
      writable = next
      if (next) ready.openUnsafe()
      else ready.closeUnsafe()
    }
  }
}

export const request = (id: unknown, method = "work", params?: object) => ({ jsonrpc: "2.0", id, method, params })
export const notification = (method: string, params?: object) => ({ jsonrpc: "2.0", method, params })
export const cancel = (requestId: unknown) => notification("notifications/cancelled", { requestId })
export const success = (id: unknown, result: unknown = {}) => ({ jsonrpc: "2.0", id, result })

export interface Served extends Wire {
  readonly peer: Peer.Peer
  /** Messages that the peer dropped, with the reason. */
  readonly dropped: ReadonlyArray<string>
  /** Notifications that reached the role. */
  readonly notified: ReadonlyArray<string>
  /** Delivers one line synchronously, in this very call. */
  readonly receive: (json: unknown) => void
}

/** A peer on such a wire. `handle` answers its requests; `ping` is answered at once. */
export const serve = Effect.fnUntraced(function* (
  handle: (exchange: Peer.Exchange) => Effect.Effect<unknown, McpError.McpError>,
  options?: Peer.Options,
  handlers?: Partial<Peer.Handlers>
): Effect.fn.Return<Served, never, Scope.Scope> {
  const wire = make()
  const dropped: Array<string> = []
  const notified: Array<string> = []
  const peer = yield* Peer.make(
    wire.transport,
    {
      request: handle,
      notification: (message) => void notified.push(message.method),
      immediate: (message) => (message.method === "ping" ? {} : undefined),
      dropped: (reason) => void dropped.push(reason),
      ...handlers
    },
    options
  )
  // Lets the reader make its first pull, so that tests only see the effects of their lines.
  yield* quiesce
  return { ...wire, peer, dropped, notified, receive: (json) => peer.receive(Framing.decode(lineOf(json))) }
})
