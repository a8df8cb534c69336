import { assert, describe, it } from "@effect/vitest"
import { Record, Schema } from "effect"
import { lists } from "@effect-mcp/protocol/MethodInfo"
import type { Tool } from "@effect-mcp/protocol/model/Tool"
import * as ProgressLine from "@effect-mcp/cli/ProgressLine"
import * as Content from "@effect-mcp/cli/render/Content"
import * as Listing from "@effect-mcp/cli/render/Listing"
import * as Text from "@effect-mcp/cli/render/Text"
import * as Style from "@effect-mcp/cli/Style"

const { bare } = Text
const terminal: Text.View = { isTerminal: true, style: Style.plain, width: 60 }
const evil = "a\u001b[2Jb\u0007c\u202ed\r\ne"

const search: Tool = {
  name: "search",
  title: "Search",
  description: "Finds things.\nAnd sorts them.",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", description: "What to look for" },
      order: { enum: ["up", "down"], default: "up" },
      tags: { type: "array", items: { type: "string" } },
      limit: { anyOf: [{ type: "integer" }, { type: "null" }] }
    },
    required: ["query"]
  },
  outputSchema: { type: "object", properties: { hits: { type: "integer" } } },
  annotations: { readOnlyHint: true, destructiveHint: false }
}

describe("Text", () => {
  it("A table aligns columns by terminal cells and omits empty ones", () => {
    assert.strictEqual(
      Text.table([
        ["ファイル", "", "one"],
        ["b", "", "two"]
      ]),
      "ファイル  one\nb         two"
    )
  })

  it("A table wraps its last column without splitting words", () => {
    assert.strictEqual(
      Text.table([["name", "a description that is rather long"]], 28),
      "name  a description that is\n      rather long"
    )
    assert.strictEqual(Text.wrap("abcdefghij kl", 5), "abcdefghij\nkl")
  })

  it.prop("Wrapping loses no words", [Schema.String, Schema.Int], ([text, width]) => {
    const words = (lines: string) => lines.split(/[ \n]/).filter((word) => word !== "")
    assert.deepStrictEqual(words(Text.wrap(text, Math.abs(width % 50) + 1)), words(text))
  })

  it("A size is formatted as bytes, KiB or MiB", () => {
    assert.deepStrictEqual([0, 1, 1023, 1024, 1536, 20 * 1024, 3 * 1024 ** 2].map(Text.size), [
      "0 bytes",
      "1 byte",
      "1023 bytes",
      "1.0 KiB",
      "1.5 KiB",
      "20 KiB",
      "3.0 MiB"
    ])
    assert.deepStrictEqual(["", "YQ==", "YWI=", "YWJj"].map(Text.base64Size), [0, 1, 2, 3])
  })
})

