import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Revision from "@effect-mcp/protocol/Revision"
import { table } from "../../src/revision/Downgrade.ts"
import { answer, ask, audio, called, cases, client, hello, icons, tool, toolUse } from "../downgrades.ts"

const before = (since: Revision.Version): Revision.Revision =>
  Revision.stateful.findLast((revision) => revision.version < since)!

describe("Values missing from older revisions", () => {
  it("Every row of the downgrade table has exactly one case here", () => {
    const rows = table.map((row) => `${row.type}.${row.field ?? "*"} ${row.how} before ${row.since}`)
    const tested = cases.map(({ row, how, since }) => `${row} ${how} before ${since}`)
    assert.deepStrictEqual(tested.toSorted(), rows.toSorted())
  })

  for (const { row, since, how, place, say, gets, refused } of cases) {
    it(`${row} before ${since} uses the ${how} downgrade`, () => {
      const { value, write } = place(say)
      const older = before(since)
      if (refused === undefined) assert.deepStrictEqual(write(older), place(gets ?? {}).value)
      else assert.throws(() => write(older), refused)

      const dated = Revision.get(since)
      assert.isDefined(dated)
      const written = write(dated)
      if (dated.era === "stateful") assert.strictEqual(written, value, "the revision that has it writes it as it is")
      // Results of the stateless era are marked; their content is unchanged.
      else assert.deepStrictEqual(written, { ...(written as object), ...(value as object) })
    })
  }

  const november = Revision.get("2025-11-25")!
  const june = Revision.get("2025-06-18")!
  const first = Revision.get("2024-11-05")!

  it("Older revisions turn an audio block into text with its annotations", () => {
    const annotations = { audience: ["user"], priority: 0.5 }
    const messages = [{ role: "user", content: { ...audio, annotations: { ...annotations, lastModified: "x" } } }]
    const spoken = { type: "text", text: "[audio: audio/wav, 4 bytes]", annotations }
    assert.deepStrictEqual(Schema.encodeUnknownSync(first.clientRequests["prompts/get"]!.result)({ messages }), {
      messages: [{ role: "user", content: spoken }]
    })
    assert.deepStrictEqual(ask({ messages, maxTokens: 1 }).write(first), {
      messages: [{ role: "user", content: spoken }],
      maxTokens: 1
    })
  })

  it("A downgrade keeps unknown fields next to the removed ones", () => {
    const value = tool({ ...icons, "x-mine": { deep: [1] }, annotations: { "x-hint": true } }).write
    assert.deepStrictEqual(value(first), {
      tools: [{ name: "t", inputSchema: { type: "object" }, "x-mine": { deep: [1] } }]
    })
    assert.deepStrictEqual(value(june), {
      tools: [{ name: "t", inputSchema: { type: "object" }, "x-mine": { deep: [1] }, annotations: { "x-hint": true } }]
    })
  })

  it("Structured content is removed only if the text contains the same data", () => {
    const say = { structuredContent: { a: 1 } }
    assert.deepStrictEqual(called({ content: [], ...say }).write(first), {
      content: [{ type: "text", text: `{"a":1}` }]
    })
    assert.deepStrictEqual(called({ content: [hello], ...say }).write(first), { content: [hello] })
    assert.deepStrictEqual(called({ content: [hello], ...say }).write(june), { content: [hello], ...say })
  })

  it("A sampled message with several blocks is rejected in older revisions unless all are text", () => {
    assert.deepStrictEqual(answer({ content: [audio] }).write(june), answer({ content: audio }).value)
    assert.throws(
      () => answer({ content: [hello, audio] }).write(june),
      "MCP 2025-06-18 cannot express a sampling message with several content blocks, unless all are text"
    )
    assert.deepStrictEqual(
      answer({ content: [hello, toolUse] }).write(november),
      answer({ content: [hello, toolUse] }).value
    )
  })

  it("A client declares elicitation to older servers only with forms", () => {
    assert.deepStrictEqual(
      client({ elicitation: { form: {}, url: {} } }).write(june),
      client({ elicitation: {} }).value
    )
    assert.deepStrictEqual(client({ elicitation: {} }).write(june), client({ elicitation: {} }).value)
  })
})
