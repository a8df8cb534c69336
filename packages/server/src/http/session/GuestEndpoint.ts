/** Answers what other nodes say about guests: about sessions that are held here, and about guests that are here. */
import * as JsonRpc from "@effect-mcp/protocol/JsonRpc"
import * as Effect from "effect/Effect"
import { recordOf } from "../../dispatch/Restore.ts"
import { type Nodes, RelayError, type RelayedRequest, type RelayEndpoint } from "../../session/Nodes.ts"
import { callerKey } from "@effect-mcp/core/Principal"
import { answerOf, type Joined, messageIn, type Renewed, type SendReply, type ToHolder } from "./GuestLink.ts"
import type { GuestSessions } from "./GuestSessions.ts"
import type { HttpSession } from "./HttpSession.ts"
import type { NodeSessions } from "./NodeSessions.ts"

export interface Options {
  readonly server: string
  readonly directory: Nodes["Service"]["directory"]
  /** The sessions that the endpoints of this node hold. */
  readonly node: NodeSessions
  readonly guests: GuestSessions
  readonly exchanges: { readonly admits: boolean }
}

const notHere = Effect.fail(new RelayError({ reason: "NotSent", message: "The session is not held here" }))

type Join = Extract<ToHolder, { kind: "join" }>
type Renew = Extract<ToHolder, { kind: "renew" }>

export class GuestEndpoint {
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
  }

  /** Answers a message about guests; undefined for a request of a client. */
  answer(request: RelayedRequest): ReturnType<RelayEndpoint["answer"]> | undefined {
    const message = messageIn(request)
    if (message === undefined) return undefined
    const { guests } = this.options
    const answer =
      message.kind === "join"
        ? this.join(request, message)
        : message.kind === "renew"
          ? this.renew(message)
          : message.kind === "send"
            ? this.send(request.session, message.message)
            : guests.receive(message, request.session)
              ? {}
              : undefined
    return answer === undefined ? notHere : Effect.succeed(answerOf(answer))
  }

  /** A session that requests may run of elsewhere: its client has sent `notifications/initialized`. */
  private held(id: string): HttpSession | undefined {
    const held = this.options.exchanges.admits ? this.options.node.session(id) : undefined
    return held?.session?.initialized === true ? held : undefined
  }

  private admit(session: HttpSession, guest: number, node: string, left: number): boolean {
    session.guests ??= session.config.guests?.(session)
    return session.guests?.admit(guest, node, left) === true
  }

  private join({ principal, session: id }: RelayedRequest, { guest, node }: Join): Joined | undefined {
    const { directory, server } = this.options
    const session = this.held(id)
    const { epoch, owner } = session ?? {}
    if (session?.session === undefined || epoch === undefined || owner !== ((principal && callerKey(principal)) ?? ""))
      return undefined
    const { left } = directory
    const record = recordOf(server, owner, session.session)
    if (record === undefined || left <= 0 || !this.admit(session, guest, node, left)) return undefined
    return { left, epoch, record: { ...record, subscriptions: [] } }
  }

  private renew({ guests, node }: Renew): Renewed | undefined {
    const { left } = this.options.directory
    if (left <= 0) return undefined
    const levels = guests.map(([id, guest, used]) => {
      const session = this.held(id)
      if (session === undefined || !this.admit(session, guest, node, left)) return false
      if (used) session.touch()
      return session.session?.logLevel ?? null
    })
    return { left, levels }
  }

  private send(id: string, message: JsonRpc.Message): SendReply | undefined {
    const session = this.options.node.session(id)
    if (session === undefined) return undefined
    const sent = !JsonRpc.isRequest(message) || session.isRead()
    if (sent) session.send(message, "data")
    return { sent }
  }
}
