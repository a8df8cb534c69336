/** Keeps the valid items of a list that has malformed ones, so that one bad tool does not hide the others. */
import type { Coder } from "@effect-mcp/protocol/Codecs"
import { excerpt } from "@effect-mcp/protocol/Excerpt"
import * as MethodInfo from "@effect-mcp/protocol/MethodInfo"
import { isJsonObject, type JsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** Called with the reason when an item is left out. */
export type Dropped = (reason: string, level: "Warn" | "Debug") => void

/** Maximum number of items to decode one by one. */
const maxItems = 10_000

/** Adds the type that a tool's input schema must have. Such a schema describes objects anyway. */
const withType = (item: unknown): unknown => {
  if (!isJsonObject(item)) return item
  const { inputSchema } = item
  const isUntyped = isJsonObject(inputSchema) && !("type" in inputSchema)
  return isUntyped ? { ...item, inputSchema: { type: "object", ...inputSchema } } : item
}

const nameOf = (item: unknown, key: string): string => {
  const name = isJsonObject(item) ? item[key] : undefined
  return typeof name === "string" ? ` ${excerpt(JSON.stringify(name))}` : ""
}

/** Decodes a malformed result without its malformed items. Fails with `message` if nothing is left, or if the method has no list. */
export const salvaged = <A>(
  method: string,
  coder: Pick<Coder<A>, "decode">,
  wire: unknown,
  message: string,
  dropped: Dropped
): Effect.Effect<A, string> => {
  const list = MethodInfo.ofRequest(method)?.list
  const noun = Object.values(MethodInfo.lists).find((one) => one.method === method)?.noun ?? "item"
  const items = list !== undefined && isJsonObject(wire) ? wire[list.items] : undefined
  if (list === undefined || !isJsonObject(wire) || !Array.isArray(items) || items.length > maxItems) {
    return Effect.fail(message)
  }
  const frame: JsonObject = wire
  const withItems = (kept: ReadonlyArray<unknown>) => coder.decode({ ...frame, [list.items]: kept })
  const tried = Effect.forEach(items.map(withType), (item) =>
    Effect.map(Effect.result(withItems([item])), (result) => ({ item, result }))
  )
  return Effect.flatMap(tried, (all) => {
    const kept = all.filter(({ result }) => Result.isSuccess(result)).map(({ item }) => item)
    if (kept.length === 0) return Effect.fail(message)
    return Effect.map(withItems(kept), (value) => {
      for (const { item, result } of all) {
        if (Result.isSuccess(result)) continue
        dropped(`Skipped the invalid ${noun}${nameOf(item, list.key)}: ${result.failure}`, "Warn")
      }
      return value
    })
  })
}
