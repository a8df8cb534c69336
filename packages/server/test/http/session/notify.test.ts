/** Extension notifications on the stream of a session, which a client need not open. */
import * as Extension from "@effect-mcp/core/Extension"
import * as Extensions from "@effect-mcp/core/Extensions"
import * as Middleware from "@effect-mcp/server/Middleware"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Queue } from "effect"
import { open, type Reply } from "../support/http.ts"
import { openSession, request, revisions } from "../support/session.ts"

const Notes = Extension.make("com.example/notes", {
  requests: { add: Extension.request("com.example/notes/add") },
  notifications: {
    added: Extension.notification("notifications/com.example/notes/added", { from: "server" }),
    seen: Extension.notification("notifications/com.example/notes/seen", { from: "client" })
  },
  undeclared: "served"
})
const { added, seen } = Notes.notifications
const notes = Extensions.layer(Notes, {
  requests: { add: () => Effect.as(Extensions.notify(added, {}, { on: "connection" }), {}) },
  notifications: { seen: () => Extensions.notify(added, {}) }
})

/** Returns the method of the next message and skips comments and events without data. */
const methodOf = ({ next }: Reply) =>
  Effect.map(Effect.repeat(next, { until: (said) => said?.method !== undefined }), ({ method }) => method)

describe("Notifications on an HTTP session's stream", () => {
  for (const version of revisions) {
    it.live(`Without a GET stream, a notification delays no request and is delivered later (${version})`, () =>
      Effect.gen(function* () {
        const session = yield* openSession(yield* open(notes), version)
        const reply = yield* session.request(Notes.requests.add.method)
        assert.deepStrictEqual((yield* reply.json).result, {})
        const stream = yield* session.get()
        assert.strictEqual(yield* methodOf(stream), added.method)
      })
    )

    it.live(`Without a session, a notification delays no request and is never delivered (${version})`, () =>
      Effect.gen(function* () {
        const { fetch } = yield* open(notes, { sessions: false })
        const body = JSON.stringify(request(Notes.requests.add.method))
        const reply = yield* fetch({ headers: { "mcp-protocol-version": version }, body })
        assert.deepStrictEqual((yield* reply.json).result, {})
      })
    )

    it.live(`Without a GET stream, a notification does not delay later ones (${version})`, () =>
      Effect.gen(function* () {
        const passed = yield* Queue.unbounded<string>()
        const waiting = Middleware.inbound(({ message, outbound }, next) =>
          message.method === seen.method
            ? Effect.ensuring(Effect.andThen(outbound.ready, next), Queue.offer(passed, message.method))
            : next
        )
        const session = yield* openSession(yield* open(Layer.merge(notes, waiting)), version)
        yield* session.notify(seen.method)
        yield* session.notify(seen.method)
        for (const _ of [1, 2]) yield* Queue.take(passed)
        const stream = yield* session.get()
        assert.strictEqual(yield* methodOf(stream), added.method)
        assert.strictEqual(yield* methodOf(stream), added.method)
      })
    )
  }
})
