/** Directory, events and replies as Redis keys, each with an expiry time. */
import { type Event, EventsGone, type EventStore } from "@effect-mcp/server/EventStore"
import { NodesUnavailable } from "@effect-mcp/server/Nodes"
import * as Effect from "effect/Effect"
import type { createClient } from "redis"
import type { DirectoryStore, DirectoryEntry, Times } from "../directory/DirectoryStore.ts"
import type { ReplyStore, StateUse } from "../directory/SharedReplies.ts"
import { Sizes } from "../events/Sizes.ts"
import * as Scripts from "./scripts.ts"

/** The `redis` package's client. */
export type RedisClient = ReturnType<typeof createClient>

/** Maximum duration of a command, in milliseconds. */
const longest = 2000

export const command = <A>(run: () => Promise<A>, patience = longest): Effect.Effect<A, NodesUnavailable> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new NodesUnavailable({ message: "The Redis command failed", cause })
  }).pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.fail(new NodesUnavailable({ message: `Redis did not respond within ${patience} ms` }))
    })
  )

const entryOf = (reply: unknown): DirectoryEntry | undefined => {
  if (!Array.isArray(reply)) return undefined
  const [node, epoch, record]: ReadonlyArray<unknown> = reply
  return { node: String(node), epoch: Number(epoch), record: String(record) }
}

export const directoryOf = (redis: RedisClient, prefix: string, { grace, kept, lease }: Times): DirectoryStore => {
  const nodes = `${prefix}node:`
  const sessionOf = (id: string): string => `${prefix}session:${id}`
  const whole = Math.round(lease + grace)
  const life = Math.round(kept)
  // Shorter than the lease, because a hanging command must not outlive the lease it is about.
  const patience = Math.min(longest, Math.round((lease * 2) / 3))
  const step = <A>(run: () => Promise<A>) => command(run, patience)
  const run = (script: string, keys: Array<string>, ...args: ReadonlyArray<string | number>) =>
    step(() => redis.eval(script, { keys, arguments: args.map(String) }))
  return {
    join: (node) => Effect.asVoid(step(() => redis.set(nodes + node, "1", { PX: whole }))),
    renew: (node) =>
      Effect.map(run(Scripts.renew, [nodes + node], Math.round(grace), whole), (renewed) => renewed === 1),
    leave: (node) => Effect.asVoid(step(() => redis.del(nodes + node))),
    alive: (asked) =>
      Effect.map(
        Effect.forEach(
          asked,
          (node) =>
            Effect.map(
              step(() => redis.exists(nodes + node)),
              (is) => is === 1
            ),
          {
            concurrency: "unbounded"
          }
        ),
        (alive) => asked.filter((_, at) => alive[at])
      ),
    inherit: (from, to, ids) =>
      Effect.map(
        Effect.forEach(ids, (id) => run(Scripts.pass, [sessionOf(id)], from, to, life), { concurrency: 64 }),
        (passed) => ids.filter((_, at) => passed[at] === 1)
      ),
    release: (from, to, ids) =>
      Effect.forEach(ids, (id) => run(Scripts.pass, [sessionOf(id)], from, to, life), {
        concurrency: 64,
        discard: true
      }),
    open: (node, id, record) =>
      Effect.asVoid(
        step(() => redis.multi().hSet(sessionOf(id), { node, epoch: "1", record }).pExpire(sessionOf(id), life).exec())
      ),
    claim: (node, id, mayTake) =>
      Effect.flatMap(
        step(() => redis.hmGet(sessionOf(id), ["node", "epoch", "record"])),
        ([held, epoch, record]) => {
          if (typeof held !== "string" || typeof record !== "string") return Effect.succeed(undefined)
          if (held === node || mayTake?.(record) === false)
            return Effect.succeed({ node: held, epoch: Number(epoch), record })
          return Effect.map(run(Scripts.claim, [sessionOf(id)], node, nodes, life), entryOf)
        }
      ),
    save: (node, id, record) => Effect.asVoid(run(Scripts.save, [sessionOf(id)], node, record)),
    close: (node, ids) => Effect.asVoid(run(Scripts.close, ids.map(sessionOf), node)),
    sweep: (_node, ids) =>
      Effect.forEach(ids, (id) => step(() => redis.pExpire(sessionOf(id), life)), {
        concurrency: 64,
        discard: true
      })
  }
}

