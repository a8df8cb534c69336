/** A node of a network in this process. */
import { type RelayEndpoint, RelayError } from "@effect-mcp/server/Nodes"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { DirectoryStore } from "../directory/DirectoryStore.ts"
import type { ReplyStore } from "../directory/SharedReplies.ts"
import { layerOf, type Network as Parts, type Options, timesOf } from "../layerOf.ts"
import type { Member, Network } from "./Network.ts"

const cut = Effect.fail(new RelayError({ reason: "Cut", message: "The node is gone" }))
const notHere = new RelayError({ reason: "NotSent", message: "The node does not hold the session" })

/** A node that crashed takes no step any more. */
const whileAlive = (store: DirectoryStore, { dead }: Member): DirectoryStore => {
  const step =
    <Args extends ReadonlyArray<unknown>, A, E>(run: (...args: Args) => Effect.Effect<A, E>) =>
    (...args: Args): Effect.Effect<A, E> =>
      Effect.suspend(() => (Deferred.isDoneUnsafe(dead) ? Effect.never : run(...args)))
  return {
    join: step(store.join),
    renew: step(store.renew),
    // It is called at the end of the scope, which must not wait for a node that crashed.
    leave: (node) => Effect.suspend(() => (Deferred.isDoneUnsafe(dead) ? Effect.void : store.leave(node))),
    alive: step(store.alive),
    inherit: step(store.inherit),
    open: step(store.open),
    claim: step(store.claim),
    save: step(store.save),
    close: step(store.close),
    sweep: step(store.sweep)
  }
}

const added = <A>(set: Set<A>, value: A) =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => set.add(value)),
      () => Effect.sync(() => set.delete(value))
    )
  )

const relayOf = (network: Network, own: Member): Parts["relay"] => ({
  serve: (endpoint) => added(own.endpoints, endpoint),
  send: (node, request) =>
    Effect.flatMap(network.member(node), ({ dead, endpoints }) => {
      const gone = Effect.andThen(Deferred.await(dead), cut)
      const asked = ([first, ...rest]: ReadonlyArray<RelayEndpoint>): ReturnType<RelayEndpoint["answer"]> =>
        first === undefined
          ? Effect.fail(notHere)
          : Effect.catch(first.answer(request), (error) =>
              error.reason === "NotSent" ? asked(rest) : Effect.fail(error)
            )
      const answer = asked([...endpoints].filter(({ server }) => server === request.server))
      return Effect.map(Effect.raceFirst(answer, gone), (response) => ({
        ...response,
        body: Stream.interruptWhen(response.body, gone)
      }))
    })
})

const busOf = (network: Network, own: Member): Parts["bus"] => ({
  publish: (topic, text) => {
    for (const member of network.members.values()) {
      if (member !== own) for (const received of member.topics.get(topic) ?? []) received(text)
    }
  },
  subscribe: (topic, received) => {
    const functions = own.topics.get(topic) ?? new Set()
    own.topics.set(topic, functions)
    return added(functions, received)
  }
})

const repliesOf = ({ replies }: Network): ReplyStore => ({
  begin: (jti, node, expires) =>
    Effect.sync(() => {
      const first = replies.get(jti)
      if (first === undefined) replies.set(jti, { node, expires, text: undefined })
      return first && { node: first.node, reply: first.text }
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
        key: network.key
      }
    })
  )
