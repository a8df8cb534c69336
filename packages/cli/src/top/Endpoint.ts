/** A server's admin endpoint, as its operator's program sees it. */
import type { Message, Recent, Snapshot } from "@effect-mcp/operate/Admin"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import * as Place from "./Place.ts"

export interface AdminEndpoint {
  readonly snapshot: Effect.Effect<Snapshot, CommandFailure>
  /** The last 15 minutes, with the samples after `since`, or `undefined` if the server keeps no history. */
  readonly recent: (since: number) => Effect.Effect<Recent | undefined>
  /** Returns false if the request has already ended. */
  readonly interrupt: (key: string, reason: string) => Effect.Effect<boolean, CommandFailure>
  /** Sets the minimum level of log messages to send to a session's client. */
  readonly level: (session: string, level: string) => Effect.Effect<void, CommandFailure>
  /** A session's messages from the last minute, recorded since the first call. */
  readonly messages: (session: string) => Effect.Effect<ReadonlyArray<Message>, CommandFailure>
  /** Drains the given node, or else the node that answers. Returns false if it was already draining. */
  readonly drain: (node: string | undefined) => Effect.Effect<boolean, CommandFailure>
}

/** The environment variable for the token. An argument would be visible to every user of the machine. */
export const tokenName = "EFFECT_MCP_ADMIN_TOKEN"

const broken = (message: string) => new CommandFailure({ code: code.connection, message })

/** Texts for a status, in addition to the endpoint's reason. */
const refused = (status: number, reason: unknown): CommandFailure => {
  const why = typeof reason === "string" ? `: ${reason}` : ""
  return status === 401 || status === 403
    ? usage(`The admin endpoint rejected this (${status})${why}. Set ${tokenName} to its token`)
    : broken(`The admin endpoint responded with ${status}${why}`)
}

const Interrupted = Schema.Struct({ interrupted: Schema.Boolean })
const Drained = Schema.Struct({ began: Schema.Boolean })
const Done = Schema.Struct({})

/** The endpoint's location: the URL above its routes, or a Unix socket. */
export const make = Effect.fnUntraced(function* (
  target: string,
  headers: Readonly<Record<string, string>>
): Effect.fn.Return<AdminEndpoint, CommandFailure> {
  const place = yield* Place.of(target)
  const { Message, Recent, Snapshot } = yield* Effect.promise(() => import("@effect-mcp/operate/Admin"))
  const decoded = <A>(schema: Schema.Codec<A>, json: unknown) =>
    Effect.mapError(Schema.decodeUnknownEffect(schema)(json), () =>
      broken("The response cannot be read: this is not an admin endpoint, or its version is different")
    )
  const ask = <A>(schema: Schema.Codec<A>, path: string, body?: object) =>
    Effect.tryPromise({
      try: (signal) =>
        place.ask(
          {
            path,
            method: body === undefined ? "GET" : "POST",
            headers: { ...headers, ...(body === undefined ? undefined : { "content-type": "application/json" }) },
            body: body === undefined ? undefined : JSON.stringify(body)
          },
          signal
        ),
      catch: (cause) => broken(`The admin endpoint cannot be reached at ${place.name}: ${reasonOf(cause)}`)
    }).pipe(
      Effect.flatMap(({ status, text }) => {
        const json = jsonOf(text)
        return status === 200 ? decoded(schema, json) : Effect.fail(refused(status, errorOf(json)))
      })
    )
  return {
    snapshot: ask(Snapshot, "/requests"),
    // The view works without it, and the snapshot reports an endpoint that cannot be reached.
    recent: (since) => Effect.orElseSucceed(ask(Recent, `/recent?since=${since}`), () => undefined),
    interrupt: (key, reason) =>
      Effect.map(ask(Interrupted, "/interrupt", { key, reason }), ({ interrupted }) => interrupted),
    level: (session, level) => Effect.asVoid(ask(Done, "/level", { session, level })),
    messages: (session) =>
      Effect.map(
        ask(Schema.Struct({ messages: Schema.Array(Message) }), `/messages?session=${encodeURIComponent(session)}`),
        ({ messages }) => messages
      ),
    drain: (node) => Effect.map(ask(Drained, "/drain", { node }), ({ began }) => began)
  }
})

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // An admin endpoint answers with JSON. The caller reports anything else.
    return undefined
  }
}

const errorOf = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "error" in json ? json.error : undefined

/** `fetch` only reports that it failed. Its cause has the reason. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}
