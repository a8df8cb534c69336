import { NodeFileSystem } from "@effect/platform-node"
import { McpClient } from "@effect-mcp/client"
import { Memory, Resources, Sampling, Tool, Tools } from "@effect-mcp/core"
import { Audit } from "@effect-mcp/operate"
import * as Revision from "@effect-mcp/protocol/Revision"
import { McpServer, Observer } from "@effect-mcp/server"
import * as McpTest from "@effect-mcp/testing/McpTest"
import { quiesce } from "@effect-mcp/testing/Quiesce"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, FileSystem, Latch, Layer, Logger, Redacted, Schema, Scope, Stream } from "effect"
import { systemError } from "effect/PlatformError"
import { TestClock } from "effect/testing"
import { createHash } from "node:crypto"
import { listener, portOf } from "../support/served.ts"

const Login = Tool.make("login", { description: "Logs in", input: { user: Schema.String, password: Schema.String } })
const Fails = Tool.make("fails", { description: "Fails" })
const Asks = Tool.make("asks", { description: "Asks the model" })

const features = Layer.mergeAll(
  Tools.layer(Login, () => Effect.succeed("done")),
  Tools.layer(Fails, () => Effect.fail(new Tools.ToolFailure({ message: "It failed" }))),
  Tools.layer(Asks, () => Effect.as(Sampling.createMessage({ maxTokens: 1, messages: [] }), "asked")),
  Resources.layer({ uri: "https://user:secret@host/report?token=secret", name: "report" }, Effect.succeed("text"))
)
const model = Sampling.layer(() =>
  Effect.succeed({ role: "assistant" as const, model: "m", content: { type: "text" as const, text: "hi" } })
)

const records = (lines: ReadonlyArray<string>): ReadonlyArray<Audit.Record> => lines.map((line) => JSON.parse(line))

/** Runs an effect with an audit log, and returns the lines. */
const trailOf = <A, E, R>(effect: Effect.Effect<A, E, R>, options: Audit.Options = {}, lines: Array<string> = []) =>
  Effect.scoped(effect).pipe(
    Effect.provide(Layer.provide(Audit.layer(options), Audit.layerArray(lines))),
    Effect.as(lines)
  )

const check = (lines: ReadonlyArray<string>, options?: Audit.VerifyOptions) =>
  Audit.verify(Stream.fromIterable(lines), options)

describe.each(Revision.all)("Audit trail in $version", (revision) => {
  const conversation = Effect.gen(function* () {
    const client = yield* McpTest.connect(features, revision, { client: { clientInfo: { name: "c", version: "1" } } })
    yield* client.callTool(Login, { user: "ada", password: "swordfish" })
    yield* client.callToolByName("fails")
    yield* Effect.exit(client.callToolByName("missing"))
    yield* client.callToolByName("asks")
    yield* client.readResource("https://user:secret@host/report?token=secret")
  }).pipe(Effect.provide(model))

  it.effect("An audit trail records every request with its actor, target and outcome, but no arguments", () =>
    Effect.gen(function* () {
      const lines = yield* trailOf(conversation)
      const all = records(lines)
      const calls = all.flatMap(({ event, method, outcome, target, code }) =>
        event === "request" && (method === "tools/call" || method === "resources/read")
          ? [[target, outcome, ...(code === undefined ? [] : [code])]]
          : []
      )
      assert.deepStrictEqual(calls, [
        ["login", "answered"],
        ["fails", "tool_failed"],
        ["missing", "failed", -32602],
        ...(revision.era === "stateless" ? [["asks", "asked"]] : []),
        ["asks", "answered"],
        ["https://host/report", "answered"]
      ])
      const question = all.find(({ event }) => event === "question")
      assert.strictEqual(question?.outcome, revision.era === "stateful" ? "answered" : undefined)
      const call = all.find(({ target }) => target === "login")
      assert.strictEqual(call?.actor?.client, "c 1")
      assert.isString(call?.time)
      const events = all.map(({ event }) => event)
      assert.deepStrictEqual([events[0], events.at(-1)], ["audit.opened", "audit.closed"])
      assert.includeMembers(events, ["session.opened", "session.closed"])
      assert.notMatch(lines.join("\n"), /swordfish|secret/)
      assert.deepInclude(yield* check(lines), { problems: [], closed: true, records: lines.length })
    })
  )

  it.effect("An audit trail includes arguments only on request, with redacted fields removed", () =>
    Effect.gen(function* () {
      const lines = yield* trailOf(conversation, { arguments: { redact: ["password"] } })
      const call = records(lines).find(({ target }) => target === "login")
      assert.deepStrictEqual(call?.details, { arguments: { user: "ada", password: "[redacted]" } })
    })
  )
})

