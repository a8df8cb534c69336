import { assert, describe, it } from "@effect/vitest"
import * as Http from "../../src/Http.ts"
import * as Process from "../../src/Process.ts"
import * as Servers from "../../src/Servers.ts"
import * as Stdio from "../../src/Stdio.ts"
import type { Target } from "../../src/Target.ts"
import * as Wire from "../../src/Wire.ts"

/** The sources instead of the published files, so that a test needs no build. */
const fromSource = (entry: Servers.Entry): Servers.Entry => ({
  ...entry,
  file: entry.file.replace(Servers.ours, "servers").replace(/\.js$/, ".ts")
})
const tested = (entries: ReadonlyArray<Servers.Entry>) =>
  entries.filter(({ id }) => id === "raw" || id.startsWith("ours")).map(fromSource)
const kinds = ["call", "wait", "list", "read", "flood", "big"] as const

/** Number of correctly answered requests, and the CPU time they took. */
const everyKind = async (target: Target) => {
  let requests = 0
  for (const kind of kinds) requests += (await target.run(kind, 2, { count: 4 })).requests
  return { requests, cpu: Process.cpu(target.pid) }
}
const expected = kinds.length * 4

describe("Bench harness", () => {
  for (const entry of tested(Servers.stdio())) {
    for (const era of entry.eras) {
      it(`The harness asks ${entry.id} over stdio in ${era} for everything and checks the answers`, async () => {
        const target = Stdio.target(entry, era)
        try {
          await target.ready()
          const { cpu, requests } = await everyKind(target)
          assert.strictEqual(requests, expected)
          assert.isAbove(cpu, 0)
        } finally {
          await target.close()
        }
      })
    }
  }

  for (const entry of tested(Servers.http())) {
    it(`The harness asks ${entry.id} over HTTP in ${entry.eras.join(" and ")} for everything and checks the answers`, async () => {
      const server = await Http.start(entry)
      try {
        for (const era of entry.eras) {
          const target = Http.target(server, era)
          const { requests } = await everyKind(target)
          assert.strictEqual(requests, expected)
          await target.close()
        }
      } finally {
        await Process.stop(server.child)
      }
    })
  }

  it("The harness counts update messages to both kinds of subscribers, served by one watcher", async () => {
    const server = Process.start({ id: "subscribers", file: "servers/subscribers.ts", eras: [] })
    try {
      await Process.told(server)
      await Process.ask(server, { open: 3, era: "2025" })
      await Process.ask(server, { open: 2, era: "2026" })
      assert.deepStrictEqual(await Process.ask(server, { updates: 4 }), { messages: 20, watchers: 1 })
    } finally {
      await Process.stop(server.child, "SIGKILL")
    }
  })

  it("The harness rejects a wrong answer", () => {
    const right = { id: 2, result: { content: [{ text: "hello 2" }] } }
    Wire.verify("call", [right], 2)
    assert.throws(() => Wire.verify("call", [{ ...right, id: 4 }], 2), /No answer/)
    assert.throws(() => Wire.verify("call", [{ id: 2, result: { content: [{ text: "hello" }] } }], 2), /another result/)
    assert.throws(() => Wire.verify("flood", [{ id: 2, result: { content: [{ text: "done" }] } }], 2), /0 notif/)
  })
})
