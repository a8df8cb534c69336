/**
 * A session's messages from the last minute, for operators. They are recorded while an operator is looking at the session, or always if the
 * program enables that. A session that isn't being watched costs nothing.
 *
 * Operators see each message's method, target, size and outcome. Bodies are hidden unless the program enables them.
 */
import type { Observer } from "@effect-mcp/server/Observer"
import { type Observers, service } from "@effect-mcp/server/Observer"
import { beginning } from "@effect-mcp/protocol/Excerpt"
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import type { Session } from "@effect-mcp/server/McpServer"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { targetOf } from "../audit/entries.ts"
import { Ring } from "./Ring.ts"

export const MessageRow = Schema.Struct({
  /** Milliseconds since 1970. */
  time: Schema.Finite,
  /** Direction, from the server's point of view. */
  direction: Schema.Literals(["received", "sent"]),
  kind: Schema.Literals(["request", "notification", "result", "error"]),
  /** The method. For a response, the method of its request if that was recorded too. */
  method: Schema.optional(Schema.String),
  /** JSON-RPC id. */
  id: Schema.optional(Schema.String),
  target: Schema.optional(Schema.String),
  /** Error code. */
  code: Schema.optional(Schema.Finite),
  /** Size of its JSON in characters. */
  size: Schema.Finite,
  /** Params, result or error as JSON, if `bodies` is set. */
  body: Schema.optional(Schema.String)
})
export type MessageRow = typeof MessageRow.Type

export interface Options {
  /**
   * Shows params, results and errors, truncated to 2000 characters. Values of the object members listed in `redact` are redacted, even
   * inside text that contains JSON. By default bodies are hidden.
   */
  readonly bodies?: { readonly redact: ReadonlyArray<string> } | undefined
  /**
   * Whether to record every session's messages from the start. You then need to provide the layer to the server as well. By default,
   * recording starts when an operator looks at the session.
   */
  readonly always?: boolean | undefined
  /** Maximum number of messages to keep per session. Default 200. */
  readonly capacity?: number | undefined
}

/** How long to keep a message, and to watch a session after an operator last looked, in milliseconds. */
const minute = 60_000
/** Maximum number of sessions being watched for operators. */
const watchedAtMost = 64
const longestBody = 2000

export class Messages extends Context.Service<
  Messages,
  {
    /**
     * Returns the messages from the last minute, oldest first. `began` is true if this call started watching the session. Returns
     * `undefined` if too many sessions are being watched.
     */
    readonly of: (
      session: Session
    ) => Effect.Effect<{ readonly messages: ReadonlyArray<MessageRow>; readonly began: boolean } | undefined>
  }
>()("@effect-mcp/operate/Admin/Messages") {}

interface Watch {
  readonly ring: Ring<MessageRow>
  /** When the watch ends, unless an operator looks again. */
  until: number
}

const kindOf = (message: JsonRpc.Message): MessageRow["kind"] => {
  if (JsonRpc.isResponse(message)) return "error" in message ? "error" : "result"
  return JsonRpc.isRequest(message) ? "request" : "notification"
}

const bodyOf = (message: JsonRpc.Message): unknown => {
  if (!JsonRpc.isResponse(message)) return message.params
  return "error" in message ? message.error : message.result
}

