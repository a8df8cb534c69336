/** What the nodes of a session with guests say to each other, as requests of the relay that no client can send. */
import type * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import type { LoggingLevel } from "@effect-mcp/protocol/model/Logging"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Nodes, RelayedRequest, RelayedResponse, RelayEndpoint } from "../../session/Nodes.ts"
import { RelayError } from "../../session/Nodes.ts"
import type { SessionRecord } from "../../session/SessionDirectory.ts"
import { bytesOf } from "../../internal/bytesOf.ts"

/** A guest that a node wants to keep: its session, its number, and whether a client used it since the last renewal. */
export type KeptGuest = readonly [session: string, guest: number, used: boolean]

/** From a node with guests to the node that holds their sessions. */
export type ToHolder =
  | { readonly kind: "join"; readonly node: string; readonly guest: number }
  | { readonly kind: "renew"; readonly node: string; readonly guests: ReadonlyArray<KeptGuest> }
  /** A message to the client that relates to no request. */
  | { readonly kind: "send"; readonly message: JsonRpc.Message }

/** From the node that holds a session to one with a guest of it. */
export type ToGuest = { readonly guest: number } & (
  | { readonly kind: "level"; readonly level: LoggingLevel | null }
  | { readonly kind: "revoke" }
  | { readonly kind: "end"; readonly reason: string }
  /** A message of the client that arrived at another node. */
  | { readonly kind: "message"; readonly message: JsonRpc.Message }
)

/** The answer to `join`. A grant lasts for `left` milliseconds, counted from when it was asked for. */
export interface Joined {
  readonly left: number
  readonly epoch: number
  readonly record: SessionRecord
}

/** The answer to `renew`, one entry for each guest: the log level of its session, or false where the session is not held here. */
export interface Renewed {
  readonly left: number
  readonly levels: ReadonlyArray<LoggingLevel | null | false>
}

/** The answer to `send`: whether a client may read it. */
export interface SendReply {
  readonly sent: boolean
}

interface Answers {
  readonly join: Joined
  readonly renew: Renewed
  readonly send: SendReply
  readonly level: object
  readonly revoke: object
  readonly end: object
  readonly message: object
}

/** The method of such a request: no client's request with it reaches the relay. */
export const guestMethod = "GUEST"

/** The message of a request; undefined for any other request. */
export const messageIn = ({ body, method }: RelayedRequest): ToHolder | ToGuest | undefined =>
  method !== guestMethod || body === undefined
    ? undefined
    : // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node that knows the secret wrote it
      (JSON.parse(new TextDecoder().decode(body)) as ToHolder | ToGuest)

export const answerOf = (answer: object): RelayedResponse => ({
  status: 200,
  headers: {},
  body: JSON.stringify(answer)
})

const unreadable = Effect.fail(new RelayError({ reason: "Cut", message: "The answer of the node cannot be read" }))

/** The client that a message is about. */
type Client = Pick<RelayedRequest, "address" | "principal">
const none: Client = { address: undefined, principal: undefined }

export interface Options {
  readonly server: string
  readonly nodes: {
    readonly directory: Pick<Nodes["Service"]["directory"], "node">
    readonly relay: Pick<Nodes["Service"]["relay"], "send">
  }
  readonly clock: Clock.Clock
  /** Answers messages of this node to itself. */
  readonly own: () => Iterable<RelayEndpoint>
}

export class GuestLink {
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  /** The name of this node. */
  get node(): string {
    return this.options.nodes.directory.node
  }

  /** Milliseconds of the monotonic clock. */
  get now(): number {
    return Number(this.options.clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  /** Sends a message to a node; fails where it has no such session or guest. */
  say<M extends ToHolder | ToGuest>(
    node: string,
    session: string,
    message: M,
    { address, principal }: Client = none
  ): Effect.Effect<Answers[M["kind"]], RelayError> {
    const { nodes, own, server } = this.options
    const body = bytesOf(JSON.stringify(message))
    const client = { address, principal, headers: {}, url: "" }
    const request: RelayedRequest = { ...client, server, session, method: guestMethod, body }
    const answered = Effect.suspend(() =>
      node === this.node
        ? Effect.firstSuccessOf(Array.from(own(), ({ answer }) => answer(request)))
        : nodes.relay.send(node, request)
    )
    return Effect.scoped(
      Effect.flatMap(answered, ({ body, status }) =>
        status === 200 && typeof body === "string"
          ? // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node that knows the secret wrote it
            Effect.succeed(JSON.parse(body) as Answers[M["kind"]])
          : unreadable
      )
    )
  }
}