describe.each(Revision.all)("Client audit trail in $version", (revision) => {
  it.effect("A client's audit trail records requests and questions with server and outcome, and its connection", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const client = yield* McpTest.connect(features, revision)
        yield* client.callTool(Login, { user: "ada", password: "swordfish" })
        yield* Effect.exit(client.callToolByName("missing"))
        yield* client.callToolByName("asks")
        yield* client.readResource("https://user:secret@host/report?token=secret")
      }).pipe(Effect.scoped, Effect.provide([model, Layer.provide(Audit.layerClient(), Audit.layerArray(lines))]))
      const all = records(lines)
      const calls = all.flatMap(({ event, method, outcome, target }) =>
        event === "client.request" && (method === "tools/call" || method === "resources/read")
          ? [[target, outcome]]
          : []
      )
      assert.deepStrictEqual(calls, [
        ["login", "answered"],
        ["missing", "failed"],
        ...(revision.era === "stateless" ? [["asks", "asked"]] : []),
        ["asks", "answered"],
        ["https://host/report", "answered"]
      ])
      const question = all.find(({ event }) => event === "client.question")
      assert.strictEqual(question?.outcome, revision.era === "stateful" ? "answered" : undefined)
      assert.includeMembers(
        all.map(({ event }) => event),
        ["client.opened", "client.closed"]
      )
      const call = all.find(({ target }) => target === "login")
      assert.strictEqual(call?.details?.["revision"], revision.version)
      assert.notMatch(lines.join("\n"), /swordfish|secret/)
      assert.deepInclude(yield* check(lines), { problems: [], closed: true, records: lines.length })
    })
  )
})

describe("Observer layers", () => {
  it.effect("Server observer layers do not replace each other, whether merged or nested", () =>
    Effect.gen(function* () {
      const beside: Array<string> = []
      const below: Array<string> = []
      const trail = (lines: Array<string>) => Layer.provide(Audit.layer(), Audit.layerArray(lines))
      const seen: Array<string> = []
      const counting = Observer.layer(
        Effect.succeed({ request: ({ request: { method } }) => void seen.push(method) } satisfies Observer.Observer)
      )
      yield* McpTest.connect(features, "2025-11-25").pipe(
        Effect.flatMap((client) => client.callToolByName("fails")),
        Effect.scoped,
        Effect.provide([trail(beside), counting]),
        Effect.provide(trail(below))
      )
      const calls = (lines: ReadonlyArray<string>) => records(lines).filter(({ target }) => target === "fails").length
      assert.deepStrictEqual([calls(beside), calls(below)], [1, 1])
      assert.include(seen, "tools/call")
    })
  )

  it.effect("Client observer layers do not replace each other", () =>
    Effect.gen(function* () {
      const first: Array<string> = []
      const second: Array<string> = []
      const trail = (lines: Array<string>) => Layer.provide(Audit.layerClient(), Audit.layerArray(lines))
      yield* McpTest.connect(features, "2025-11-25").pipe(
        Effect.flatMap((client) => client.callToolByName("fails")),
        Effect.scoped,
        Effect.provide([trail(first), trail(second)])
      )
      const calls = (lines: ReadonlyArray<string>) => records(lines).filter(({ target }) => target === "fails").length
      assert.deepStrictEqual([calls(first), calls(second)], [1, 1])
    })
  )
})

