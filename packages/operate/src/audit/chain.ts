/**
 * The chain of an audit trail: each line has the hash of the line before, so that no line can be changed, left out or put in between.
 *
 * A key makes it a chain of HMACs: without the key no other chain can be made, either.
 */
import { beginning } from "@effect-mcp/protocol/Excerpt"
import { isJsonObject } from "@effect-mcp/protocol/model/Shape"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

/** Where a chain ends. */
export interface Tail {
  readonly seq: number
  readonly hash: string
}

export const start: Tail = { seq: 0, hash: "0".repeat(64) }

/** Hashes text: 64 digits in lower case. */
export type Hasher = (text: string) => Effect.Effect<string>

const encoder = new TextEncoder()
const hex = (bytes: ArrayBuffer): string =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("")

/** SHA-256, or HMAC-SHA-256 with the key. */
export const hasherOf = (key: Redacted.Redacted | undefined): Effect.Effect<Hasher> => {
  const { subtle } = globalThis.crypto
  if (key === undefined) {
    return Effect.succeed((text) =>
      Effect.map(
        Effect.promise(() => subtle.digest("SHA-256", encoder.encode(text))),
        hex
      )
    )
  }
  const algorithm = { name: "HMAC", hash: "SHA-256" }
  return Effect.map(
    Effect.promise(() => subtle.importKey("raw", encoder.encode(Redacted.value(key)), algorithm, false, ["sign"])),
    (imported) => (text) =>
      Effect.map(
        Effect.promise(() => subtle.sign("HMAC", imported, encoder.encode(text))),
        hex
      )
  )
}

const numbers = (_: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}` : value)

/** As JSON. Details are a program's own: a bigint is text, and what has no JSON does not stop the trail. */
const textOf = (fields: object, prev: string): string => {
  try {
    return JSON.stringify({ ...fields, prev }, numbers)
  } catch (error) {
    const details = { unreadable: error instanceof Error ? beginning(error.message) : "" }
    return JSON.stringify({ ...fields, details, prev }, numbers)
  }
}

/** The line of a record, without a newline, and where the chain ends with it. `fields` are those of the record before `prev`. */
export const link = (
  tail: Tail,
  fields: object,
  hash: Hasher
): Effect.Effect<{ readonly line: string; readonly tail: Tail }> => {
  const seq = tail.seq + 1
  const body = textOf({ seq, ...fields }, tail.hash)
  return Effect.map(hash(body), (hash) => ({ line: `${body.slice(0, -1)},"hash":"${hash}"}`, tail: { seq, hash } }))
}

/** A line as it was written: its hash, and the text that was hashed. */
export interface Linked {
  readonly record: { readonly [key: string]: unknown }
  readonly seq: number
  readonly prev: string
  readonly hash: string
  readonly body: string
}

const ending = /,"hash":"([0-9a-f]{64})"\}$/

/** Undefined for a line that is no record. */
export const read = (line: string): Linked | undefined => {
  const found = ending.exec(line)
  if (found === null) return undefined
  const [suffix, hash = ""] = found
  const body = `${line.slice(0, -suffix.length)}}`
  try {
    const record: unknown = JSON.parse(body)
    if (!isJsonObject(record)) return undefined
    const { prev, seq } = record
    return typeof seq === "number" && typeof prev === "string" ? { record, seq, prev, hash, body } : undefined
  } catch {
    return undefined
  }
}