/** Also redacts text that contains JSON, because a structured result repeats its content as text. */
const redacted = (value: unknown, redact: ReadonlyArray<string>): string | undefined =>
  JSON.stringify(value, (key, inner: unknown) => {
    if (redact.includes(key)) return "[redacted]"
    return typeof inner === "string" && /^\s*[[{"]/.test(inner) ? redactedText(inner, redact) : inner
  })

const redactedText = (text: string, redact: ReadonlyArray<string>): string => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  try {
    return redacted(value, redact) ?? text
  } catch {
    return "[nested too deeply to redact]"
  }
}

const textOf = (value: unknown, redact: ReadonlyArray<string>): string | undefined => {
  const text = redacted(value, redact)
  return text === undefined ? undefined : beginning(text, longestBody)
}

/** Returns the request that a message responds to. */
const askedBy = (ring: Ring<MessageRow>, direction: MessageRow["direction"], id: string): MessageRow | undefined =>
  ring.all().findLast((one) => one.kind === "request" && one.id === id && one.direction !== direction)

/** Only used for methods in the specification. In other methods, `name` may be an argument. */
const namedIn = ({ method, params = {} }: JsonRpc.Request | JsonRpc.Notification): string | undefined =>
  MethodInfo.ofRequest(method) === undefined && MethodInfo.ofServerNotification(method) === undefined
    ? undefined
    : targetOf(params)

const seen = (
  direction: MessageRow["direction"],
  message: JsonRpc.Message,
  { bodies }: Options,
  ring: Ring<MessageRow>,
  time: number
): MessageRow => {
  const kind = kindOf(message)
  const id = "id" in message && message.id !== undefined ? beginning(String(message.id)) : undefined
  const asked = JsonRpc.isResponse(message) ? (id === undefined ? undefined : askedBy(ring, direction, id)) : undefined
  const own = JsonRpc.isResponse(message) ? undefined : message
  const target = own === undefined ? asked?.target : namedIn(own)
  return {
    time,
    direction,
    kind,
    method: own === undefined ? asked?.method : beginning(own.method),
    id,
    target,
    code: "error" in message ? message.error.code : undefined,
    size: JSON.stringify(message).length,
    body: bodies === undefined ? undefined : textOf(bodyOf(message), bodies.redact)
  }
}

const makeWatches = (options: Options, clock: Clock.Clock) => {
  const watches = new Map<Session, Watch>()
  const watch = (session: Session, until: number): Watch => {
    const made = { ring: new Ring<MessageRow>(options.capacity ?? 200), until }
    watches.set(session, made)
    session.peer.watch((direction, message) =>
      made.ring.push(seen(direction, message, options, made.ring, clock.currentTimeMillisUnsafe()))
    )
    return made
  }
  const forget = (session: Session): void => {
    if (watches.delete(session)) session.peer.watch(undefined)
  }
  return { watches, watch, forget }
}

/** Creates the service. Its watches end when the scope closes. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<{ readonly messages: Messages["Service"]; readonly observer: Observer }, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const { forget, watch, watches } = makeWatches(options, clock)
  yield* Effect.addFinalizer(() => Effect.sync(() => [...watches.keys()].forEach(forget)))
  /** Completes once no operator has looked for a minute. */
  const ends = (session: Session, watch: Watch): Effect.Effect<void> =>
    Effect.suspend(() => {
      const left = watch.until - clock.currentTimeMillisUnsafe()
      if (left > 0) return Effect.andThen(Effect.sleep(left), ends(session, watch))
      return Effect.sync(() => forget(session))
    })
  const of: Messages["Service"]["of"] = (session) =>
    Effect.gen(function* () {
      const now = clock.currentTimeMillisUnsafe()
      const known = watches.get(session)
      if (known === undefined && watches.size >= watchedAtMost && options.always !== true) return undefined
      const looked = known ?? watch(session, now + minute)
      if (known === undefined) yield* Effect.forkIn(ends(session, looked), scope)
      looked.until = Math.max(looked.until, now + minute)
      const messages = looked.ring.all().filter(({ time }) => time > now - minute)
      return { messages, began: known === undefined }
    })
  const observer: Observer = {
    ...(options.always === true ? { opened: (session) => void watch(session, Infinity) } : undefined),
    closed: forget
  }
  return { messages: { of }, observer }
})

/**
 * Configures the messages that `Admin.layer` shows: whether to include bodies, and whether to record messages before an operator looks.
 * With `always`, also provide it to the server. Without this layer, bodies are hidden, and recording starts when an operator looks.
 *
 * @example
 * ```ts
 * import { Admin } from "@effect-mcp/operate"
 *
 * export const messages = Admin.layerMessages({ bodies: { redact: ["password", "token"] } })
 * ```
 */
export const layer = (options: Options = {}): Layer.Layer<Messages | Observers> =>
  Layer.effectContext(
    Effect.map(make(options), ({ messages, observer }) =>
      Context.merge(Context.make(Messages, messages), service(observer))
    )
  )