describe("Custom audit details", () => {
  it.effect("Details without a JSON form do not stop the trail", () =>
    Effect.gen(function* () {
      const circle: { [name: string]: unknown } = {}
      circle["self"] = circle
      const all = [{ amount: 10n }, { circle }, { left: "after it" }]
      // JavaScript programs may pass this.
      const given: ReadonlyArray<Audit.Entry> = all.map((details) => Object.assign({ event: "app.paid" }, { details }))
      const lines = yield* trailOf(
        Effect.flatMap(Audit.Audit, ({ record }) => Effect.forEach(given, record, { discard: true }))
      )
      const [first, second, third] = records(lines).flatMap(({ details, event }) =>
        event === "app.paid" ? [details] : []
      )
      assert.deepStrictEqual([first, third], [{ amount: "10" }, { left: "after it" }])
      assert.include(String(second?.["unreadable"]), "circular")
      assert.deepInclude(yield* check(lines), { problems: [], closed: true })
    })
  )

  it.effect("Details cannot take over chain fields: an entry with record fields is recorded without them", () =>
    Effect.gen(function* () {
      const forged = Object.assign({ event: "app.login" }, { seq: 99, time: "never", prev: "0", hash: "0", more: "x" })
      const lines = yield* trailOf(Effect.flatMap(Audit.Audit, ({ record }) => record(forged)))
      const login = records(lines).find(({ event }) => event === "app.login")
      assert.strictEqual(login?.seq, 2)
      assert.notStrictEqual(login?.time, "never")
      assert.notProperty(login, "more")
      assert.deepInclude(yield* check(lines), { problems: [], closed: true })
    })
  )

  it.effect("Details and client text stay on one line, whatever line breaks they contain", () =>
    Effect.gen(function* () {
      const broken = 'a\nb\r\n{"event":"request","seq":1}\u2028c\u0000'
      const lines = yield* trailOf(
        Effect.flatMap(Audit.Audit, ({ record }) =>
          record({
            event: "app.login",
            target: broken,
            details: { broken },
            actor: { client: broken, subject: broken }
          })
        )
      )
      assert.isTrue(lines.every((line) => !/[\n\r\0]/.test(line)))
      assert.strictEqual(records(lines).find(({ event }) => event === "app.login")?.actor?.client, broken)
      assert.deepInclude(yield* check(lines), { records: 3, problems: [], closed: true })
    })
  )
})

const three = (options?: Audit.Options) =>
  trailOf(
    Effect.gen(function* () {
      const { record } = yield* Audit.Audit
      for (const target of ["a", "b", "c"]) yield* record({ event: "app.login", target })
    }),
    options
  )

describe("verify", () => {
  it.effect.each([
    ["a modified line", (lines: Array<string>) => lines.splice(2, 1, lines[2]!.replace('"b"', '"x"'))],
    ["a removed line", (lines: Array<string>) => lines.splice(2, 1)],
    ["a removed first line", (lines: Array<string>) => lines.splice(0, 1)],
    ["an inserted line", (lines: Array<string>) => lines.splice(2, 0, lines[1]!)],
    ["two swapped lines", (lines: Array<string>) => lines.splice(1, 2, lines[2]!, lines[1]!)],
    ["a line replaced by other text", (lines: Array<string>) => lines.splice(2, 1, "{}")]
  ] as const)("Verifying detects %s", ([, change]) =>
    Effect.gen(function* () {
      const lines = yield* three()
      assert.deepStrictEqual((yield* check(lines)).problems, [])
      change(lines)
      assert.isNotEmpty((yield* check(lines)).problems)
    })
  )

  it.effect("Verifying detects a line that was modified and rehashed", () =>
    Effect.gen(function* () {
      const lines = yield* three()
      const body = `${(lines[2] ?? "").replace('"b"', '"x"').replace(/,"hash":"[0-9a-f]+"\}$/, "")}}`
      lines[2] = `${body.slice(0, -1)},"hash":"${createHash("sha256").update(body).digest("hex")}"}`
      assert.deepStrictEqual((yield* check(lines)).problems, [
        { line: 4, reason: "Record 4 does not match the record before it, which was modified" }
      ])
    })
  )

  it.effect.each([
    { event: "audit.opened" },
    { event: "audit.opened", details: {} },
    { event: "audit.opened", details: null },
    { event: "audit.opened", details: "torn" },
    { event: "app.login", details: { torn: true } }
  ])("Verifying detects text inserted before %j", (fields) =>
    Effect.gen(function* () {
      const lines = yield* three()
      const { hash } = JSON.parse(lines.at(-1) ?? "")
      const body = JSON.stringify({ seq: lines.length + 1, ...fields, prev: hash })
      lines.push("no record")
      lines.push(`${body.slice(0, -1)},"hash":"${createHash("sha256").update(body).digest("hex")}"}`)
      assert.deepStrictEqual((yield* check(lines)).problems, [{ line: 6, reason: "Not an audit record" }])
    })
  )

  it.effect("Verifying detects a truncated end from the closing record and from a kept hash", () =>
    Effect.gen(function* () {
      const lines = yield* three()
      const { head } = yield* check(lines)
      lines.pop()
      const report = yield* check(lines)
      assert.deepStrictEqual([report.closed, report.problems], [false, []])
      assert.isNotEmpty((yield* check(lines, { head })).problems)
    })
  )

  it.effect("Verifying with a key detects a trail rewritten without it", () =>
    Effect.gen(function* () {
      const key = Redacted.make("a key")
      const lines = yield* three({ key })
      assert.deepStrictEqual((yield* check(lines, { key })).problems, [])
      assert.isNotEmpty((yield* check(yield* three(), { key })).problems)
      assert.isNotEmpty((yield* check(yield* three({ key: Redacted.make("another") }), { key })).problems)
    })
  )
})

