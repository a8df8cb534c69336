/** A node in an in-memory network. */
import { RelayError } from "@effect-mcp/server/Nodes"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { DirectoryStore } from "../directory/DirectoryStore.ts"
import type { NodeId } from "../relay/NodeId.ts"
import type { ReplyStore, StateUse } from "../directory/SharedReplies.ts"
import { layerOf, type NetworkOptions as Parts, type Options, timesOf } from "../layerOf.ts"
import { askedOf, type NodeRelay } from "../relay/NodeRelay.ts"
import type { Member, Network } from "./Network.ts"

const cut = Effect.fail(new RelayError({ reason: "Cut", message: "The node has crashed or left" }))

/** Stops all of a node's operations once it has crashed. */
const whileAlive = (store: DirectoryStore, { dead }: Member): DirectoryStore => {
  const step =
    <Args extends ReadonlyArray<unknown>, A, E>(run: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args): Effect.Effect<A, E> =>
      Effect.suspend(() => (Deferred.isDoneUnsafe(dead) ? Effect.never : run(...args)))
  return {
    join: step(store.join),
    renew: step(store.renew),
    // Called when the scope closes, which must not wait for a crashed node.
    leave: (node) => Effect.suspend(() => (Deferred.isDoneUnsafe(dead) ? Effect.void : store.leave(node))),
    alive: step(store.alive),
    inherit: step(store.inherit),
    release: step(store.release),
    open: step(store.open),
    claim: step(store.claim),
    save: step(store.save),
    close: step(store.close),
    sweep: step(store.sweep)
  }
}

/** Adds a value to a set until the scope closes. */
const added = <A>(set: Set<A>, value: A) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      set.add(value)
      return value
    }),
    () => Effect.sync(() => set.delete(value))
  )

/** A request whose response is not complete yet. */
interface Asked {
  readonly node: NodeId
  readonly over: Deferred.Deferred<void>
}

const relayOf = (network: Network, own: Member): NodeRelay => {
  const open = new Set<Asked>()
  const asking = (node: NodeId) => added(open, { node, over: Deferred.makeUnsafe<void>() })
  return {
    named: (node) => {
      own.name = node
    },
    asked: () => Array.from(open, ({ node }) => node),
    hasLeft: () => false,
    cut: (node) => {
      for (const asked of open) if (asked.node === node) Deferred.doneUnsafe(asked.over, Effect.void)
    },
    leave: Effect.void,
    serve: (endpoint) => Effect.asVoid(added(own.endpoints, endpoint)),
    send: Effect.fnUntraced(function* (node, request) {
      const { dead, endpoints } = yield* network.member(node)
      const { over } = yield* asking(node)
      const gone = Effect.andThen(Effect.raceFirst(Deferred.await(dead), Deferred.await(over)), cut)
      const response = yield* Effect.raceFirst(askedOf(endpoints, request), gone)
      const { body } = response
      return typeof body === "string" || body instanceof Uint8Array
        ? response
        : { ...response, body: Stream.interruptWhen(body, gone) }
    })
  }
}

const busOf = (network: Network, own: Member): Parts["bus"] => ({
  publish: (topic, text) => {
    for (const member of network.members.values()) {
      if (member !== own) for (const received of member.topics.get(topic) ?? []) received(text)
    }
  },
  subscribe: (topic, received) => {
    const functions = own.topics.get(topic) ?? new Set()
    own.topics.set(topic, functions)
    return Effect.asVoid(added(functions, received))
  }
})

/** Stores replies to states, using the process's clock. */
export const repliesOf = ({ replies }: Pick<Network, "replies">): ReplyStore => ({
  begin: (jti, node, expires) =>
    Effect.map(Clock.currentTimeMillis, (now): StateUse => {
      for (const [old, reply] of replies) if (reply.expires <= now) replies.delete(old)
      if (expires <= now) return { _tag: "Expired" }
      const first = replies.get(jti)
      if (first === undefined) replies.set(jti, { node, expires, text: undefined })
      return first === undefined ? { _tag: "First" } : { _tag: "Later", node: first.node, reply: first.text }
    }),
  end: (jti, text) =>
    Effect.sync(() => {
      const first = replies.get(jti)
      if (first !== undefined) first.text = text
    }),
  drop: (jti) => Effect.sync(() => void replies.delete(jti))
})

export const layer = (network: Network, options: Options) =>
  layerOf(
    Effect.gen(function* () {
      const times = timesOf(options)
      const { address, member } = yield* Effect.acquireRelease(
        Effect.sync(() => network.join()),
        ({ address }) => Effect.sync(() => network.members.delete(address))
      )
      return {
        times,
        address,
        store: whileAlive(network.store(times), member),
        relay: relayOf(network, member),
        bus: busOf(network, member),
        events: network.events,
        replies: repliesOf(network),
        rates: options.sharedRateLimits === true ? network.rates : undefined,
        key: network.key
      }
    })
  )
