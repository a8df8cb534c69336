/** The page of `effect-mcp app`, in this process. */
import { App } from "@effect-mcp/apps"
import { run as runCli } from "@effect-mcp/cli/Cli"
import * as Output from "@effect-mcp/cli/Output"
import type { CommandTarget } from "@effect-mcp/cli/Target"
import { Memory, Tool, Tools } from "@effect-mcp/core"
import { McpServer } from "@effect-mcp/server"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer, Schema } from "effect"
import { request } from "node:http"
import { capture } from "../../support/run.ts"

const Dice = Tool.make("dice", {
  description: "Rolls a die",
  input: { count: Schema.Int },
  output: { eyes: Schema.Int }
})
const features = Layer.mergeAll(
  Tools.layer(Dice, ({ count }) => Effect.succeed({ eyes: count })),
  App.layer(Dice, { html: "<!doctype html><title>Dice</title>" }),
  Tools.layer(Tool.make("plain", { description: "Has no view" }), () => Effect.succeed("plain"))
)

const target: CommandTarget = {
  name: "dice",
  connect: Effect.fnUntraced(function* () {
    const [client, server] = yield* Memory.pair()
    const built = yield* Layer.build(McpServer.layer({ name: "dice", version: "1.0.0", features }))
    yield* Context.get(built, McpServer.McpServer).connect(server)
    return client
  })
}

/** Runs the command. `url` completes with the first line that it prints. */
const started = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const stdout = capture()
  const stderr = capture()
  const url = Deferred.makeUnsafe<string>()
  const writable: Output.Writable = {
    ...stdout.stream,
    write: (data, done) => {
      stdout.stream.write(data, done)
      const [line = "", ...rest] = stdout.text().split("\n")
      if (rest.length > 0) Deferred.doneUnsafe(url, Effect.succeed(line))
      return true
    }
  }
  const output = Layer.effect(
    Output.Output,
    Output.make({ env: { NO_COLOR: "1" }, stdin: {}, stdout: writable, stderr: stderr.stream })
  )
  const running = Effect.provide(
    runCli(["app", ...args, "--", "dice"], () => target),
    Layer.merge(NodeServices.layer, output),
    { local: true }
  )
  return { running, url: Deferred.await(url), stderr: stderr.text }
})

/** Returns the status of a request for another host name, as in DNS rebinding. */
const statusFor = (url: string, host: string) =>
  Effect.promise(
    () =>
      new Promise<number | undefined>((resolve, reject) => {
        request(url, { headers: { host } }, (response) => {
          response.resume()
          resolve(response.statusCode)
        })
          .once("error", reject)
          .end()
      })
  )

describe("effect-mcp app", () => {
  it.live("The page is served on this machine, for the holder of its token only", () =>
    Effect.gen(function* () {
      const { running, url } = yield* started("dice", "count=5")
      yield* Effect.forkScoped(running, { startImmediately: true })
      const page = yield* url
      const { host, origin, pathname } = new URL(page)
      assert.match(host, /^127\.0\.0\.1:\d+$/)
      assert.isAtLeast(pathname.length, 32)
      const response = yield* Effect.promise(() => fetch(page))
      assert.strictEqual(response.status, 200)
      assert.include(response.headers.get("content-security-policy") ?? "", "frame-ancestors 'none'")
      const script = yield* Effect.promise(async () => (await fetch(`${page}/page.js`)).text())
      assert.include(script, "createElement")
      assert.strictEqual((yield* Effect.promise(() => fetch(`${origin}/`))).status, 404)
      assert.strictEqual(yield* statusFor(page, "evil.example"), 403)
      const foreign = { method: "POST", body: "{}", headers: { origin: "https://evil.example" } }
      assert.strictEqual((yield* Effect.promise(() => fetch(`${page}/messages?session=1`, foreign))).status, 403)
      // The first line of the stream has the view, and the call that it belongs to follows once the view is ready.
      const line = yield* Effect.promise(async () => {
        const reader = (await fetch(`${page}/events`)).body?.getReader()
        const read = await reader?.read()
        await reader?.cancel()
        return new TextDecoder().decode(read?.value).split("\n")[0] ?? ""
      })
      const event: unknown = JSON.parse(line)
      assert.deepInclude(event, { type: "view" })
      assert.include(line, "<title>Dice</title>")
    }).pipe(Effect.scoped)
  )

  it.live("A tool without a view, an unknown tool and wrong arguments are errors", () =>
    Effect.gen(function* () {
      for (const [args, said] of [
        [["plain"], "The tool plain has no view"],
        [["dise"], "Did you mean dice?"],
        [["ui://none"], "ui://none"],
        [["dice", "count"], "count"]
      ] as const) {
        const { running, stderr } = yield* started(...args)
        assert.notStrictEqual(yield* running, 0)
        assert.include(stderr(), said)
      }
    })
  )
})
