import { described, endable, fieldSearch, groupsOf, parse, type RunningView } from "../../../src/console/page/groups.ts"
import type { RequestRow, SessionRow, Snapshot } from "@effect-mcp/operate/Admin"
import { assert, describe, it } from "@effect/vitest"

const request = (given: Partial<RequestRow>): RequestRow => ({
  key: "1",
  kind: "request",
  method: "tools/call",
  state: "running",
  since: 0,
  asking: [],
  principal: {},
  ...given
})
const session = (id: string, name: string): SessionRow => ({
  id,
  since: 0,
  principal: { subject: "ada" },
  client: { name, version: "1" }
})

const snapshot: Snapshot = {
  time: 100_000,
  draining: false,
  sessions: [session("s1", "desktop"), session("s2", "editor")],
  requests: [
    request({ key: "3", target: "old", session: "s2", since: 1000 }),
    request({ key: "4", kind: "question", method: "elicitation/create", session: "s2", since: 2000, relatedTo: "3" }),
    request({ key: "5", target: "alone", since: 50_000 }),
    request({ key: "2", target: "young", session: "s1", since: 99_000 })
  ]
}
const shown = (search: string, view: Partial<RunningView> = {}) =>
  groupsOf(snapshot, { search, older: 0, ...view }).map(({ rows, title }) => [
    title,
    ...rows.map(({ level, row }) => `${level} ${row.key}`)
  ])

describe("Snapshot groups", () => {
  it("The session with the oldest request comes first, and questions follow their call", () => {
    assert.deepStrictEqual(shown(""), [
      ["ada by editor 1", "2 3", "3 4"],
      ["Without a session", "2 5"],
      ["ada by desktop 1", "2 2"]
    ])
  })

  it("Groups contain matching requests, or all of a matching session", () => {
    assert.deepStrictEqual(shown("OLD"), [["ada by editor 1", "2 3"]])
    assert.deepStrictEqual(shown("desktop"), [["ada by desktop 1", "2 2"]])
    assert.deepStrictEqual(shown("elicitation"), [["ada by editor 1", "2 4"]])
    assert.deepStrictEqual(shown("nothing"), [])
  })

  it("Requests younger than the threshold are omitted", () => {
    assert.deepStrictEqual(shown("", { older: 60_000 }), [["ada by editor 1", "2 3", "3 4"]])
  })

  it("Groups by tool, state or user contain only requests", () => {
    assert.deepStrictEqual(shown("", { grouping: "tool" }), [
      ["tools/call old", "2 3"],
      ["elicitation/create", "2 4"],
      ["tools/call alone", "2 5"],
      ["tools/call young", "2 2"]
    ])
    assert.deepStrictEqual(shown("", { grouping: "state", order: "largest" }), [
      ["running", "2 3", "2 5", "2 2"],
      ["question", "2 4"]
    ])
    assert.deepStrictEqual(shown("", { grouping: "user", kind: "question" }), [["Anonymous", "2 4"]])
  })

  it("The newest request comes first if the operator sorts so", () => {
    assert.deepStrictEqual(
      shown("", { order: "newest" }).map(([title]) => title),
      ["ada by desktop 1", "Without a session", "ada by editor 1"]
    )
  })
})

describe("Search", () => {
  it("A search has words and fields, quoted or not", () => {
    assert.deepStrictEqual(parse(`Old tool:book principal:"a b" http://x unknown:y`), {
      words: ["old", "http://x", "unknown:y"],
      fields: [
        ["tool", "book", false],
        ["user", "a b", true]
      ]
    })
    assert.deepStrictEqual(parse(fieldSearch("tool", `a "b" c`)).fields, [["tool", "a b c", true]])
  })

  it("A search for a tool leaves out tools whose names contain its name", () => {
    const requests = ["book", "booking", 'say "hi"'].map((target, i) => request({ key: `${i}`, target }))
    const found = (search: string) =>
      groupsOf({ ...snapshot, requests }, { search, older: 0 }).flatMap(({ rows }) => rows.map(({ row }) => row.key))
    assert.deepStrictEqual(found(fieldSearch("tool", "book")), ["0"])
    assert.deepStrictEqual(found(fieldSearch("tool", 'say "hi"')), ["2"])
    assert.deepStrictEqual(found("tool:book"), ["0", "1"])
  })

  it("Fields limit requests, and leave out sessions without one", () => {
    assert.deepStrictEqual(shown("tool:old"), [["ada by editor 1", "2 3"]])
    assert.deepStrictEqual(shown("state:running young"), [["ada by desktop 1", "2 2"]])
    assert.deepStrictEqual(shown("node:elsewhere"), [])
  })
})

describe("Interrupting all shown requests", () => {
  const rows = groupsOf(snapshot, { search: "", older: 0 })

  it("Questions are left out unless only they are shown", () => {
    const keys = (kind: RunningView["kind"]) => endable(rows, kind).map(({ key }) => key)
    assert.sameMembers([...keys("all")], ["2", "3", "5"])
    assert.sameMembers([...keys("question")], ["2", "3", "4", "5"])
  })

  it("The confirmation counts the calls of each tool and names their nodes", () => {
    const calls = ["a", "b", "a"].map((node, i) => request({ key: `${i}`, target: "book", node }))
    assert.deepStrictEqual(described([request({ target: "quick" }), ...calls]), [
      "3 × tools/call book on a, b",
      "1 × tools/call quick"
    ])
    assert.lengthOf(described(Array.from({ length: 20 }, (_, i) => request({ target: `t${i}` }))), 9)
  })
})
