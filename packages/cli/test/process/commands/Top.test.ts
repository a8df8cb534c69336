import { NodeHttpServer } from "@effect/platform-node"
import * as McpClient from "@effect-mcp/client/McpClient"
import { Memory, Tool, Tools } from "@effect-mcp/core"
import { Admin } from "@effect-mcp/operate"
import { McpServer } from "@effect-mcp/server"
import * as Frame from "@effect-mcp/cli/top/Frame"
import * as Screen from "@effect-mcp/cli/top/Screen"
import * as State from "@effect-mcp/cli/top/State"
import * as Style from "@effect-mcp/cli/Style"
import * as Rates from "@effect-mcp/cli/top/Rates"
import * as Tree from "@effect-mcp/cli/top/Tree"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Logger, Option, Redacted, type Terminal } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import * as PrivateSocket from "@effect-mcp/operate/PrivateSocket"
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { createServer as createSocket } from "node:net"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { needs } from "@effect-mcp/spec/skip"
import { run } from "../../support/run.ts"
import { person } from "../../support/terminal.ts"
import * as Endpoint from "@effect-mcp/cli/top/Endpoint"

const token = "token-of-the-operator"
const bearer = ["--header", `Authorization: Bearer ${token}`]

const Idle = Tool.make("idle", { description: "Waits" })
const Stuck = Tool.make("stuck", { description: "Hangs" })

/** A server with this many sessions, each with a waiting call, and one more with a stuck call. */
const start = Effect.fnUntraced(function* (sessions: number) {
  const began = yield* Deferred.make<void>()
  const features = Layer.merge(
    Tools.layer(Idle, () => Effect.never),
    Tools.layer(Stuck, () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never))
  )
  const context = yield* Layer.build(
    HttpRouter.serve(Admin.layer({ token: Redacted.make(token) }), {
      disableLogger: true,
      disableListenLog: true
    }).pipe(
      Layer.provideMerge(McpServer.layer({ name: "test", version: "1", features })),
      Layer.provideMerge(Layer.orDie(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))),
      Layer.provide(Logger.layer([]))
    )
  )
  const { address } = Context.get(context, HttpServer.HttpServer)
  const { connect } = Context.get(context, McpServer.McpServer)
  const clients = yield* Effect.forEach(Array.from({ length: sessions }), (_, i) =>
    Effect.gen(function* () {
      const [near, far] = yield* Memory.pair()
      yield* connect(far, { kind: "memory" })
      return yield* McpClient.open(Effect.succeed(near), {
        revisions: ["2025-11-25"],
        clientInfo: { name: `client-${i}\u001b[2J`, version: "1" }
      })
    })
  )
  for (const { callToolByName } of clients) yield* Effect.forkScoped(Effect.exit(callToolByName("idle")))
  const [first] = clients
  assert(first !== undefined)
  const stuck = yield* Effect.forkChild(Effect.flip(first.callToolByName("stuck")))
  yield* Deferred.await(began)
  const url = `http://127.0.0.1:${address._tag === "UnixPathAddress" ? 0 : address.port}/admin`
  return { url, stuck }
})

