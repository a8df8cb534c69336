/** The admin endpoint of a server, as its operator's program sees it. */
import type { Message, Snapshot } from "@effect-mcp/operate/Admin"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { code, CommandFailure, usage } from "../terminal/Exit.ts"
import * as Place from "./Place.ts"

export interface AdminEndpoint {
  readonly snapshot: Effect.Effect<Snapshot, CommandFailure>
  /** False where the request has ended meanwhile. */
  readonly interrupt: (key: string, reason: string) => Effect.Effect<boolean, CommandFailure>
  /** Sets the least level of log messages that the client of a session is sent. */
  readonly level: (session: string, level: string) => Effect.Effect<void, CommandFailure>
  /** Those of a session in the last minute, from the first look on. */
  readonly messages: (session: string) => Effect.Effect<ReadonlyArray<Message>, CommandFailure>
  /** Of the node of that name, or of the one that is asked; false where it had begun already. */
  readonly drain: (node: string | undefined) => Effect.Effect<boolean, CommandFailure>
}

/** The environment variable of the token: an argument would be seen by every user of the machine. */
export const tokenName = "EFFECT_MCP_ADMIN_TOKEN"

const broken = (message: string) => new CommandFailure({ code: code.connection, message })

/** Texts of a status, beside the reason that the endpoint gives. */
const refused = (status: number, reason: unknown): CommandFailure => {
  const why = typeof reason === "string" ? `: ${reason}` : ""
  return status === 401 || status === 403
    ? usage(`The admin endpoint refuses this (${status})${why}. Set ${tokenName} to its token`)
    : broken(`The admin endpoint answered with ${status}${why}`)
}

const Interrupted = Schema.Struct({ interrupted: Schema.Boolean })
const Drained = Schema.Struct({ began: Schema.Boolean })
const Done = Schema.Struct({})

/** At a URL, below which its routes are, or at a Unix socket. */
export const make = Effect.fnUntraced(function* (
  target: string,
  headers: Readonly<Record<string, string>>
): Effect.fn.Return<AdminEndpoint, CommandFailure> {
  const place = yield* Place.of(target)
  const { Message, Snapshot } = yield* Effect.promise(() => import("@effect-mcp/operate/Admin"))
  const decoded = <A>(schema: Schema.Codec<A>, json: unknown) =>
    Effect.mapError(Schema.decodeUnknownEffect(schema)(json), () =>
      broken("This is no admin endpoint, or one of another version: its answer cannot be read")
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
    // What is no JSON is no answer of an admin endpoint, which the caller says.
    return undefined
  }
}

const errorOf = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "error" in json ? json.error : undefined

/** `fetch` says only that it failed; its cause says why. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}
