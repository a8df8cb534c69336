import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { recorder, type Recording, screenAt, spans } from "../src/Recording.ts"
import { docs, root } from "../src/Repository.ts"

describe("Recordings of a terminal", () => {
  it("A recording has each row with the time of its line end", () => {
    const { add, steps } = recorder()
    add("one\r\ntw", 10)
    add("o\n", 20)
    assert.deepStrictEqual(steps, [
      { at: 10, row: 0, text: "one" },
      { at: 20, row: 1, text: "two" }
    ])
  })

  it("A row that is redrawn is recorded at intervals, and at its end", () => {
    const { add, steps } = recorder()
    add("\r1 %", 100)
    add("\r2 %", 110)
    add("\r3 %", 250)
    add("\r\u001b[Kdone\r\n", 260)
    assert.deepStrictEqual(steps, [
      { at: 100, row: 0, text: "1 %" },
      { at: 250, row: 0, text: "3 %" },
      { at: 260, row: 0, text: "done" }
    ])
  })

  it("Escape sequences that arrive in two pieces are read as one", () => {
    const { add, steps } = recorder()
    add("\u001b[3", 10)
    add("6mtitle\u001b[0m text\u001b[?25h\r", 20)
    add("\n", 30)
    assert.deepStrictEqual(steps, [{ at: 30, row: 0, text: "\u001b[36mtitle\u001b[0m text" }])
  })

  it("The screen keeps its height and has the rows that were printed by then", () => {
    const steps = [
      { at: 10, row: 0, text: "one" },
      { at: 20, row: 2, text: "50 %" },
      { at: 30, row: 2, text: "done" }
    ]
    assert.deepStrictEqual(screenAt(steps, 0), ["", "", ""])
    assert.deepStrictEqual(screenAt(steps, 25), ["one", "", "50 %"])
    assert.deepStrictEqual(screenAt(steps, 30), ["one", "", "done"])
  })

  it("A row is split into its styles", () => {
    assert.deepStrictEqual(spans("a\u001b[36mb\u001b[0m\u001b[2mc\u001b[0m"), [
      { text: "a", style: 0 },
      { text: "b", style: 36 },
      { text: "c", style: 2 }
    ])
  })
})

describe("Recording on the front page", () => {
  const { command, steps }: Recording = JSON.parse(readFileSync(join(docs, "recordings/start.json"), "utf8"))
  const screen = screenAt(steps, Infinity).map((row) =>
    spans(row)
      .map(({ text }) => text)
      .join("")
  )

  it("The recording has every step of the program that it shows", () => {
    assert.strictEqual(command, "npm start")
    const program = readFileSync(join(root, "packages/examples/src/start.ts"), "utf8")
    const titles = [...program.matchAll(/,\s+"(\w+)"\s*\)/g)].map(([, title = ""]) => title)
    assert.isAtLeast(new Set(titles).size, 10)
    assert.deepStrictEqual(
      titles.filter((title) => !screen.some((row) => row.startsWith(`  ${title} `))),
      []
    )
  })

  it("The recording names no folder of the machine that made it", () => {
    const folders = screen.flatMap((row) => row.match(/(?<![\w~])\/(?:\w[\w.-]*\/)+/g) ?? [])
    assert.deepStrictEqual([...new Set(folders)], ["/home/you/effect-mcp/"])
  })
})
