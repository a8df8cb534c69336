/** Converts an operation's response to a tool result. JSON becomes structured content; text and images become content. */
import * as Tools from "@effect-mcp/core/Tools"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import type { CallToolResult } from "@effect-mcp/protocol/model/Tool"
import * as Base64 from "effect/encoding/Base64"
import * as Effect from "effect/Effect"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"

/** Maximum number of characters of an error response shown to the model. */
const maxMessage = 1000

/** Reads the body. Fails as soon as it exceeds the maximum size. */
const bytesOf = (response: HttpClientResponse.HttpClientResponse, most: number) =>
  Effect.gen(function* () {
    const chunks: Array<Uint8Array> = []
    let length = 0
    yield* Stream.runForEach(response.stream, (chunk) => {
      length += chunk.length
      chunks.push(chunk)
      return length > most
        ? Effect.fail(new Tools.ToolFailure({ message: `The response is larger than ${most} bytes` }))
        : Effect.void
    })
    const bytes = new Uint8Array(length)
    let at = 0
    for (const chunk of chunks) {
      bytes.set(chunk, at)
      at += chunk.length
    }
    return bytes
  })

const isJson = (type: string): boolean => type === "application/json" || type.endsWith("+json")
const isText = (type: string): boolean =>
  type === "" ||
  type.startsWith("text/") ||
  /^application\/(?:xml|yaml|x-yaml|javascript)$/.test(type) ||
  type.endsWith("+xml")

const structured = (text: string): CallToolResult => {
  const content = [{ type: "text" as const, text }]
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? { content, structuredContent: value } : { content }
  } catch {
    return { content }
  }
}

/** Returns the tool result. Fails with a `ToolFailure` if the status is not 2xx, or if the body is too large or has an unsupported type. */
export const resultOf = (response: HttpClientResponse.HttpClientResponse, where: string, maxBytes: number) =>
  Effect.gen(function* () {
    const [given = ""] = (response.headers["content-type"] ?? "").split(";")
    const type = given.trim().toLowerCase()
    const bytes = yield* bytesOf(response, maxBytes)
    const text = (): string => new TextDecoder().decode(bytes)
    if (response.status < 200 || response.status > 299) {
      const said = bytes.length > 0 && (isJson(type) || isText(type)) ? `: ${excerpt(text(), maxMessage)}` : ""
      return yield* new Tools.ToolFailure({ message: `${where} responded with status ${response.status}${said}` })
    }
    if (bytes.length === 0) return { content: [] }
    if (isJson(type)) return structured(text())
    if (isText(type)) return { content: [{ type: "text" as const, text: text() }] }
    if (/^(?:image|audio)\//.test(type)) {
      const kind = type.startsWith("image/") ? ("image" as const) : ("audio" as const)
      return { content: [{ type: kind, mimeType: type, data: Base64.encode(bytes) }] }
    }
    return yield* new Tools.ToolFailure({
      message: `${where} responded with ${excerpt(type)}, which is neither text nor an image`
    })
  })
