import { Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, PubSub, Stream } from "effect"
import { type Change, Watcher } from "@effect-mcp/examples/workspace/Watcher"
import { Workspace } from "@effect-mcp/examples/workspace/Workspace"
import { connect, connectTo, serve } from "./support.ts"

const uri = (path: string) => `file:///workspace/${path}`

describe.each(Revision.all)("Files as resources over $version", (revision) => {
  it.effect("Files are listed in path order, with types inferred from their names", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const listed = yield* Stream.runCollect(client.listResources)
      assert.deepStrictEqual(
        listed.map(({ mimeType, name, uri }) => [name, uri, mimeType]),
        [
          ["README.md", uri("README.md"), "text/markdown"],
          ["logo.png", uri("logo.png"), "image/png"],
          ["src/deep/a b#c.ts", uri("src/deep/a%20b%23c.ts"), "text/typescript"],
          ["src/index.ts", uri("src/index.ts"), "text/typescript"]
        ]
      )
    })
  )

  it.effect("Files are read by every listed URI: text as text, bytes as bytes", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const contents = yield* client.listResources.pipe(
        Stream.mapEffect(({ uri }) => client.readResource(uri)),
        Stream.flatMap(({ contents }) => Stream.fromIterable(contents)),
        Stream.runCollect
      )
      assert.deepStrictEqual(contents, [
        { uri: uri("README.md"), mimeType: "text/markdown", text: "# Title\n\nNeedle in the readme.\n" },
        { uri: uri("logo.png"), mimeType: "image/png", blob: "iVBORwAB" },
        { uri: uri("src/deep/a%20b%23c.ts"), mimeType: "text/typescript", text: "nothing\nhere is a NEEDLE\n" },
        { uri: uri("src/index.ts"), mimeType: "text/typescript", text: "export const needle = 1\n" }
      ])
    })
  )

  it.effect("The file template has one variable, which spans folders and can be completed", () =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const [template] = yield* Stream.runCollect(client.listResourceTemplates)
      assert.strictEqual(template?.uriTemplate, "file:///workspace/{+path}")
      const { values } = yield* client.complete({
        ref: { type: "ref/resource", uri: "file:///workspace/{+path}" },
        argument: { name: "path", value: "src/" }
      })
      assert.deepStrictEqual(values, ["src/deep/a b#c.ts", "src/index.ts"])
    })
  )

  it.effect.each([
    "nope.ts",
    "../etc/passwd",
    "..%2Fetc%2Fpasswd",
    "%2e%2e/etc/passwd",
    "src/%2E%2E/%2E%2E/etc/passwd",
    "%2Fetc%2Fpasswd",
    "/etc/passwd",
    "src//index.ts",
    "./README.md",
    "src\\index.ts",
    "README.md%00",
    ".git/config",
    ".GIT/config",
    "README.md."
  ])("A file is not found by %s", (path) =>
    Effect.gen(function* () {
      const client = yield* connect(revision)
      const error = yield* Effect.flip(client.readResource(uri(path)))
      const code = revision.rules.resourceNotFound
      assert.deepInclude(error, { _tag: "McpError", code, message: `Resource not found: ${uri(path)}` })
      if (revision.era === "stateless") return // there a client may listen for what is not there yet
      assert.deepInclude(yield* Effect.flip(client.subscribeResource(uri(path))), { _tag: "McpError", code })
    })
  )

  it.effect("A changed file is announced only to its subscribers", () =>
    Effect.gen(function* () {
      const hub = yield* PubSub.unbounded<Change>()
      const client = yield* connect(revision, { watcher: Watcher.layerTest(hub) })
      const watching = Deferred.makeUnsafe<void>()
      const fiber = yield* client.watchResource(uri("src/index.ts")).pipe(
        Stream.tap(() => Deferred.succeed(watching, undefined)),
        Stream.take(3),
        Stream.runCollect,
        Effect.forkChild
      )
      yield* Deferred.await(watching)
      const other = yield* Effect.forkChild(Stream.runCollect(Stream.take(client.resourceUpdates, 2)), {
        startImmediately: true
      })
      yield* PubSub.publish(hub, { path: "README.md", listed: false })
      yield* PubSub.publish(hub, { path: "src/index.ts", listed: false })
      yield* client.ping
      yield* PubSub.publish(hub, { path: "src", listed: true })
      assert.deepStrictEqual(
        (yield* Fiber.join(fiber)).map(({ _tag, uri }) => [_tag, uri]),
        [
          ["Watching", uri("src/index.ts")],
          ["Updated", uri("src/index.ts")],
          ["Updated", uri("src/index.ts")]
        ]
      )
      assert.deepStrictEqual(yield* Fiber.join(other), [uri("src/index.ts"), uri("src/index.ts")])
    })
  )

  it.effect("Adding or removing a file is announced as a list change", () =>
    Effect.gen(function* () {
      const hub = yield* PubSub.unbounded<Change>()
      const client = yield* connect(revision, { watcher: Watcher.layerTest(hub) })
      const changed = yield* Effect.forkChild(Stream.runCollect(Stream.take(client.resourceChanges, 1)), {
        startImmediately: true
      })
      yield* client.ping
      yield* PubSub.publish(hub, { path: "new.ts", listed: true })
      assert.strictEqual((yield* Fiber.join(changed)).length, 1)
    })
  )
})