/** A sink that appends only while its latch is open. */
const gated = (lines: Array<string>, open: Latch.Latch) =>
  Layer.succeed(Audit.Sink, {
    ending: Effect.undefined,
    append: (added) =>
      Effect.andThen(
        open.await,
        Effect.sync(() => void lines.push(...added))
      )
  })

describe("Slow sinks", () => {
  it.effect.each(["2025-11-25", "2026-07-28"] as const)(
    "A slow sink makes requests wait and loses no entry (%s)",
    (version) =>
      Effect.gen(function* () {
        const open = Latch.makeUnsafe(true)
        const lines: Array<string> = []
        const trail = Layer.provide(Audit.layer({ capacity: 4 }), gated(lines, open))
        yield* Effect.gen(function* () {
          const client = yield* McpTest.connect(features, version)
          yield* quiesce
          open.closeUnsafe()
          const calls = yield* Effect.forkChild(
            Effect.forEach(Array.from({ length: 20 }), () => client.callToolByName("fails"))
          )
          yield* quiesce
          const waits = calls.pollUnsafe() === undefined
          open.openUnsafe()
          yield* Fiber.join(calls)
          assert.isTrue(waits)
        }).pipe(Effect.scoped, Effect.provide(trail))
        assert.strictEqual(records(lines).filter(({ target }) => target === "fails").length, 20)
        assert.deepInclude(yield* check(lines), { problems: [], closed: true })
      })
  )

  it.effect("A full sink loses no entry of earlier requests that end together", () =>
    Effect.gen(function* () {
      const [open, end] = [Latch.makeUnsafe(true), Latch.makeUnsafe(false)]
      const lines: Array<string> = []
      const Waits = Tool.make("waits", { description: "Waits" })
      const waits = Tools.layer(Waits, () => Effect.as(end.await, "done"))
      yield* Effect.gen(function* () {
        const client = yield* McpTest.connect(waits, "2025-11-25")
        const calls = yield* Effect.forkChild(
          Effect.forEach(Array.from({ length: 20 }), () => client.callToolByName("waits"), { concurrency: 20 })
        )
        yield* quiesce
        open.closeUnsafe()
        end.openUnsafe()
        yield* quiesce
        open.openUnsafe()
        yield* Fiber.join(calls)
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(Audit.layer({ capacity: 4 }), gated(lines, open))))
      assert.strictEqual(records(lines).filter(({ target }) => target === "waits").length, 20)
    })
  )

  it.effect("A slow sink accepts all entries of a program that records more than fits", () =>
    Effect.gen(function* () {
      const open = Latch.makeUnsafe(false)
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const { record } = yield* Audit.Audit
        const logins = yield* Effect.forkChild(
          Effect.forEach(Array.from({ length: 20 }), () => record({ event: "app.login" }), { concurrency: 20 })
        )
        yield* quiesce
        open.openUnsafe()
        yield* Fiber.join(logins)
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(Audit.layer({ capacity: 4 }), gated(lines, open))))
      assert.strictEqual(records(lines).filter(({ event }) => event === "app.login").length, 20)
    })
  )

  it.effect("A slow sink that may lose entries records how many it lost", () =>
    Effect.gen(function* () {
      const open = Latch.makeUnsafe(true)
      const lines: Array<string> = []
      const trail = Layer.provide(Audit.layer({ capacity: 4, whenFull: "drop" }), gated(lines, open))
      yield* Effect.gen(function* () {
        const client = yield* McpTest.connect(features, "2025-11-25")
        yield* quiesce
        open.closeUnsafe()
        yield* Effect.forEach(Array.from({ length: 20 }), () => client.callToolByName("fails"))
        open.openUnsafe()
      }).pipe(Effect.scoped, Effect.provide(trail))
      const kept = records(lines).filter(({ target }) => target === "fails").length
      const dropped = records(lines).flatMap(({ details, event }) =>
        event === "audit.dropped" ? [Number(details?.["entries"])] : []
      )
      assert.isBelow(kept, 20)
      // The end of the session may be among the lost entries.
      assert.include([20, 21], kept + dropped.reduce((a, b) => a + b, 0))
      assert.deepInclude(yield* check(lines), { problems: [] })
    })
  )
})

