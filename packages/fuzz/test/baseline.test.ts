import * as Check from "@effect-mcp/fuzz/Check"
import * as Fuzz from "@effect-mcp/fuzz/Fuzz"
import { assert, describe, it } from "@effect/vitest"

const { Report } = Fuzz

type Finding = Check.CheckOutcome["findings"][number]

/** A finding with the lines of the server. */
const finding = (name: string, detail: string, lines: ReadonlyArray<string>): Finding => {
  const rule = Fuzz.rules.find((rule) => rule.name === name)
  if (rule === undefined) throw new Error(`There is no rule ${name}`)
  return {
    key: name,
    rule,
    level: rule.level,
    detail,
    script: { revision: "2025-03-26", commands: [] },
    lines: lines.map((text) => ({ from: "server", text, at: 0 })),
    again: 1,
    conversation: 0
  }
}

const reported = (findings: ReadonlyArray<Finding>, strict?: boolean): Check.CheckOutcome & { strict?: boolean } => ({
  command: "check",
  target: "node server.js",
  about: "plain 1.0.0 in 2025-03-26",
  transport: "stdio",
  revisions: ["2025-03-26"],
  surveys: [],
  seed: 0,
  conversations: 1,
  milliseconds: 1,
  findings,
  unconfirmed: [],
  rules: findings.map(({ rule }) => ({
    rule,
    kept: 0,
    broken: 1,
    revisions: { "2025-03-26": { kept: 0, broken: 1 } }
  })),
  isCut: false,
  ...(strict === undefined ? undefined : { strict })
})

const silence = "ping in a batch is never answered"
/** Recorded from @modelcontextprotocol/sdk 1.32.2. */
const ofSdk = finding("batch-answered", silence, ['{"result":{},"jsonrpc":"2.0","id":"r4"}'])
/** The same missing answer from a server that writes its messages without an SDK. */
const ofAuthor = finding("batch-answered", silence, ['{"jsonrpc":"2.0","id":"r4","result":{}}'])

describe("Known SDK faults", () => {
  it("A known SDK fault is listed separately and fails only a strict run", () => {
    const report = reported([ofSdk])
    assert.isFalse(Report.fails(report))
    assert.isTrue(Report.fails(reported([ofSdk], true)))
    const advice = "Known bugs in the official TypeScript SDK that your server inherits"
    for (const text of [Report.text(report), Check.text(report)]) {
      assert.include(text, advice)
      assert.include(text, "https://github.com/modelcontextprotocol/typescript-sdk/issues")
      assert.notInclude(text, "Happened")
      assert.include(text, "0 MUST")
    }
    assert.include(Check.text(report), "Broken by the SDK in 2025-03-26.")
    assert.notInclude(Check.text(reported([ofSdk], true)), advice)
    assert.match(Report.junit(report), /failures="0"[^]*<skipped message="Known bugs in the official/)
    assert.match(Report.markdown(report), /batch-answered \(a known SDK bug\)/)
    assert.nestedPropertyVal(Report.json(report), "findings[0].sdk.name", "the official TypeScript SDK")
  })

  it("The same violation in an author's own code is still a finding", () => {
    const report = reported([ofAuthor])
    assert.isTrue(Report.fails(report))
    assert.notInclude(Check.text(report), "Known bugs")
    assert.include(Check.text(report), "Broken: 1 MUST")
  })

  it("An author's finding fails a run even alongside SDK faults", () => {
    const report = reported([ofSdk, ofAuthor])
    assert.isTrue(Report.fails(report))
    assert.match(Report.junit(report), /failures="1"[^]*<failure/)
  })

  const unknownTool = (text: string) =>
    `{"result":{"content":[{"type":"text","text":"${text}"}],"isError":true},"jsonrpc":"2.0","id":"r2"}`

  it.each([
    ["tool-unknown", unknownTool("MCP error -32602: Tool fuzz-no-such-name not found"), false],
    ["tool-unknown", unknownTool("I have no tool fuzz-no-such-name"), true],
    ["tool-unknown", '{"content":[{"text":"Unknown tool: fuzz-no-such-name","type":"text"}],"isError":true}', false],
    [
      "tool-unknown",
      '{"content":[{"text":"Unknown tool: \'fuzz-no-such-name\'","type":"text"}],"isError":true}',
      false
    ],
    ["prompt-unknown", '{"error":{"code":-32601,"message":"MCP error -32601: Unknown prompt: fuzz"}}', false],
    ["prompt-unknown", '{"error":{"code":-32601,"message":"No such prompt"}}', true],
    [
      "error-blames-client",
      '{"error":{"code":-32603,"message":"[\\n  {\\n    \\"expected\\": \\"string\\",\\n    \\"path\\": [\\n      \\"params\\",\\n      \\"cursor\\"\\n    ]"}}',
      false
    ],
    [
      "error-blames-client",
      '{"error":{"code":-32603,"message":"[\\n  {\\n    \\"expected\\": \\"string\\",\\n    \\"path\\": [\\n      \\"city\\"\\n    ]"}}',
      true
    ]
  ])("%s with %s is the author's: %s", (name, line, isOwn) => {
    assert.strictEqual(Report.fails(reported([finding(name, "x", [line])])), isOwn)
  })

  it("A client is never excused by SDK faults for servers", () => {
    const { surveys: _, ...searched } = reported([ofSdk])
    assert.isTrue(Report.fails(searched))
  })
})
