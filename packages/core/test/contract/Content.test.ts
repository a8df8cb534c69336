/**
 * Constructors reject values that the specification forbids, with an error that names the field, the value and what was expected.
 */
import * as Content from "@effect-mcp/core/Content"
import * as Prompt from "@effect-mcp/core/Prompt"
import * as Tool from "@effect-mcp/core/Tool"
import * as Validate from "@effect-mcp/protocol/Validate"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

const bytes = new Uint8Array([0xfb, 0xff, 0])
const refused = (make: () => unknown, ...words: ReadonlyArray<string>) => {
  try {
    make()
  } catch (error) {
    assert.instanceOf(error, Validate.InvalidDeclaration)
    for (const word of words) assert.include(error.message, word)
    return
  }
  assert.fail(`accepted: ${words.join(" ")}`)
}

const wrong = {
  base64: [
    "A",
    "AA",
    "AAA",
    "AA=",
    "A===",
    "====",
    "AAEC\n",
    "AA EC==",
    "-_8A",
    "AA==AA==",
    "AAE=C",
    "data:;base64,AAEC"
  ],
  mimeType: ["", "image", "image/", "/png", "image png", "image/png;", "image/p ng", "image/png\r\nx: y", "ïmage/png"],
  priority: [-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY],
  lastModified: [
    "",
    "yesterday",
    "2026",
    "2026-13-01",
    "2026-02-30",
    "2026-02-30T10:00:00Z",
    "2026-01-12T25:00:00Z",
    "1/2/2026"
  ],
  icon: [
    "http://example.com/i.png",
    "javascript:alert(1)",
    "i.png",
    "//example.com/i.png",
    "https://",
    "file:///i.png",
    ""
  ]
}
const right = {
  base64: ["", "AAEC", "+/8A", "AA==", "AAA="],
  mimeType: ["image/png", "text/plain; charset=utf-8", "application/vnd.a+json", 'text/x;a="b c"'],
  priority: [0, 0.5, 1],
  lastModified: [
    "2026-01-12",
    "2024-02-29",
    "2026-01-12T15:00:58Z",
    "2026-01-12T15:00:58.123+01:00",
    "2026-01-12T15:00+0100"
  ],
  icon: ["https://example.com/i.png", "data:image/png;base64,AA==", "HTTPS://example.com/i.png"]
}

describe("Content", () => {
  it("Content encodes bytes as base64 and keeps base64 unchanged", () => {
    assert.deepStrictEqual(Content.image(bytes, "image/png"), { type: "image", data: "+/8A", mimeType: "image/png" })
    for (const data of right.base64) assert.strictEqual(Content.image(data, "image/png").data, data)
    for (const data of right.base64) assert.strictEqual(Content.audio(data, "audio/wav").data, data)
  })

  it("Image and audio content rejects text that is not base64", () => {
    assert.isNotEmpty(wrong.base64)
    for (const data of wrong.base64) {
      refused(() => Content.image(data, "image/png"), "Content.image", "data", JSON.stringify(data), "base64")
      refused(() => Content.audio(data, "audio/wav"), "Content.audio", "data", JSON.stringify(data), "base64")
    }
  })

  it("A megabyte of base64 is validated, and errors quote only its start", () => {
    const long = "A".repeat(8 * 1024 * 1024)
    assert.strictEqual(Content.image(long, "image/png").data, long)
    try {
      Content.image(`${long}!!!!`, "image/png")
      assert.fail("accepted")
    } catch (error) {
      assert.instanceOf(error, Validate.InvalidDeclaration)
      assert.isBelow(error.message.length, 400)
    }
  })

  it("Content of any kind rejects an invalid media type", () => {
    for (const mimeType of wrong.mimeType) {
      refused(() => Content.image(bytes, mimeType), "Content.image", "mimeType", JSON.stringify(mimeType))
      refused(() => Content.audio(bytes, mimeType), "Content.audio", "mimeType")
      refused(() => Content.resource("x:", "", { mimeType }), "Content.resource", "mimeType")
      refused(() => Content.link({ uri: "x:", name: "x", mimeType }), "Content.link", "mimeType")
    }
    for (const mimeType of right.mimeType) assert.strictEqual(Content.image(bytes, mimeType).mimeType, mimeType)
  })

  it("Content of any kind rejects a priority outside 0 to 1 and an invalid date", () => {
    const made = [
      (annotations: object) => Content.text("", { annotations }),
      (annotations: object) => Content.image(bytes, "image/png", { annotations }),
      (annotations: object) => Content.audio(bytes, "audio/wav", { annotations }),
      (annotations: object) => Content.resource("x:", "", { annotations }),
      (annotations: object) => Content.link({ uri: "x:", name: "x", annotations })
    ]
    for (const make of made) {
      for (const priority of wrong.priority) refused(() => make({ priority }), "annotations.priority", "from 0 to 1")
      for (const lastModified of wrong.lastModified) {
        refused(() => make({ lastModified }), "annotations.lastModified", JSON.stringify(lastModified), "ISO 8601")
      }
      for (const priority of right.priority) assert.deepInclude(make({ priority }), { annotations: { priority } })
      for (const lastModified of right.lastModified) make({ lastModified })
    }
  })
})

describe("Icons", () => {
  it("Icons must be https or data URIs with valid media types and sizes", () => {
    const made = [
      (icon: Tool.Options["icons"]) => Tool.make("t", { description: "", icons: icon }),
      (icon: Tool.Options["icons"]) => Tool.raw("t", { description: "", inputSchema: { type: "object" }, icons: icon }),
      (icon: Tool.Options["icons"]) => Prompt.make("p", { arguments: { a: Schema.String }, icons: icon }),
      (icon: Tool.Options["icons"]) => Content.link({ uri: "x:", name: "x", icons: icon ?? [] })
    ]
    for (const make of made) {
      for (const src of wrong.icon) {
        refused(() => make([{ src: "https://example.com/ok.png" }, { src }]), JSON.stringify(src), "https or data")
      }
      refused(() => make([{ src: "https://example.com/i.png", mimeType: "png" }]), "mimeType", '"png"')
      refused(() => make([{ src: "https://example.com/i.png", sizes: ["48"] }]), "size", '"48"')
      for (const src of right.icon) assert.isDefined(make([{ src, mimeType: "image/png", sizes: ["48x48", "any"] }]))
    }
  })
})
