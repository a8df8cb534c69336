import { McpClient } from "@effect-mcp/client"
import { Memory, Tool, Tools } from "@effect-mcp/core"
import { Nodes } from "@effect-mcp/nodes"
import { Admin } from "@effect-mcp/operate"
import * as Console from "@effect-mcp/operate/console"
import { McpServer } from "@effect-mcp/server"
import { needs } from "@effect-mcp/spec/skip"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { missing, open } from "../../support/browser.ts"
import { token } from "../../support/busy.ts"
import { listener, portOf } from "../../support/served.ts"

const Sync = Tool.make("sync", { description: "Hangs" })
const Report = Tool.make("report", { description: "Takes long" })

/** A node with the console, and as many calls of each tool. */
const startNode = Effect.fnUntraced(function* (network: Nodes.Network, calls: number) {
  const began = yield* Deferred.make<void>()
  const features = Layer.merge(
    Tools.layer(Sync, () => Effect.never),
    Tools.layer(Report, () => Effect.andThen(Deferred.succeed(began, undefined), Effect.never))
  )
  const history = Admin.layerHistory()
  const context = yield* Layer.build(
    Layer.fresh(
      McpServer.serveHttp(Console.layer({ token: Redacted.make(token) }), {
        disableLogger: true,
        disableListenLog: true
      }).pipe(
        Layer.provideMerge(McpServer.layer({ name: "orders", version: "3.1.0", features })),
        Layer.provide([Layer.orDie(Nodes.layerMemory(network)), history]),
        Layer.provideMerge(listener),
        Layer.provide(Logger.layer([]))
      )
    )
  )
  const [near, far] = yield* Memory.pair()
  yield* Context.get(context, McpServer.McpServer).connect(far, { kind: "memory" })
  const client = yield* McpClient.open(Effect.succeed(near), { revisions: ["2025-11-25"] })
  const stuck = yield* Effect.forEach(Array.from({ length: calls }), () =>
    Effect.forkScoped(Effect.flip(client.callTool(Sync, {})), { startImmediately: true })
  )
  const kept = yield* Effect.forkScoped(client.callTool(Report, {}), { startImmediately: true })
  yield* Deferred.await(began)
  return { url: `http://127.0.0.1:${portOf(context)}/console`, stuck, kept }
})

describe("An operator with the console", needs(missing === undefined, missing ?? ""), () => {
  it.live("An operator ends the stuck calls of one tool on three nodes, and only these", () =>
    Effect.gen(function* () {
      const network = new Nodes.Network()
      const nodes = yield* Effect.forEach([2, 3, 4], (calls) => startNode(network, calls))
      const { complaints, page } = yield* open(nodes[0]?.url ?? "")
      yield* Effect.promise(async () => {
        await page.fill("#token", token)
        await page.keyboard.press("Enter")
        await page.locator("#summary", { hasText: "3 nodes, 3 sessions, 12 requests" }).waitFor()
        await page.getByLabel("Group").selectOption("node")
        await page.locator('[role=treeitem][aria-level="1"][aria-setsize="3"]').nth(2).waitFor()
        // Tools, then its running calls, then all of them at once.
        await page.getByRole("tab", { name: "Tools" }).click()
        await page.getByRole("button", { name: "sync" }).click()
        await page.getByRole("button", { name: "Interrupt 9 shown" }).click()
        assert.match(
          (await page.locator("#dialog-what").textContent()) ?? "",
          /^9 × tools\/call sync on \S+, \S+, \S+$/
        )
        await page.keyboard.type("The warehouse is down")
        await page.keyboard.press("Enter")
        await page.locator("#outcome p", { hasText: "9 interrupted: 9 ended." }).waitFor()
        await page.locator("#summary", { hasText: "3 nodes, 3 sessions, 3 requests" }).waitFor()
        // The problems of all nodes.
        await page.getByRole("tab", { name: "Problems" }).click()
        await page.locator("#panel-problems tbody tr", { hasText: "The warehouse is down" }).nth(8).waitFor()
        await page.getByRole("tab", { name: "Nodes" }).click()
        const rows = page.locator("#panel-nodes tbody tr", { hasText: "serving3.1.0" })
        await rows.nth(2).waitFor()
        await rows.last().getByRole("button", { name: "Drain" }).click()
        await page.locator("#drain-dialog").getByRole("button", { name: "Drain" }).click()
        await page.locator("#panel-nodes tbody tr", { hasText: "draining3.1.0" }).waitFor()
        assert.strictEqual(await rows.count(), 2)
      })
      for (const { kept, stuck } of nodes) {
        for (const call of stuck) assert.include((yield* Fiber.join(call)).message, "The warehouse is down")
        assert.isUndefined(kept.pollUnsafe())
      }
      assert.deepStrictEqual(complaints, [])
    }).pipe(Effect.scoped)
  )
})
