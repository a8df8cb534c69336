/** The admin endpoint of a server, as its operator's program sees it. */
import type { Message, Snapshot } from "@effect-mcp/operate/Admin"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { code, Failure, usage } from "../terminal/Exit.ts"

export interface Endpoint {
  readonly snapshot: Effect.Effect<Snapshot, Failure>
  /** False where the request has ended meanwhile. */
  readonly interrupt: (key: string, reason: string) => Effect.Effect<boolean, Failure>
  /** Sets the least level of log messages that the client of a session is sent. */
  readonly level: (session: string, level: string) => Effect.Effect<void, Failure>
  /** Those of a session in the last minute, from the first look on. */
  readonly messages: (session: string) => Effect.Effect<ReadonlyArray<Message>, Failure>
  /** Of the node of that name, or of the one that is asked; false where it had begun already. */
  readonly drain: (node: string | undefined) => Effect.Effect<boolean, Failure>
}

/** The environment variable of the token: an argument would be seen by every user of the machine. */
export const tokenName = "EFFECT_MCP_ADMIN_TOKEN"

const broken = (message: string) => new Failure({ code: code.connection, message })

/** Texts of a status, beside the reason that the endpoint gives. */
const refused = (status: number, reason: unknown): Failure => {
  const why = typeof reason === "string" ? `: ${reason}` : ""
  return status === 401 || status === 403
    ? usage(`The admin endpoint refuses this (${status})${why}. Set ${tokenName} to its token`)
    : broken(`The admin endpoint answered with ${status}${why}`)
}

const Interrupted = Schema.Struct({ interrupted: Schema.Boolean })
const Drained = Schema.Struct({ began: Schema.Boolean })
const Done = Schema.Struct({})

/** Whether nothing on the way to a URL can read what is sent there. */
const isPrivate = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)

/** At `url`, below which its routes are. */
export const make = Effect.fnUntraced(function* (
  url: string,
  headers: Readonly<Record<string, string>>
): Effect.fn.Return<Endpoint, Failure> {
  if (!URL.canParse(url) || !/^https?:/i.test(url)) {
    return yield* usage(`Not the URL of an admin endpoint: ${url}. Write http://127.0.0.1:9464/admin`)
  }
  if (!isPrivate(new URL(url))) {
    return yield* usage(
      `The token would be read on its way to ${url}. Use https, or a tunnel: ssh -L 9464:127.0.0.1:9464 HOST, then http://127.0.0.1:9464/admin`
    )
  }
  const base = url.replace(/\/$/, "")
  const { Message, Snapshot } = yield* Effect.promise(() => import("@effect-mcp/operate/Admin"))
  const decoded = <A>(schema: Schema.Codec<A>, json: unknown) =>
    Effect.mapError(Schema.decodeUnknownEffect(schema)(json), () =>
      broken("This is no admin endpoint, or one of another version: its answer cannot be read")
    )
  const ask = <A>(schema: Schema.Codec<A>, path: string, body?: object) =>
    Effect.tryPromise({
      try: async (signal) => {
        const response = await fetch(`${base}${path}`, {
          method: body === undefined ? "GET" : "POST",
          headers: { ...headers, ...(body === undefined ? undefined : { "content-type": "application/json" }) },
          body: body === undefined ? null : JSON.stringify(body),
          redirect: "error",
          signal
        })
        const json: unknown = await response.json().catch(() => undefined)
        return { status: response.status, json }
      },
      catch: (cause) => broken(`The admin endpoint cannot be reached at ${base}: ${reasonOf(cause)}`)
    }).pipe(
      Effect.flatMap(({ json, status }) =>
        status === 200 ? decoded(schema, json) : Effect.fail(refused(status, errorOf(json)))
      )
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

const errorOf = (json: unknown): unknown =>
  typeof json === "object" && json !== null && "error" in json ? json.error : undefined

/** `fetch` says only that it failed; its cause says why. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? cause.cause.message : cause.message
}
