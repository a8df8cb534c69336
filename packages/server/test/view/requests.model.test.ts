/** Random histories of calls, ends, cancels and interrupts in several sessions, against a model of the rows of `McpServer.requests`. */
import type * as Peer from "@effect-mcp/core/Peer"
import * as Tool from "@effect-mcp/core/Tool"
import * as Tools from "@effect-mcp/core/Tools"
import * as McpError from "@effect-mcp/protocol/McpError"
import { scaled } from "@effect-mcp/spec/Scale"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Latch, Schema, Scope } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import { metaOf } from "../support/modern.ts"
import { type Client, connect, quiesce, serve } from "../support/raw.ts"

const inFlight = 2
const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const Session = between(0, 2)
const Id = Schema.Literals(["a", "b", "c", "d"])
const Command = Schema.Union([
  Schema.TaggedStruct("Call", { session: Session, id: Id, masked: Schema.Boolean }),
  Schema.TaggedStruct("Finish", { session: Session, id: Id }),
  Schema.TaggedStruct("Cancel", { session: Session, id: Id }),
  Schema.TaggedStruct("Interrupt", { session: Session, id: Id }),
  /** By the key of any request so far. */
  Schema.TaggedStruct("InterruptAny", { at: between(0, 20) }),
  Schema.TaggedStruct("Reconnect", { session: Session })
])
type Command = typeof Command.Type

interface Call {
  readonly name: string
  readonly id: string
  readonly masked: boolean
  readonly go: Latch.Latch
  state: "running" | "pending" | "ending"
  key: string | undefined
}

interface Connected {
  readonly client: Client
  readonly scope: Scope.Closeable
  /** In order of arrival. */
  calls: Array<Call>
}

const history = Effect.fnUntraced(function* (version: string, commands: ReadonlyArray<Command>) {
  const calls = new Map<string, Call>()
  const features = Tools.layer(
    Tool.make("wait", { description: "", input: { name: Schema.String } }),
    Effect.fnUntraced(function* ({ name }) {
      const { go, masked } = calls.get(name)!
      yield* masked ? Effect.uninterruptible(go.await) : go.await
      return name
    })
  )
  const server = yield* serve({ features, limits: { inFlight }, rateLimit: false })
  const open = Effect.fnUntraced(function* (): Effect.fn.Return<Connected, Peer.RequestError> {
    const scope = yield* Scope.make()
    return { client: yield* Scope.provide(connect(server, { version }), scope), scope, calls: [] }
  })
  const sessions = [yield* open(), yield* open(), yield* open()]
  const end = Effect.suspend(() => {
    for (const { go } of calls.values()) go.openUnsafe()
    return Effect.forEach(sessions, ({ scope }) => Scope.close(scope, Exit.void), { discard: true })
  })
  // A history that fails must not wait for handlers that mask interruption.
  yield* Effect.addFinalizer(() => end)
  /** Ends a call; a call that waited for its permit starts. */
  const settle = (session: Connected, call: Call): void => {
    session.calls = session.calls.filter((one) => one !== call)
    for (const next of session.calls) {
      if (session.calls.filter(({ state }) => state !== "pending").length >= inFlight) break
      if (next.state === "pending") next.state = "running"
    }
  }
  const stop = (session: Connected, call: Call): void => {
    if (call.state === "pending" || (!call.masked && call.state === "running")) settle(session, call)
    else call.state = "ending"
  }
  const interrupt = Effect.fnUntraced(function* (key: string) {
    const holder = sessions.find((session) => session.calls.some((call) => call.key === key))
    const call = holder?.calls.find((one) => one.key === key)
    const before = holder?.client.received.length ?? 0
    assert.strictEqual(yield* server.requests.interrupt(key, `Reason of ${key}`), call !== undefined)
    yield* quiesce
    if (holder === undefined || call === undefined) return
    const { masked, state } = call
    stop(holder, call)
    if (masked && state !== "pending") return
    const answer = holder.client.received.slice(before).find(({ id }) => id === call.id)
    assert.deepStrictEqual(answer?.error, { code: McpError.Interrupted, message: `Reason of ${key}` })
  })

  const step = Effect.fnUntraced(function* (command: Command, at: number): Effect.fn.Return<void, Peer.RequestError> {
    if (command._tag === "InterruptAny") {
      const known = [...calls.values()].flatMap(({ key }) => key ?? [])
      yield* interrupt(known[command.at] ?? `${command.at}`)
      return
    }
    const session = sessions[command.session]!
    if (command._tag === "Reconnect") {
      for (const call of session.calls) call.go.openUnsafe()
      yield* Scope.close(session.scope, Exit.void)
      sessions[command.session] = yield* open()
      return
    }
    const { id } = command
    const call = session.calls.find((one) => one.id === id)
    switch (command._tag) {
      case "Call": {
        const name = `call-${at}`
        const go = Latch.makeUnsafe(false)
        const running = session.calls.filter(({ state }) => state !== "pending").length
        const state = running < inFlight ? "running" : "pending"
        const made: Call = { name, id, masked: command.masked, go, state, key: undefined }
        calls.set(name, made)
        // A second use of an id is dropped.
        if (call === undefined) session.calls.push(made)
        const _meta = version === "2026-07-28" ? { _meta: metaOf({}) } : {}
        session.client.send({
          jsonrpc: "2.0",
          id,
          method: "tools/call",
          params: { name: "wait", arguments: { name }, ..._meta }
        })
        yield* quiesce
        return
      }
      case "Finish":
        if (call === undefined || call.state === "pending") return
        yield* call.go.open
        yield* quiesce
        settle(session, call)
        return
      case "Cancel":
        session.client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } })
        yield* quiesce
        if (call !== undefined) stop(session, call)
        return
      case "Interrupt":
        if (call?.key !== undefined) yield* interrupt(call.key)
    }
  })

  for (const [at, command] of commands.entries()) {
    yield* step(command, at)
    yield* quiesce
    const rows = yield* server.requests.list
    const expected = sessions.flatMap(({ calls, client }) =>
      calls.map(({ id, state }) => `${client.session.id} ${id} ${state}`)
    )
    assert.deepStrictEqual(
      rows.map(({ id, session, state }) => `${session} ${id} ${state}`).toSorted(),
      expected.toSorted()
    )
    for (const { id, key, session } of rows) {
      const call = sessions.find(({ client }) => client.session.id === session)!.calls.find((one) => one.id === id)!
      // A call keeps its key, and no other call ever has it.
      assert.strictEqual(call.key ?? key, key)
      assert.isFalse([...calls.values()].some((other) => other !== call && other.key === key))
      call.key = key
    }
  }
  yield* end
  assert.deepStrictEqual(yield* server.requests.list, [])
})

describe.each(["2025-03-26", "2025-11-25", "2026-07-28"])("The %s request view in random histories", (version) => {
  it.live.prop(
    "Each key in the view interrupts only its own request",
    { commands: Arbitrary.array(Arbitrary.schema(Command), { maxLength: 40 }) },
    ({ commands }) => Effect.scoped(history(version, commands)),
    { timeout: 60_000, arbitrary: { runs: scaled(60, 2000), size: 40 } }
  )
})