describe("Failing audit sinks", () => {
  const kinds: { readonly [kind: string]: () => any } = {
    "throws at the call": () => assert.fail("No sink"),
    "throws in its effect": () => Effect.die("No sink"),
    "returns a promise that rejects": () => Promise.reject(new Error("No sink")),
    "returns undefined": () => undefined
  }
  const throwing = (lines: Array<string>, kind: string, tried: Latch.Latch) => {
    let calls = 0
    return Layer.succeed(Audit.Sink, {
      ending: Effect.undefined,
      append: (added) => {
        if (++calls > 1) return Effect.sync(() => void lines.push(...added))
        tried.openUnsafe()
        const wrong = kinds[kind]
        return wrong?.()
      }
    })
  }

  it.effect.each(Object.keys(kinds))("An audit sink that %s is retried", (kind) =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const tried = Latch.makeUnsafe(false)
      // A logger that throws doesn't affect the log either.
      const logger = Logger.make(() => assert.fail("No logger"))
      yield* Effect.gen(function* () {
        const { record } = yield* Audit.Audit
        yield* record({ event: "app.login" })
        // Hashing a record takes real time, so the clock must not advance before the first attempt.
        yield* tried.await
        yield* quiesce
        yield* TestClock.adjust("1 second")
      }).pipe(
        Effect.scoped,
        Effect.provide(
          Audit.layer({ capacity: 1 }).pipe(
            Layer.provide(throwing(lines, kind, tried)),
            Layer.provide(Logger.layer([logger]))
          )
        )
      )
      assert.deepInclude(yield* check(lines), { records: 3, problems: [], closed: true })
    })
  )
})

describe("Full audit trails", () => {
  it.effect("A lossy trail keeps as many entries as its capacity and counts the rest", () =>
    Effect.gen(function* () {
      const open = Latch.makeUnsafe(false)
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const { record } = yield* Audit.Audit
        // The sink has stored the first record of the log.
        yield* quiesce
        yield* Effect.forEach(Array.from({ length: 10 }), () => record({ event: "app.login" }), { discard: true })
        open.openUnsafe()
      }).pipe(
        Effect.scoped,
        Effect.provide(Layer.provide(Audit.layer({ capacity: 4, whenFull: "drop" }), gated(lines, open)))
      )
      const all = records(lines)
      assert.lengthOf(
        all.filter(({ event }) => event === "app.login"),
        4
      )
      assert.deepStrictEqual(
        all.flatMap(({ details, event }) => (event === "audit.dropped" ? [details] : [])),
        [{ entries: 6 }]
      )
    })
  )
})

describe("Server names in client entries", () => {
  it.effect.each([
    ["my-server", "my-server"],
    ["node server.js --key swordfish", "node"],
    ["https://me:swordfish@host/mcp?key=swordfish", "https://host/mcp"]
  ] as const)("A client's audit trail names its server without secrets: %s", ([address, named]) =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      yield* Effect.gen(function* () {
        const [transport, server] = yield* Memory.pair()
        const { connect } = Context.get(
          yield* Layer.build(McpServer.layer({ name: "s", version: "1", features })),
          McpServer.McpServer
        )
        yield* connect(server)
        yield* McpClient.connect({ ...transport, address })
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(Audit.layerClient(), Audit.layerArray(lines))))
      const opened = records(lines).find(({ event }) => event === "client.opened")
      assert.strictEqual(opened?.details?.["address"], named)
    })
  )
})