/** Consecutive events: the first one's position, where each one ends in the text, and the text. */
type Batch = readonly [first: number, ends: ReadonlyArray<number>, text: string]

const eventsOf = (json: string): ReadonlyArray<Event> => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node wrote it by `append`
  const [first, ends, text] = JSON.parse(json) as Batch
  return ends.map((end, at) => ({ seq: first + at, text: text.slice(ends[at - 1] ?? 0, end) }))
}

export const eventsIn = (redis: RedisClient, prefix: string, { kept }: Times): EventStore["Service"] => {
  const sizes = new Sizes()
  const streamOf = (session: string, stream: string): string => `${prefix}events:${session}:${stream}`
  const namesOf = (session: string): string => `${prefix}streams:${session}`
  return {
    append: ({ session, stream }, events, text = events.map((event) => event.text).join("")) => {
      const [first] = events
      if (first === undefined) return Effect.void
      let end = 0
      const batch: Batch = [first.seq, events.map((event) => (end += event.text.length)), text]
      const { dropped } = sizes.add(session, stream, first.seq, text.length)
      const keys = [`${prefix}session:${session}`, streamOf(session, stream), namesOf(session)]
      const args = [JSON.stringify(batch), stream, String(dropped), String(Math.round(kept))]
      return Effect.orDie(Effect.asVoid(command(() => redis.eval(Scripts.append, { keys, arguments: args }))))
    },
    after: ({ session, stream }, seq) =>
      Effect.flatMap(Effect.orDie(command(() => redis.lRange(streamOf(session, stream), 0, -1))), (batches) => {
        const events = batches.flatMap(eventsOf)
        return events[0] === undefined || events[0].seq > seq + 1
          ? Effect.fail(new EventsGone({ message: "These events are no longer stored" }))
          : Effect.succeed(events.filter((event) => event.seq > seq))
      }),
    forget: (session, stream) =>
      Effect.suspend(() => {
        sizes.forget(session, stream)
        if (stream !== undefined) {
          const forgotten = () => redis.multi().del(streamOf(session, stream)).sRem(namesOf(session), stream).exec()
          return Effect.asVoid(command(forgotten))
        }
        const names = command(() => redis.sMembers(namesOf(session)))
        return Effect.flatMap(names, (names) =>
          Effect.asVoid(command(() => redis.del([namesOf(session), ...names.map((name) => streamOf(session, name))])))
        )
      }).pipe(Effect.orDie)
  }
}

const useOf = (text: string): StateUse => {
  if (text === "first") return { _tag: "First" }
  if (text === "expired") return { _tag: "Expired" }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a node wrote it by `begin` or `end`
  const { node, reply } = JSON.parse(text) as { readonly node: string; readonly reply?: string }
  return { _tag: "Later", node, reply }
}

export const repliesIn = (redis: RedisClient, prefix: string): ReplyStore => {
  const keyOf = (jti: string): string => `${prefix}reply:${jti}`
  return {
    begin: (jti, node, expires) => {
      const args = [JSON.stringify({ node }), String(Math.round(expires))]
      const used = command(() => redis.eval(Scripts.begin, { keys: [keyOf(jti)], arguments: args }))
      return Effect.map(used, (text) => useOf(typeof text === "string" ? text : "expired"))
    },
    end: (jti, reply) =>
      Effect.asVoid(
        command(() => redis.set(keyOf(jti), JSON.stringify({ node: "", reply }), { XX: true, KEEPTTL: true }))
      ),
    drop: (jti) => Effect.asVoid(command(() => redis.del(keyOf(jti))))
  }
}