describe("Style", () => {
  it("Hostile text is made harmless on a terminal", () => {
    assert.strictEqual(Style.safe(evil), "a\\u001b[2Jb\\u0007c\\u202ed\ne")
    assert.strictEqual(Style.safeLine(` ${evil}\tf `), "a\\u001b[2Jb\\u0007c\\u202ed e f")
  })

  it.prop("Safe text has no control characters", [Schema.String], ([text]) => {
    // oxlint-disable-next-line no-control-regex -- the point
    assert.notMatch(Style.safe(text), /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  })

  it("Colours are used only on a terminal, and never if NO_COLOR is set", () => {
    const colours = (env: Record<string, string>, isTerminal: boolean) => Style.detect(env, isTerminal).colours
    assert.isTrue(colours({}, true))
    assert.isFalse(colours({}, false))
    assert.isFalse(colours({ NO_COLOR: "1", FORCE_COLOR: "1" }, true))
    assert.isTrue(colours({ NO_COLOR: "" }, true))
    assert.isFalse(colours({ TERM: "dumb" }, true))
    assert.isTrue(colours({ FORCE_COLOR: "1" }, false))
    assert.isFalse(colours({ FORCE_COLOR: "0" }, false))
    assert.strictEqual(Style.coloured.bold("x"), "\u001b[1mx\u001b[22m")
  })
})

describe("Listing", () => {
  it("A listing shows a tool with its arguments, output and annotations", () => {
    assert.strictEqual(
      Listing.tool(bare, search),
      `search  Search
  Finds things.
  And sorts them.
  Arguments
    query  string          required  What to look for
    order  "up" | "down"   optional  (default "up")
    tags   string[]        optional
    limit  integer | null  optional
  Returns
    hits  integer
  The server says: read-only`
    )
  })

  it("A listing shows a tool without a title or description by name", () => {
    assert.strictEqual(Listing.tool(bare, { name: "x", inputSchema: { type: "object" } }), "x")
  })

  it("A listing shows the full schemas of a single requested tool", () => {
    assert.strictEqual(
      Listing.toolInFull(bare, { name: "x", inputSchema: { type: "object" } }),
      `x\n  Input schema\n    {\n      "type": "object"\n    }`
    )
  })

  it("A listing shows a prompt with its arguments", () => {
    const prompt = {
      name: "review",
      arguments: [
        { name: "file", required: true },
        { name: "lang", description: "Of it" }
      ]
    }
    assert.strictEqual(
      Listing.prompt(bare, prompt),
      "review\n  Arguments\n    file  required\n    lang  optional  Of it"
    )
  })

  it("A listing shows resources and templates, or that there are none", () => {
    const resource = { uri: "file:///a", name: "a", mimeType: "text/plain", size: 12 }
    const template = { uriTemplate: "file:///{path}", name: "file", title: "A file" }
    assert.strictEqual(
      Listing.resources(bare, [resource], [template]),
      "Resources (1)\n  file:///a  a  text/plain, 12 bytes\n\nResource templates (1)\n  file:///{path}  A file"
    )
    assert.strictEqual(Listing.resources(bare, [], []), "No resources")
  })

  it("A listing shows all of a server's features at a glance", () => {
    const inspection: Listing.Inspection = {
      serverInfo: { name: "tables", version: "1.2", title: "Tables", description: "Books tables." },
      protocolVersion: "2025-11-25",
      capabilities: { tools: { listChanged: true }, resources: { subscribe: false }, logging: {} },
      instructions: "Be polite.",
      ...Record.map(lists, () => []),
      tools: [search],
      prompts: [{ name: "menu" }]
    }
    assert.strictEqual(
      Listing.inspection(bare, inspection),
      `tables 1.2  Tables
  Books tables.
  Protocol      2025-11-25
  Capabilities  tools (listChanged), resources, logging

Instructions
  Be polite.

Tools (1)
  search  Finds things.

Prompts (1)
  menu`
    )
  })

  it("A name or description cannot make a listing move the cursor", () => {
    const tool: Tool = {
      name: `x${evil}`,
      description: evil,
      inputSchema: { type: "object", properties: { [evil]: {} } }
    }
    assert.notInclude(Listing.tool(bare, tool), "\u001b")
  })
})

describe("Content", () => {
  const png = { type: "image", data: "AAAA", mimeType: "image/png" } as const

  it("Text is shown as is, and other blocks by kind, type and size", () => {
    const content = [
      { type: "text", text: "Hello" },
      png,
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      {
        type: "resource_link",
        uri: "file:///a",
        name: "a",
        title: "File a",
        mimeType: "text/plain",
        description: "One"
      },
      { type: "resource", resource: { uri: "file:///b", text: "B", mimeType: "text/plain" } },
      { type: "resource", resource: { uri: "file:///c", blob: "AAAA" } }
    ] as const
    assert.strictEqual(
      Content.callResult(bare, { content }),
      `Hello
[image, image/png, 3 bytes]
[audio, audio/wav, 3 bytes]
[link] File a file:///a (text/plain; One)
[resource file:///b, text/plain]
B
[resource file:///c, unknown type, 3 bytes]`
    )
  })

  it("Structured content is shown once if the text repeats it, and after the text otherwise", () => {
    const structuredContent = { sum: 3 }
    const mirror = { content: [{ type: "text", text: `{"sum":3}` }], structuredContent } as const
    assert.strictEqual(Content.callResult(bare, mirror), `{\n  "sum": 3\n}`)
    const other = { content: [{ type: "text", text: "It is 3" }], structuredContent } as const
    assert.strictEqual(Content.callResult(bare, other), `It is 3\nStructured content:\n{\n  "sum": 3\n}`)
  })

  it("Text is exact in a file and harmless on a terminal", () => {
    const content = [{ type: "text", text: evil }] as const
    assert.strictEqual(Content.callResult(bare, { content }), evil)
    assert.notInclude(Content.callResult(terminal, { content }), "\u001b")
  })

  it("Prompt messages are shown with their role", () => {
    const messages = [
      { role: "user", content: { type: "text", text: "Look:\nhere" } },
      { role: "assistant", content: png }
    ] as const
    assert.strictEqual(
      Content.promptResult(bare, { description: "A talk", messages }),
      "A talk\n\nuser:\n  Look:\n  here\n\nassistant:\n  [image, image/png, 3 bytes]"
    )
  })

  it("JSON output escapes control characters allowed by JSON", () => {
    assert.strictEqual(Text.jsonLine({ a: "\u009b\u007f\u001b" }), `{"a":"\\u009b\\u007f\\u001b"}`)
  })
})

describe("ProgressLine", () => {
  it("A progress line has a bar if the total is known, and a counter otherwise", () => {
    assert.strictEqual(
      ProgressLine.line({ progress: 3, total: 4, message: "Nearly" }, 80, Style.plain),
      `${"█".repeat(18)}${"░".repeat(6)}  75%  3/4  Nearly`
    )
    assert.strictEqual(ProgressLine.line({ progress: 7 }, 80, Style.plain), "7")
    assert.strictEqual(ProgressLine.line({ progress: 7, total: 0, message: "x" }, 80, Style.plain), "7  x")
    assert.include(ProgressLine.line({ progress: 9, total: 4 }, 80, Style.plain), " 100%")
  })

  it("A progress line fits on one terminal line, whatever the server sends", () => {
    const line = ProgressLine.line({ progress: 1, total: 2, message: `long\n${"word ".repeat(50)}` }, 60, Style.plain)
    assert.isAtMost(line.length, 60)
    assert.isTrue(line.endsWith("…"))
    assert.notInclude(line, "\n")
  })
})
