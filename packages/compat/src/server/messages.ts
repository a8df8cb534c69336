/** Adapts a program's transport to the underlying server or client. */
import * as Framing from "@effect-mcp/core/Framing"
import * as Outbox from "@effect-mcp/core/Outbox"
import * as Core from "@effect-mcp/core/Transport"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { messageOf, notify, type OnError, report } from "../model/report.ts"
import { envelopeOf } from "../request/MessageExtra.ts"
import type { Transport } from "./Transport.ts"

const errorOf = (cause: unknown, reason: "Read" | "Write"): Core.TransportError =>
  new Core.TransportError({ reason, message: messageOf(cause), cause })

/** Adds the transport's information to a decoded message. */
const enclosed = (decoded: Core.Decoded, envelope: Core.Envelope): Core.Decoded => {
  if (decoded._tag === "Message") return { ...decoded, envelope }
  if (decoded._tag !== "Batch") return decoded
  const members = decoded.members.map((member) => (member._tag === "Message" ? { ...member, envelope } : member))
  return { ...decoded, members }
}

/** Messages that transports of this package have already decoded, by message object. They are not written and parsed again. */
const known = new WeakMap<object, Core.Decoded>()

/** Decodes a JSON text and remembers its message. A text that is too large is left to the line decoder, which rejects it. */
export const decodeOnce = (text: string): Core.Decoded => {
  const decoded = Framing.decode(text)
  const fits = Buffer.byteLength(text) <= Framing.defaultMaxMessageBytes
  if (decoded._tag === "Message" && fits) known.set(decoded.message, decoded)
  return decoded
}

/** Returns the decoded form of a message. */
export const decodedOf = (message: unknown): Core.Decoded =>
  (typeof message === "object" && message !== null ? known.get(message) : undefined) ??
  decodeOnce(JSON.stringify(message) ?? "")

/** Returns the line for a message. If the message has no JSON form, reports that and returns `undefined`. */
const textOf = (message: unknown, onerror: OnError): Buffer | undefined => {
  try {
    return Buffer.from(`${JSON.stringify(message)}\n`)
  } catch (error) {
    report(onerror, error)
    return undefined
  }
}

interface Opened {
  readonly core: Core.Transport
  /** Completes once the transport is open. Fails with the error of its `start`. */
  readonly started: Effect.Effect<void, unknown>
}

/**
 * Opens a transport for the lifetime of the scope. A client sends first, so it waits until the transport has started. A server may answer
 * before that, because a transport's `start` may last as long as the connection.
 */
export const opened = (transport: Transport, side: "client" | "server"): Effect.Effect<Opened, never, Scope.Scope> => {
  const started = Deferred.makeUnsafe<void, unknown>()
  const begun = (how: Effect.Effect<void, unknown>) => Deferred.doneUnsafe(started, how)
  const lines = new Framing.LineDecoder()
  const read = (message: object, onerror: OnError): ReadonlyArray<Core.Decoded> => {
    const before = known.get(message)
    if (before !== undefined) return [before]
    const text = textOf(message, onerror)
    return text === undefined ? [] : lines.push(text)
  }
  const incoming = Core.fromCallback((receive) =>
    Effect.callback<void, Core.TransportError>((resume) => {
      const { onclose, onerror } = transport
      /* oxlint-disable unicorn/prefer-add-event-listener -- a transport of the SDK is not an event target */
      transport.onmessage = (message: object, extra?: unknown) => {
        const all = read(message, onerror)
        try {
          const envelope = envelopeOf(extra, transport.sessionId)
          for (const decoded of all) receive(enclosed(decoded, envelope))
        } catch (defect) {
          resume(Effect.die(defect))
        }
      }
      transport.onclose = () => {
        notify(
          () => onclose?.(),
          (error) => report(onerror, error)
        )
        begun(Effect.void)
        resume(Effect.void)
      }
      transport.onerror = (error) => report(onerror, error)
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
  const write = (text: string) =>
    Effect.tryPromise({
      try: async () => {
        for (const line of text.split("\n")) if (line !== "") await transport.send(JSON.parse(line))
      },
      catch: (cause) => errorOf(cause, "Write")
    })
  const open = Effect.mapError(Deferred.await(started), (cause) => errorOf(cause, "Write"))
  const send = (text: string) => (side === "client" ? Effect.andThen(open, write(text)) : write(text))
  const close = async () => transport.close()
  const core = Effect.andThen(
    Effect.addFinalizer(() => Effect.promise(() => close().catch(() => undefined))),
    Effect.map(
      Outbox.make((outgoing) => Stream.runForEach(outgoing, send)),
      ({ broken, sink }): Core.Transport => ({ ...incoming, sink, broken })
    )
  )
  return Effect.map(core, (core) => ({ core, started: Deferred.await(started) }))
}