describe("effect-mcp top", () => {
  it.live("top lets a script find and stop a stuck call among a thousand sessions", () =>
    Effect.gen(function* () {
      const { stuck, url } = yield* start(1000)
      const found = yield* run(["top", url, "--json", "--filter", "stuck", ...bearer])
      const { requests, sessions } = JSON.parse(found.stdout)
      assert.deepStrictEqual([sessions.length, requests.length], [1000, 1])
      const [{ key }] = requests
      const stop = ["top", url, "--json", "--interrupt", key, "--reason", "It hangs", ...bearer]
      assert.deepStrictEqual(JSON.parse((yield* run(stop)).stdout), { interrupted: true })
      assert.include((yield* Fiber.join(stuck)).message, "It hangs")
    }).pipe(Effect.scoped)
  )

  it.live("top prints a tree of sessions and requests, and a client's name cannot move the cursor", () =>
    Effect.gen(function* () {
      const { url } = yield* start(2)
      const { code, stdout } = yield* run(["top", url, "--once", ...bearer], true)
      assert.strictEqual(code, 0)
      const lines = stdout.split("\n").map((line) => line.trimEnd())
      assert.match(
        lines[0] ?? "",
        /^test 1 on \S+, up \d+s {2}2 sessions, 3 requests, 0 subscriptions, 0 questions, 0 tasks$/
      )
      // There is no line of rates without a history.
      assert.match(lines[2] ?? "", /^ {4}KEY {2}METHOD {6}TARGET {2}STATE {4}AGE {2}PROGRESS$/)
      assert.match(lines[3] ?? "", /^client-0\\x1b\[2J 1 {2}memory · 2025-11-25 · \d+s · session-\d+$|^client-0/)
      assert.isTrue(
        lines.some((line) => /^ {2} +\d+ {2}tools\/call {2}stuck {3}running {2}\d+s$/.test(line)),
        stdout
      )
      assert.notInclude(stdout, "\u001b[2J")
    }).pipe(Effect.scoped)
  )

  it.live("top reports a missing token, a missing endpoint and an interrupt without a reason", () =>
    Effect.gen(function* () {
      const { url } = yield* start(1)
      const unauthorized = yield* run(["top", url, "--json"])
      assert.strictEqual(unauthorized.code, 2)
      assert.include(unauthorized.stderr, "EFFECT_MCP_ADMIN_TOKEN")
      const missing = yield* run(["top", url.replace("/admin", "/nothing"), ...bearer])
      assert.strictEqual(missing.code, 3)
      assert.strictEqual((yield* run(["top", "localhost", ...bearer])).code, 2)
      for (const host of ["192.0.2.1", "localhost.example.com", "127.0.0.1.example.com"]) {
        const readable = yield* run(["top", `http://${host}/admin`, ...bearer])
        assert.strictEqual(readable.code, 2)
        assert.include(readable.stderr, "ssh -L")
      }
      assert.strictEqual((yield* run(["top", url, "--interrupt", "1", ...bearer])).code, 2)
    }).pipe(Effect.scoped)
  )

  it.live("top drains, sets log levels and prints messages, both for scripts and with keys", () =>
    Effect.gen(function* () {
      const { url } = yield* start(1)
      const json = (...more: ReadonlyArray<string>) =>
        Effect.map(run(["top", url, "--json", ...more, ...bearer]), ({ stdout }) => JSON.parse(stdout))
      const [{ id }] = (yield* json()).sessions
      assert.deepStrictEqual(yield* json("--messages", "--session", id), { messages: [] })
      assert.deepStrictEqual(yield* json("--level", "debug", "--session", id), { level: "debug" })
      assert.strictEqual((yield* json()).sessions[0].level, "debug")
      assert.strictEqual((yield* run(["top", url, "--messages", ...bearer])).code, 2)
      const { layer, screen } = person(["lerror<return>mmddrain<return>q"])
      const endpoint = yield* Endpoint.make(url, { authorization: `Bearer ${token}` })
      yield* Effect.provide(Screen.show(endpoint, {}, "1 hour", Style.plain), layer)
      assert.include(screen(), "None since you started watching")
      assert.include(screen(), "The server is now draining")
      const after = yield* json()
      assert.deepStrictEqual([after.draining, after.sessions[0].level], [true, "error"])
      assert.deepStrictEqual(yield* json("--drain"), { draining: true, began: false })
    }).pipe(Effect.scoped)
  )

  it.live("top on a terminal interrupts the selected request with the typed reason and restores the screen", () =>
    Effect.gen(function* () {
      const { stuck, url } = yield* start(1)
      const { layer, screen } = person(["<down><down>iIt hangsx<backspace><return>q"])
      const endpoint = yield* Endpoint.make(url, { authorization: `Bearer ${token}` })
      yield* Effect.provide(Screen.show(endpoint, {}, "1 hour", Style.plain), layer)
      assert.include((yield* Fiber.join(stuck)).message, "It hangs")
      assert.notInclude(screen().slice(1), "\u001b[2J")
      assert.isTrue(screen().endsWith("\u001b[?25h\u001b[?1049l"))
      assert.include(screen(), "was interrupted")
    }).pipe(Effect.scoped)
  )
})

const stranger = fileURLToPath(new URL("../../support/stranger.ts", import.meta.url))

/** A directory for sockets, until the end of the scope. */
const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "effect-mcp-top-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

/** A server with one session, and its admin endpoint on a Unix socket. */
const startAt = (socket: string, create = PrivateSocket.createServer, routes: `/${string}` = "/admin") =>
  Layer.build(
    HttpRouter.serve(Admin.layerSocket({ path: routes }), { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provideMerge(
        McpServer.layer({ name: "test", version: "1", features: Tools.layer(Idle, () => Effect.never) })
      ),
      Layer.provide(NodeHttpServer.layer(create, { path: socket })),
      Layer.provide(Logger.layer([]))
    )
  )

describe("effect-mcp top over a Unix socket", () => {
  it.live("top shows and controls a Unix socket's requests without a token, since its mode is 600", () =>
    Effect.gen(function* () {
      const socket = path.join(yield* directory, "admin.sock")
      const server = yield* startAt(socket)
      assert.strictEqual((statSync(socket).mode & 0o777).toString(8), "600")
      const [near, far] = yield* Memory.pair()
      yield* Context.get(server, McpServer.McpServer).connect(far, { kind: "memory" })
      const client = yield* McpClient.open(Effect.succeed(near), { revisions: ["2025-11-25"] })
      const call = yield* Effect.forkChild(Effect.flip(client.callToolByName("idle")))
      for (const target of [socket, `unix:${socket}`, `unix://${socket}`, `${socket}:/admin`]) {
        const { code, stdout } = yield* run(["top", target, "--json"])
        assert.strictEqual(code, 0)
        assert.lengthOf(JSON.parse(stdout).sessions, 1)
      }
      const [{ key }] = JSON.parse((yield* run(["top", socket, "--json"])).stdout).requests
      const stop = ["top", socket, "--json", "--interrupt", key, "--reason", "It hangs"]
      assert.deepStrictEqual(JSON.parse((yield* run(stop)).stdout), { interrupted: true })
      assert.include((yield* Fiber.join(call)).message, "It hangs")
    }).pipe(Effect.scoped)
  )

  it.live("top calls the routes below a Unix socket's path", () =>
    Effect.gen(function* () {
      const socket = path.join(yield* directory, "admin.sock")
      yield* startAt(socket, PrivateSocket.createServer, "/ops")
      assert.strictEqual((yield* run(["top", `unix:${socket}:/ops`, "--json"])).code, 0)
      const other = yield* run(["top", socket, "--json"])
      assert.strictEqual(other.code, 3)
      assert.include(other.stderr, "404")
    }).pipe(Effect.scoped)
  )

  it.live("top rejects a path without a socket, a file, and a socket that others can open", () =>
    Effect.gen(function* () {
      const made = yield* directory
      const file = path.join(made, "file")
      writeFileSync(file, "")
      for (const target of [path.join(made, "missing.sock"), file, `unix:${file}`]) {
        const { code, stderr } = yield* run(["top", target, "--json"])
        assert.strictEqual(code, 2)
        assert.include(stderr, "Not a Unix socket")
      }
      const open = path.join(made, "open.sock")
      yield* Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createSocket>>((resume) => {
          const server = createSocket((socket) => socket.destroy())
          server.listen({ path: open, readableAll: true, writableAll: true }, () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      const { code, stderr } = yield* run(["top", open, "--json"])
      assert.strictEqual(code, 2)
      assert.include(stderr, "Other users can open the socket")
    }).pipe(Effect.scoped)
  )

  it.live(
    "top rejects another user's private socket",
    () =>
      Effect.gen(function* () {
        const made = yield* directory
        chmodSync(made, 0o755)
        const socket = path.join(made, "admin.sock")
        yield* startAt(socket)
        const { stderr, stdout } = spawnSync(process.execPath, [stranger, socket], { encoding: "utf8" })
        assert.include(stdout, "belongs to another user (0). Run this as the same user as the server", stderr)
      }).pipe(Effect.scoped),
    needs(process.getuid?.() === 0, "root, to become another user")
  )

  it.live("A socket's admin endpoint does not start if others could open it or its listener uses a port", () =>
    Effect.gen(function* () {
      const socket = path.join(yield* directory, "admin.sock")
      const open = yield* Effect.exit(Effect.scoped(startAt(socket, createServer)))
      assert.include(String(open), "PrivateSocket.createServer, which uses mode 600")
      const port = HttpRouter.serve(Admin.layerSocket(), { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provide(McpServer.layer({ name: "test", version: "1", features: Layer.empty })),
        Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
      )
      assert.include(String(yield* Effect.exit(Effect.scoped(Layer.build(port)))), "must be served on a Unix socket")
    }).pipe(Effect.scoped)
  )

  it.live("A private socket's listener replaces a killed process's socket, but not one in use or another file", () =>
    Effect.gen(function* () {
      const made = yield* directory
      const socket = path.join(made, "admin.sock")
      const killed = `require("net").createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, "SIGKILL"))`
      spawnSync(process.execPath, ["-e", killed])
      assert.isTrue(existsSync(socket))
      yield* startAt(socket)
      assert.strictEqual((yield* run(["top", socket, "--json"])).code, 0)
      assert.include(String(yield* Effect.exit(Effect.scoped(startAt(socket)))), "EADDRINUSE")
      const file = path.join(made, "file")
      writeFileSync(file, "kept")
      assert.include(String(yield* Effect.exit(Effect.scoped(startAt(file)))), "EADDRINUSE")
      assert.strictEqual(readFileSync(file, "utf8"), "kept")
    }).pipe(Effect.scoped)
  )
})

const key = (name: string): Terminal.UserInput => ({
  input: Option.some(name),
  key: { name, ctrl: false, meta: false, shift: false }
})

const request = (given: Partial<Admin.RequestRow>): Admin.RequestRow => ({
  key: "1",
  kind: "request",
  method: "tools/call",
  state: "running",
  since: 0,
  asking: [],
  principal: {},
  ...given
})

const snapshot: Admin.Snapshot = {
  time: 3_600_000,
  draining: false,
  sessions: [{ id: "s", since: 0, principal: { subject: "ada" }, client: { name: "c", version: "1" }, backlog: 2048 }],
  requests: [
    request({ key: "1", target: "book", session: "s", state: "asking", asking: ["elicitation/create"] }),
    request({ key: "2", kind: "question", method: "elicitation/create", session: "s", relatedTo: "1" }),
    request({ key: "3", target: "new", since: 3_599_000, progress: { progress: 1, total: 4, message: "begins" } })
  ]
}
const texts = (filter: Tree.Filter) => Tree.lines(snapshot, filter, Style.plain).map(({ text }) => text)

describe("Tree", () => {
  it("The tree puts questions below the asking calls, and sessionless requests at the end", () => {
    assert.deepStrictEqual(texts({}), [
      "ada by c 1  1h 0m · 2.0 KiB unread · s",
      "      1  tools/call          book    asking    1h 0m  waiting for elicitation/create",
      "        2  elicitation/create          question  1h 0m",
      "Without a session",
      "      3  tools/call          new     running   1s     25% begins"
    ])
  })

  it("The tree names a session's client from its requests if the session does not know it", () => {
    const [session] = snapshot.sessions
    assert(session !== undefined)
    const { client: _, ...nameless } = session
    const requests = [request({ session: "s", client: { name: "d", version: "2" }, revision: "2026-07-28" })]
    const [line] = Tree.lines({ ...snapshot, sessions: [nameless], requests }, {}, Style.plain)
    assert.strictEqual(line?.text, "ada by d 2  2026-07-28 · 1h 0m · 2.0 KiB unread · s")
  })

  it("The tree filters by a search text", () => {
    assert.deepStrictEqual(texts({ text: "NEW" }), [
      "Without a session",
      "      3  tools/call  new     running  1s   25% begins"
    ])
    assert.lengthOf(texts({ older: 60_000 }), 3)
  })
})

describe("Rates", () => {
  const sample = { sessions: 1, running: 1, pending: 0, questions: 0 }
  const recent: Admin.Recent = {
    samples: Array.from({ length: 20 }, (_, i) => {
      return { ...sample, time: i * 1000, calls: i < 10 ? 99 : 3, failures: i < 10 ? 99 : 1, p95: 1500 }
    }),
    tools: [
      { name: "rare", calls: 1, failures: 0, perMinute: 0.5, p50: 8, p95: 20 },
      { name: "new\u001b[2J", calls: 12, failures: 3, perMinute: 6, last: { time: 0, outcome: "failed", code: -32603 } }
    ],
    problems: []
  }

  it("Rates are averages over the last ten seconds", () => {
    assert.strictEqual(Rates.rates(recent, Style.plain), "3.0 calls/s  1.0 failed/s  p95 1.5s")
    assert.strictEqual(Rates.rates(undefined, Style.plain), "")
  })

  it("The table of tools has the most called first, and a name cannot move the cursor", () => {
    assert.deepStrictEqual(Rates.tools(recent, [request({ target: "rare" })], Style.plain), [
      "TOOL          RUNNING  CALLS  PER MIN  FAILED    P50   P95  LAST ERROR",
      "new\\u001b[2J        0     12      6.0       3      -     -  failed -32603 at 00:00:00 UTC",
      "rare                1      1      0.5       0  8.0ms  20ms"
    ])
    assert.include(Rates.tools(undefined, [], Style.plain)[0], "Admin.layerHistory()")
  })
})

describe("Screen", () => {
  const state = State.initial(snapshot, {})
  /** Presses keys, given by names or as a word. */
  const pressed = (from: State.State, ...names: ReadonlyArray<string>) =>
    names
      .flatMap((name) => (["drain", "debug"].includes(name) ? name.split("") : [name]))
      .reduce<ReturnType<typeof State.update>>(([at], name) => State.update(at, key(name)), [from, undefined])

  it("The screen keeps the selection on its line and inside the list", () => {
    assert.strictEqual(state.selected, "1")
    const [down] = pressed(state, "down")
    const [last] = pressed(down, "j", "j")
    assert.deepStrictEqual([down.selected, last.selected], ["2", "3"])
    assert.strictEqual(State.refreshed(last, { ...snapshot, requests: snapshot.requests.slice(0, 1) }).selected, "1")
    assert.strictEqual(State.refreshed(last, { ...snapshot, requests: [] }).selected, "session s")
    assert.isUndefined(State.refreshed(last, { ...snapshot, requests: [], sessions: [] }).selected)
    assert.strictEqual(pressed(state, "up", "up")[0].selected, "session s")
  })

  it("The screen shows no control characters from an endpoint, including in request keys", () => {
    const hostile = { ...snapshot, requests: [request({ key: "\u001b]52;c;AA==\u0007", session: "s" })] }
    const shown = State.refreshed(state, hostile)
    for (const prompt of [undefined, { asks: "interrupt", text: "" } as const]) {
      const lines = Frame.frame({ ...shown, prompt }, { columns: 200, rows: 24 }, Style.plain)
      for (const control of ["\u0007", "\u001b"]) assert.notInclude(lines.join(""), control)
    }
    const time = 0
    const message = { time, direction: "sent", kind: "error", method: "\u001b[2J", size: 2, body: "\u0007" } as const
    const looking = { session: "s\u001b[2J", messages: [message] }
    const lines = Frame.frame({ ...state, looking }, { columns: 200, rows: 24 }, Style.plain)
    for (const control of ["\u0007", "\u001b"]) assert.notInclude(lines.join(""), control)
  })

  it("The screen fits any terminal size", () => {
    for (const size of [
      { columns: 20, rows: 3 },
      { columns: 80, rows: 24 },
      { columns: 36, rows: 5 }
    ]) {
      const shown = Frame.frame(state, size, Style.plain)
      assert.isAtMost(shown.length, Math.max(4, size.rows))
      for (const line of shown) assert.isAtMost(line.replace("\u001b[0m", "").length, size.columns)
    }
  })

  it("The screen filters while a text is typed, and keeps the filter", () => {
    const [typing] = pressed(state, "/", "n", "e")
    assert.deepStrictEqual([typing.filter.text, typing.selected, typing.prompt?.text], ["ne", "3", "ne"])
    const [done] = pressed(typing, "w", "return")
    assert.deepStrictEqual([done.filter.text, done.prompt], ["new", undefined])
    assert.strictEqual(State.refreshed(typing, { ...snapshot, requests: [] }).prompt?.text, "ne")
    assert.strictEqual(pressed(done, "/", "backspace")[0].filter.text, "ne")
  })

  it("The screen sorts by the next order with each key", () => {
    const [newest] = pressed(state, "s")
    assert.deepStrictEqual([newest.filter.sort, newest.note], ["newest", "Sorted by newest"])
    assert.strictEqual(pressed(state, ...Tree.sorts.map(() => "s"))[0].filter.sort, "age")
  })

  it("The screen shows the server, the rates, the heads of the columns and the tools", () => {
    const server = { name: "orders\u0007", version: "2", host: "vm", since: 0 }
    const recent = { samples: [], tools: [], problems: [] }
    const shown = { ...State.initial({ ...snapshot, server }, {}), recent }
    const [head, , heads] = Frame.frame(shown, { columns: 200, rows: 24 }, Style.plain)
    assert.include(head, "orders\\u0007 2 on vm, up 1h 0m")
    assert.include(heads, "METHOD")
    const [, , tools] = Frame.frame(pressed(shown, "t")[0], { columns: 200, rows: 24 }, Style.plain)
    assert.include(tools, "PER MIN")
  })

  it("The screen interrupts nothing without a reason or after Escape", () => {
    assert.isUndefined(pressed(state, "i", "return")[1])
    assert.isUndefined(pressed(state, "i", "x", "escape")[0].prompt)
    assert.deepStrictEqual(pressed(state, "i", "x", "return")[1], { interrupt: "1", reason: "x" })
    const [onSession] = pressed(state, "up", "i")
    assert.isUndefined(onSession.prompt)
    assert.include(onSession.note, "Select a request")
  })

  it("The screen drains the selected line's node only once the word is typed", () => {
    assert.isUndefined(pressed(state, "d", "return")[1])
    assert.isUndefined(pressed(state, "d", "y", "return")[1])
    assert.deepStrictEqual(pressed(state, "d", "drain", "return")[1], { drain: undefined })
    const [session] = snapshot.sessions
    assert(session !== undefined)
    const nodes = State.initial({ ...snapshot, sessions: [{ ...session, node: "b" }], requests: [] }, {})
    assert.deepStrictEqual(pressed(nodes, "d", "drain", "return")[1], { drain: "b" })
  })

  it("The screen sets the log level of the selected line's session and shows its messages", () => {
    assert.deepStrictEqual(pressed(state, "l", "debug", "return")[1], { level: "debug", session: "s" })
    const [looking, action] = pressed(state, "m")
    assert.deepStrictEqual(action, { look: "s" })
    assert.strictEqual(looking.looking?.session, "s")
    assert.isUndefined(pressed(looking, "m")[0].looking)
    const [alone] = pressed(state, "down", "down", "m")
    assert.isUndefined(alone.looking)
    assert.include(alone.note, "Only sessions have messages")
  })

  it("The screen names the nodes, including those that are down", () => {
    const nodes = [
      { name: "a:1", state: "serving", sessions: 1, requests: 0 },
      { name: "b:1", state: "unreachable", sessions: 0, requests: 0 }
    ] as const
    const sessions = snapshot.sessions.map((session) => ({ ...session, node: "a:1" }))
    const [head, , , first] = Frame.frame(
      State.initial({ ...snapshot, nodes, sessions }, {}),
      { columns: 200, rows: 24 },
      Style.plain
    )
    assert.include(head, "2 nodes, b:1 unreachable, 1 session")
    assert.include(first, "a:1 · 1h 0m")
  })
})