describe("Audit files", () => {
  const write = (path: string, target: string) =>
    Effect.flatMap(Audit.Audit, ({ record }) => record({ event: "app.login", target })).pipe(
      Effect.provide(Layer.provide(Audit.layer(), Audit.layerFile(path)))
    )
  const linesOf = (path: string) =>
    Effect.map(
      Effect.flatMap(FileSystem.FileSystem, (files) => files.readFileString(path)),
      (text) => text.split("\n")
    )

  it.live("An audit file is continued by the next process, even after a partially written line", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const path = `${yield* files.makeTempDirectoryScoped()}/audit.jsonl`
      yield* write(path, "a")
      yield* write(path, "b")
      assert.deepInclude(yield* check(yield* linesOf(path)), { problems: [], records: 6, closed: true })
      assert.strictEqual((yield* files.stat(path)).mode & 0o777, 0o600)
      yield* files.writeFileString(path, '{"seq":7,"event":"app.lo', { flag: "a" })
      assert.isNotEmpty((yield* check(yield* linesOf(path))).problems)
      yield* write(path, "c")
      assert.deepInclude(yield* check(yield* linesOf(path)), { problems: [], records: 9, closed: true })
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.live("An audit file has each line once even if a write stopped halfway or was not confirmed", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const path = `${yield* files.makeTempDirectoryScoped()}/audit.jsonl`
      const faults = ["write", "sync"]
      const full = systemError({ _tag: "Unknown", module: "FileSystem", method: "write", description: "ENOSPC" })
      const faulty = FileSystem.FileSystem.of({
        ...files,
        open: (path, options) =>
          Effect.map(files.open(path, options), (file) => {
            const fails = (fault: string) => faults[0] === fault && faults.shift() !== undefined
            const half = (bytes: Uint8Array) =>
              Effect.andThen(file.writeAll(bytes.subarray(0, bytes.length / 2)), Effect.fail(full))
            const writeAll = (bytes: Uint8Array) =>
              Effect.suspend(() => (fails("write") ? half(bytes) : file.writeAll(bytes)))
            const sync = Effect.suspend(() => (fails("sync") ? Effect.fail(full) : file.sync))
            return Object.create(file, { writeAll: { value: writeAll }, sync: { value: sync } })
          })
      })
      yield* write(path, "a").pipe(
        Effect.provideService(FileSystem.FileSystem, faulty),
        Effect.provide(Logger.layer([]))
      )
      assert.deepStrictEqual(faults, [])
      assert.deepInclude(yield* check(yield* linesOf(path)), { problems: [], records: 3, closed: true })
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )

  it.live("A file that is not an audit trail is left unchanged", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const path = `${yield* files.makeTempDirectoryScoped()}/notes.txt`
      yield* files.writeFileString(path, "notes\n")
      const error = yield* Effect.flip(write(path, "a"))
      assert.include(error.message, "does not end with an audit record")
      assert.strictEqual(yield* files.readFileString(path), "notes\n")
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )
})

describe("Audit trail over HTTP", () => {
  it.live("A request rejected by the endpoint is recorded in the audit trail with its address", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const scope = yield* Scope.make()
      const server = McpServer.layer({ name: "test", version: "1", features }).pipe(
        Layer.provide(Layer.provide(Audit.layer(), Audit.layerArray(lines)))
      )
      const context = yield* Layer.build(
        McpServer.serveHttp(McpServer.layerHttp({ path: "/mcp" }), {
          disableLogger: true,
          disableListenLog: true
        }).pipe(Layer.provide(server), Layer.provideMerge(listener), Layer.provide(Logger.layer([])))
      ).pipe(Scope.provide(scope))
      const url = `http://127.0.0.1:${portOf(context)}/mcp`
      const { status } = yield* Effect.promise(() =>
        fetch(url, { method: "POST", headers: { origin: "https://evil.example", "content-type": "application/json" } })
      )
      assert.strictEqual(status, 403)
      yield* Scope.close(scope, Exit.void)
      const refusal = records(lines).find(({ event }) => event === "refusal")
      assert.deepInclude(refusal, { method: "POST", outcome: "refused", code: 403 })
      assert.deepInclude(refusal?.actor, { address: "127.0.0.1", transport: "http" })
    }).pipe(Effect.scoped)
  )
})
