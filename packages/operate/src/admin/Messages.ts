/**
 * The messages of a session in the last minute, for operators. They are kept while an operator looks at the session, or always where a
 * program asks for that; a session that is not watched costs nothing.
 *
 * Refuses bodies, unless a program asks for them: a message is shown by its method, its target, its size and how it ended.
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
  /** Milliseconds since the epoch. */
  time: Schema.Finite,
  /** As the server sees it. */
  direction: Schema.Literals(["received", "sent"]),
  kind: Schema.Literals(["request", "notification", "result", "error"]),
  /** Of an answer, that of its request, where the request is among the messages. */
  method: Schema.optional(Schema.String),
  /** The id of JSON-RPC. */
  id: Schema.optional(Schema.String),
  target: Schema.optional(Schema.String),
  /** The code of an error. */
  code: Schema.optional(Schema.Finite),
  /** Characters of its JSON. */
  size: Schema.Finite,
  /** Its params, result or error as JSON, where `bodies` asks for them. */
  body: Schema.optional(Schema.String)
})
export type MessageRow = typeof MessageRow.Type

export interface Options {
  /** Shows params, results and errors, cut at 2000 characters, without the values of members of these names, also in texts that are JSON. Default: none is shown. */
  readonly bodies?: { readonly redact: ReadonlyArray<string> } | undefined
  /** Keeps the messages of each session from its beginning: for servers that are given the layer. Default: while an operator looks. */
  readonly always?: boolean | undefined
  /** Messages of a session that are kept. Default 200. */
  readonly capacity?: number | undefined
}

/** How long a message is kept, and a session is watched after it was last looked at, in milliseconds. */
const minute = 60_000
/** How many sessions are watched at once because an operator looks. */
const watchedAtMost = 64
const longestBody = 2000

export class Messages extends Context.Service<
  Messages,
  {
    /** Those of the last minute, the oldest first; `began`: the session was not watched before. Undefined where too many sessions are. */
    readonly of: (
      session: Session
    ) => Effect.Effect<{ readonly messages: ReadonlyArray<MessageRow>; readonly began: boolean } | undefined>
  }
>()("@effect-mcp/operate/Admin/Messages") {}

interface Watch {
  readonly ring: Ring<MessageRow>
  /** When it ends unless an operator looks again. */
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

/** Also within texts that are JSON themselves: that of a structured result repeats it. */
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
    return "[nested too deep to be redacted]"
  }
}

const textOf = (value: unknown, redact: ReadonlyArray<string>): string | undefined => {
  const text = redacted(value, redact)
  return text === undefined ? undefined : beginning(text, longestBody)
}

/** The request that a message answers. */
const askedBy = (ring: Ring<MessageRow>, direction: MessageRow["direction"], id: string): MessageRow | undefined =>
  ring.all().findLast((one) => one.kind === "request" && one.id === id && one.direction !== direction)

/** Only of methods of the specification: elsewhere `name` may be an argument. */
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

/** Ends its watches with the scope. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<{ readonly messages: Messages["Service"]; readonly observer: Observer }, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const scope = yield* Effect.scope
  const { forget, watch, watches } = makeWatches(options, clock)
  yield* Effect.addFinalizer(() => Effect.sync(() => [...watches.keys()].forEach(forget)))
  /** Until no operator has looked for a minute. */
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
 * Says what `Admin.layer` shows of messages, where it is given the layer: bodies, and those before an operator looked. With `always` the
 * server is given it, too. Default, without it: no bodies, and messages from the moment at which an operator looks.
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