describe("Files as resources", () => {
  it.effect("Files are listed in complete, ordered pages", () =>
    Effect.gen(function* () {
      const paths = Array.from({ length: 10 }, (_, n) => `file-${n}.txt`)
      const workspace = Workspace.layerMemory(Object.fromEntries(paths.map((path) => [path, path])))
      const client = yield* connect(undefined, { workspace, pageSize: 4 })
      const first = yield* client.request("resources/list", {})
      const second = yield* client.request("resources/list", { cursor: first.nextCursor ?? "" })
      const third = yield* client.request("resources/list", { cursor: second.nextCursor ?? "" })
      assert.deepStrictEqual(
        [first, second, third].map(({ resources }) => resources.length),
        [4, 4, 2]
      )
      assert.isUndefined(third.nextCursor)
      assert.deepStrictEqual(
        (yield* Stream.runCollect(client.listResources)).map(({ name }) => name),
        paths
      )
    })
  )

  it.effect("All files share one watcher, which starts when the first session needs it", () =>
    Effect.gen(function* () {
      const hub = yield* PubSub.unbounded<Change>()
      let starts = 0
      let listening = 0
      const counting = Layer.effect(
        Watcher,
        Effect.gen(function* () {
          const start = yield* Effect.cached(Effect.sync(() => void starts++))
          const changes = Stream.unwrap(
            Effect.as(
              Effect.sync(() => void listening++),
              Stream.fromPubSub(hub)
            )
          )
          return { start, changes }
        })
      )
      const server = yield* serve({ watcher: counting })
      const clients = yield* Effect.forEach([1, 2, 3], () => connectTo(server))
      yield* Effect.forEach(clients, (client) => client.ping)
      assert.deepStrictEqual([starts, listening], [0, 1]) // the list's own announcer
      yield* Effect.forEach(clients, (client) => client.subscribeResource(uri("README.md")))
      yield* Effect.forEach(clients, (client) => client.subscribeResource(uri("src/index.ts")))
      assert.deepStrictEqual([starts, listening], [1, 3]) // one more for each file, however many subscribe
      const updates = yield* Effect.forEach(clients, (client) =>
        Effect.forkChild(Stream.runHead(client.resourceUpdates), { startImmediately: true })
      )
      yield* PubSub.publish(hub, { path: "README.md", listed: false })
      for (const update of updates)
        assert.deepStrictEqual(Option.getOrUndefined(yield* Fiber.join(update)), uri("README.md"))
    })
  )
})
