/**
 * Limits the depth of bodies that a program has parsed: `JSON.parse` accepts any depth, and code that walks a deep body overflows the
 * stack.
 */
import { defaultMaxMessageDepth } from "@effect-mcp/core/Framing"
import { ProtocolErrorCode } from "../model/errors.ts"

const isDeeper = (value: unknown, left: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (left === 0 || Object.values(value).some((member) => isDeeper(member, left - 1)))

/** The body of a 400, or `undefined` for a body that is not nested too deeply. */
export const nestingRefusal = (body: unknown): object | undefined => {
  if (!isDeeper(body, Array.isArray(body) ? defaultMaxMessageDepth + 1 : defaultMaxMessageDepth)) return undefined
  const given: unknown = Object(body).id
  return {
    jsonrpc: "2.0",
    error: {
      code: ProtocolErrorCode.InvalidRequest,
      message: `The message is nested more than ${defaultMaxMessageDepth} levels deep`
    },
    id: typeof given === "string" || typeof given === "number" ? given : null
  }
}
